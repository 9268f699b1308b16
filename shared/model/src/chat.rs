//! The trait that every provider implements, and what goes in and out of it.

use async_trait::async_trait;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Abilities, Adapted, Error};

/// One provider of chat models.
#[async_trait]
pub trait ChatModel: Send + Sync + 'static {
    /// What the provider can take; the argument of [`crate::adapt`].
    fn abilities(&self) -> &Abilities;

    /// Streams one reply. Resolves once the provider has said something; until then a failure that
    /// may pass is tried again, afterwards it is the stream's last item. A stream that ends without
    /// an error has given exactly one [`Event::Finish`], as its last item.
    async fn stream(&self, request: Request) -> Result<EventStream, Error>;

    /// Makes the model call one tool. Of several calls of that tool the last wins (seed 004).
    async fn call_tool(&self, request: Request, tool: &Tool) -> Result<ToolCall, Error>;
}

/// A reply as it arrives.
pub type EventStream = BoxStream<'static, Result<Event, Error>>;

/// One call to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The model's name as its provider knows it.
    pub model: String,
    pub prompt: Adapted,
}

/// A function that the model is made to call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    pub name: String,
    /// Parsed; not yet checked against the schema.
    pub arguments: Value,
    pub usage: Usage,
    /// Arguments that are whole may still have been followed by more, had the model not been stopped.
    pub finish: FinishReason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The next piece of the reply's text; never empty.
    Delta(String),
    Usage(Usage),
    Finish(FinishReason),
}

/// Tokens as the provider counted them; zero where it did not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// All input, what came from a cache included.
    pub input_tokens: u64,
    /// The part of the input that the provider read from its prompt cache.
    pub cached_tokens: u64,
    pub output_tokens: u64,
}

/// Why the provider stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// At its own end or at a stop string.
    Stop,
    /// At the token limit: the text is cut.
    Length,
    /// Stopped by the provider's moderation.
    ContentFilter,
    /// To have a tool run.
    ToolCall,
    /// Named by the provider, unknown to us.
    Other(String),
}

// === impl FinishReason ===

impl FinishReason {
    pub fn name(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::ToolCall => "tool_call",
            Self::Other(name) => name,
        }
    }
}
