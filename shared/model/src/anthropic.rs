//! Anthropic's Messages API over HTTP.

mod decode;

use async_trait::async_trait;
use prompt::{Block, Role};
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};

use self::decode::Decoder;
use crate::{
    Abilities, ChatModel, Error, EventStream, Request, Tool, ToolCall,
    abilities::ToolSupport,
    http::{Endpoint, Timing},
};

/// The version of the API's form that this module speaks.
const API_VERSION: &str = "2023-06-01";

/// The API insists on a limit; this one stands where the caller names none.
const MAX_TOKENS_DEFAULT: u32 = 4_096;

pub struct Anthropic {
    endpoint: Endpoint,
    abilities: Abilities,
}

// === impl Anthropic ===

impl Anthropic {
    /// `base_url` ends where `/messages` is put behind it, usually in `/v1`.
    pub fn new(
        base_url: &str,
        key: Option<String>,
        abilities: Abilities,
        timing: Timing,
    ) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        headers.insert("anthropic-version", HeaderValue::from_static(API_VERSION));
        if let Some(key) = &key {
            let mut value = HeaderValue::try_from(key)
                .map_err(|_| "the api key holds characters that no header may".to_owned())?;
            value.set_sensitive(true);
            headers.insert("x-api-key", value);
        }
        let url = format!("{}/messages", base_url.trim_end_matches('/'));
        let endpoint =
            Endpoint::new(url, headers, key, timing).map_err(|error| error.to_string())?;
        Ok(Self { endpoint, abilities })
    }
}

#[async_trait]
impl ChatModel for Anthropic {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    async fn stream(&self, request: Request) -> Result<EventStream, Error> {
        self.endpoint.stream::<Decoder>(&Value::Object(body(&request))).await
    }

    async fn call_tool(&self, request: Request, tool: &Tool) -> Result<ToolCall, Error> {
        if self.abilities.tools != ToolSupport::Forced {
            return Err(Error::ToolsUnsupported);
        }
        let mut body = body(&request);
        let described = json!({
            "name": tool.name, "description": tool.description, "input_schema": tool.parameters,
        });
        body.insert("tools".into(), json!([described]));
        body.insert("tool_choice".into(), json!({"type": "tool", "name": tool.name}));
        self.endpoint.call_tool::<Decoder>(&Value::Object(body), tool, false).await
    }
}

fn body(request: &Request) -> Map<String, Value> {
    let blocks = request.prompt.blocks();
    let leading = blocks.iter().take_while(|block| block.role == Role::System).count();
    let (system, rest) = blocks.split_at(leading);
    let mut system: Vec<Value> = system.iter().map(part).collect();
    let mut messages: Vec<Value> =
        rest.chunk_by(|one, next| one.role == next.role).map(message).collect();
    mark_cached(system.last_mut());
    mark_cached(
        messages.last_mut().and_then(|message| message["content"].as_array_mut()?.last_mut()),
    );

    let call = request.prompt.call();
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model));
    body.insert("max_tokens".into(), json!(call.max_tokens.unwrap_or(MAX_TOKENS_DEFAULT)));
    body.insert("stream".into(), json!(true));
    if !system.is_empty() {
        body.insert("system".into(), Value::Array(system));
    }
    body.insert("messages".into(), Value::Array(messages));
    let optional = [
        ("temperature", json!(call.temperature)),
        ("top_p", json!(call.top_p)),
        ("top_k", json!(call.top_k.filter(|&k| k > 0))),
        ("stop_sequences", if call.stop.is_empty() { Value::Null } else { json!(call.stop) }),
    ];
    body.extend(optional.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.into(), v)));
    body
}

fn message(run: &[Block]) -> Value {
    let role = if run[0].role == Role::Assistant { "assistant" } else { "user" };
    json!({"role": role, "content": run.iter().map(part).collect::<Vec<_>>()})
}

fn part(block: &Block) -> Value {
    json!({"type": "text", "text": block.text})
}

/// Asks for the prompt up to here to be cached; the mark is no part of what is compared.
fn mark_cached(part: Option<&mut Value>) {
    if let Some(part) = part {
        part["cache_control"] = json!({"type": "ephemeral"});
    }
}

#[cfg(test)]
mod tests;
