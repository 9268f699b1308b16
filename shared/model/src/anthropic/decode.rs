//! The events of a streamed message.

use std::collections::VecDeque;

use serde_json::Value;

use crate::{
    Error, FinishReason, Usage,
    http::{Decode, Piece, message_of},
};

#[derive(Debug, Default)]
pub(super) struct Decoder {
    usage: Usage,
    finish: Option<FinishReason>,
}

// === impl Decoder ===

impl Decode for Decoder {
    fn event(&mut self, data: &str, out: &mut VecDeque<Piece>) -> Result<bool, Error> {
        let event: Value = serde_json::from_str(data)
            .map_err(|error| Error::Malformed(format!("an event of the stream: {error}")))?;
        let text = |path: &str| event.pointer(path).and_then(Value::as_str);
        let index = event["index"].as_u64().unwrap_or(0);
        match text("/type").unwrap_or_default() {
            "message_start" => self.count(&event["message"]["usage"]),
            "content_block_start" if text("/content_block/type") == Some("tool_use") => {
                let name = text("/content_block/name").unwrap_or_default().to_owned();
                out.push_back(Piece::Tool { index, name });
            }
            "content_block_delta" => {
                if let Some(text) = text("/delta/text").filter(|text| !text.is_empty()) {
                    out.push_back(Piece::Text(text.to_owned()));
                }
                if let Some(json) = text("/delta/partial_json").filter(|json| !json.is_empty()) {
                    out.push_back(Piece::Arguments { index, text: json.to_owned() });
                }
            }
            "message_delta" => {
                self.count(&event["usage"]);
                self.finish = text("/delta/stop_reason").map(finish_reason);
            }
            "message_stop" => return Ok(true),
            "error" => {
                let status = error_status(text("/error/type").unwrap_or_default());
                return Err(Error::Refused { status, message: message_of(data) });
            }
            // ping, block ends, thinking, and whatever is added later
            _ => {}
        }
        Ok(false)
    }

    fn end(&mut self, out: &mut VecDeque<Piece>) -> Result<(), Error> {
        let finish = self.finish.take().ok_or(Error::CutOff)?;
        out.extend([Piece::Usage(self.usage), Piece::Finish(finish)]);
        Ok(())
    }
}

impl Decoder {
    /// Anthropic counts what it read from and wrote to its cache beside the input; we count all of it.
    fn count(&mut self, usage: &Value) {
        let number = |key: &str| usage[key].as_u64();
        if let Some(input) = number("input_tokens") {
            self.usage.cached_tokens = number("cache_read_input_tokens").unwrap_or(0);
            let written = number("cache_creation_input_tokens").unwrap_or(0);
            self.usage.input_tokens = input + self.usage.cached_tokens + written;
        }
        if let Some(output) = number("output_tokens") {
            self.usage.output_tokens = output;
        }
    }
}

fn finish_reason(name: &str) -> FinishReason {
    match name {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "max_tokens" => FinishReason::Length,
        "tool_use" => FinishReason::ToolCall,
        "refusal" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_owned()),
    }
}

/// The status that the same error has outside a stream.
fn error_status(kind: &str) -> u16 {
    match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "permission_error" => 403,
        "not_found_error" => 404,
        "rate_limit_error" => 429,
        "overloaded_error" => 529,
        _ => 500,
    }
}
