//! The chunks of a streamed chat completion.

use std::collections::VecDeque;

use serde::Deserialize;

use crate::{
    Error, FinishReason, Usage,
    http::{Decode, Piece, message_of},
};

/// Keeps the finish back until the usage, which comes behind it, has been seen.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    finish: Option<FinishReason>,
    /// Tool calls begun, by index: some servers repeat the name in every chunk.
    begun: Vec<u64>,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Counted>,
    error: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
struct Delta {
    content: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    #[serde(default)]
    index: u64,
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Counted {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<CountedDetails>,
}

#[derive(Deserialize)]
struct CountedDetails {
    cached_tokens: Option<u64>,
}

// === impl Decoder ===

impl Decode for Decoder {
    fn event(&mut self, data: &str, out: &mut VecDeque<Piece>) -> Result<bool, Error> {
        if data.trim() == "[DONE]" {
            return Ok(true);
        }
        let chunk: Chunk = serde_json::from_str(data)
            .map_err(|error| Error::Malformed(format!("a chunk of the stream: {error}")))?;
        if let Some(error) = chunk.error {
            let status = error.get("code").and_then(|code| code.as_u64()).unwrap_or(500);
            let status = u16::try_from(status).unwrap_or(500);
            return Err(Error::Refused { status, message: message_of(&error.to_string()) });
        }
        if let Some(usage) = chunk.usage {
            out.push_back(Piece::Usage(usage.into()));
        }
        if let Some(choice) = chunk.choices.into_iter().next() {
            self.choice(choice, out);
        }
        Ok(false)
    }

    fn end(&mut self, out: &mut VecDeque<Piece>) -> Result<(), Error> {
        out.push_back(Piece::Finish(self.finish.take().ok_or(Error::CutOff)?));
        Ok(())
    }
}

impl Decoder {
    fn choice(&mut self, choice: Choice, out: &mut VecDeque<Piece>) {
        if let Some(text) = choice.delta.content.filter(|text| !text.is_empty()) {
            out.push_back(Piece::Text(text));
        }
        for call in choice.delta.tool_calls.into_iter().flatten() {
            self.call(call, out);
        }
        if let Some(reason) = choice.finish_reason {
            self.finish = Some(finish_reason(&reason));
        }
    }

    fn call(&mut self, call: CallDelta, out: &mut VecDeque<Piece>) {
        let Some(function) = call.function else { return };
        let index = call.index;
        if let Some(name) = function.name.filter(|name| !name.is_empty())
            && !self.begun.contains(&index)
        {
            self.begun.push(index);
            out.push_back(Piece::Tool { index, name });
        }
        if let Some(text) = function.arguments.filter(|text| !text.is_empty()) {
            out.push_back(Piece::Arguments { index, text });
        }
    }
}

impl From<Counted> for Usage {
    fn from(counted: Counted) -> Self {
        let cached = counted.prompt_tokens_details.and_then(|details| details.cached_tokens);
        Self {
            input_tokens: counted.prompt_tokens,
            cached_tokens: cached.unwrap_or(0),
            output_tokens: counted.completion_tokens,
        }
    }
}

fn finish_reason(name: &str) -> FinishReason {
    match name {
        "stop" => FinishReason::Stop,
        "length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        "tool_calls" | "function_call" => FinishReason::ToolCall,
        other => FinishReason::Other(other.to_owned()),
    }
}
