//! OpenAI-compatible chat completions over HTTP: OpenAI, vLLM, llama.cpp, Ollama, OpenRouter.

mod decode;

use async_trait::async_trait;
use prompt::{Block, Role};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};

use self::decode::Decoder;
use crate::{
    Abilities, CallConfig, ChatModel, Error, EventStream, Request, Tool, ToolCall,
    abilities::ToolSupport,
    http::{Endpoint, Timing},
};

/// One OpenAI-compatible server.
pub struct OpenAi {
    endpoint: Endpoint,
    abilities: Abilities,
}

// === impl OpenAi ===

impl OpenAi {
    /// `base_url` ends where `/chat/completions` is put behind it, usually in `/v1`.
    pub fn new(
        base_url: &str,
        key: Option<String>,
        abilities: Abilities,
        timing: Timing,
    ) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &key {
            let mut value = HeaderValue::try_from(format!("Bearer {key}"))
                .map_err(|_| "the api key holds characters that no header may".to_owned())?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let url = format!("{}/chat/completions", base_url.trim_end_matches('/'));
        let endpoint =
            Endpoint::new(url, headers, key, timing).map_err(|error| error.to_string())?;
        Ok(Self { endpoint, abilities })
    }
}

#[async_trait]
impl ChatModel for OpenAi {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    async fn stream(&self, request: Request) -> Result<EventStream, Error> {
        self.endpoint.stream::<Decoder>(&Value::Object(body(&request, &self.abilities))).await
    }

    async fn call_tool(&self, request: Request, tool: &Tool) -> Result<ToolCall, Error> {
        let mut body = body(&request, &self.abilities);
        match self.abilities.tools {
            ToolSupport::Forced => force(&mut body, tool),
            ToolSupport::JsonSchema => hold_to_schema(&mut body, tool),
            ToolSupport::Absent => return Err(Error::ToolsUnsupported),
        }
        let as_text = self.abilities.tools == ToolSupport::JsonSchema;
        self.endpoint.call_tool::<Decoder>(&Value::Object(body), tool, as_text).await
    }
}

fn body(request: &Request, abilities: &Abilities) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model));
    body.insert("messages".into(), json!(messages(request.prompt.blocks(), abilities)));
    body.insert("stream".into(), json!(true));
    if abilities.stream_usage {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    parameters(&mut body, request.prompt.call(), abilities);
    body
}

/// One message per block; where roles must alternate, one per run of a role, each block a text part.
fn messages(blocks: &[Block], abilities: &Abilities) -> Vec<Value> {
    if !abilities.alternating {
        return blocks.iter().map(|block| message(block, json!(block.text))).collect();
    }
    let runs = blocks.chunk_by(|one, next| one.role == next.role && one.name == next.name);
    runs.map(|run| match run {
        [block] => message(block, json!(block.text)),
        _ => {
            let part = |block: &Block| json!({"type": "text", "text": block.text});
            message(&run[0], run.iter().map(part).collect())
        }
    })
    .collect()
}

fn message(block: &Block, content: Value) -> Value {
    match &block.name {
        Some(name) => json!({"role": block.role.name(), "name": name, "content": content}),
        None => json!({"role": block.role.name(), "content": content}),
    }
}

fn parameters(body: &mut Map<String, Value>, call: &CallConfig, abilities: &Abilities) {
    // A CallConfig's fields carry the names that these servers use.
    if let Ok(Value::Object(fields)) = serde_json::to_value(call) {
        body.extend(fields);
    }
    if abilities.completion_tokens
        && let Some(limit) = body.shift_remove("max_tokens")
    {
        body.insert("max_completion_tokens".into(), limit);
    }
}

fn force(body: &mut Map<String, Value>, tool: &Tool) {
    let function = json!({
        "name": tool.name, "description": tool.description, "parameters": tool.parameters,
    });
    body.insert("tools".into(), json!([{"type": "function", "function": function}]));
    let choice = json!({"type": "function", "function": {"name": tool.name}});
    body.insert("tool_choice".into(), choice);
}

/// The schema binds the output's form; what it is for is said in one more block at the end.
fn hold_to_schema(body: &mut Map<String, Value>, tool: &Tool) {
    let schema = json!({"name": tool.name, "schema": tool.parameters});
    body.insert("response_format".into(), json!({"type": "json_schema", "json_schema": schema}));
    let text = format!(
        "Answer with one JSON object, the arguments of {}.\n{}",
        tool.name, tool.description
    );
    if let Some(Value::Array(messages)) = body.get_mut("messages") {
        messages.push(json!({"role": Role::User.name(), "content": text}));
    }
}

#[cfg(test)]
mod tests;
