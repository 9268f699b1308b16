//! A model that says what a script says: for the demo and for tests, never a silent default.
//!
//! A script is a small TOML file. The first rule that matches a request answers it; a rule matches when
//! all of its conditions do, so one without conditions, at the end, catches the rest. Nothing is
//! remembered between requests: the same request gets the same answer on every replica.
//!
//! ```toml
//! chunk_chars = 12         # how much text one delta carries (default 24)
//! latency_ms = 0           # before each delta (default 0)
//!
//! [[reply]]
//! when = "door"            # the newest user block holds this text, in any ASCII case
//! turn = 1                 # this many assistant blocks are in the request
//! text = "It creaks."      # {message} stands for the newest user block's text
//! fail = "CUT_OFF"         # optional: what happens after the text; CUT_OFF, TIMED_OUT or REFUSED
//!
//! [[tool]]
//! name = "propose_world_changes"
//! when = "door"
//! arguments = '''{"operations": [], "summary": ""}'''
//! finish = "length"        # optional, of replies too: why it stopped; stop, length, content_filter or tool_call
//! ```

use std::{path::Path, time::Duration};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use prompt::{Block, Role};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    Abilities, ChatModel, Error, Event, EventStream, FinishReason, Request, Tool, ToolCall, Usage,
};

/// A model that follows a script.
pub struct Scripted {
    script: Script,
    abilities: Abilities,
}

/// Why a text is no script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("the script could not be read")]
    Unreadable(#[from] std::io::Error),
    #[error("the script is not in its form: {0}")]
    Malformed(#[from] toml::de::Error),
    #[error("chunk_chars is 0")]
    EmptyChunks,
    #[error("the arguments of tool rule {at} are not JSON")]
    Arguments {
        at: usize,
        #[source]
        source: serde_json::Error,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    #[serde(default = "chunk_chars_default")]
    chunk_chars: usize,
    #[serde(default)]
    latency_ms: u64,
    #[serde(default)]
    reply: Vec<ReplyRule>,
    #[serde(default)]
    tool: Vec<ToolRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyRule {
    when: Option<String>,
    turn: Option<usize>,
    text: String,
    fail: Option<Fail>,
    finish: Option<FinishReason>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolRule {
    name: String,
    when: Option<String>,
    turn: Option<usize>,
    arguments: String,
    finish: Option<FinishReason>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Fail {
    CutOff,
    TimedOut,
    Refused,
}

/// What the conditions of a rule look at.
struct Scene<'a> {
    message: &'a str,
    turn: usize,
}

// === impl Scripted ===

impl Scripted {
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let script: Script = toml::from_str(text)?;
        if script.chunk_chars == 0 {
            return Err(ScriptError::EmptyChunks);
        }
        for (at, rule) in script.tool.iter().enumerate() {
            serde_json::from_str::<Value>(&rule.arguments)
                .map_err(|source| ScriptError::Arguments { at, source })?;
        }
        Ok(Self { script, abilities: Abilities::everything() })
    }

    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        Self::parse(&std::fs::read_to_string(path)?)
    }

    /// The same script behind other abilities, so that adaptation can be tried without a network.
    #[must_use]
    pub fn with_abilities(self, abilities: Abilities) -> Self {
        Self { abilities, ..self }
    }
}

#[async_trait]
impl ChatModel for Scripted {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    async fn stream(&self, request: Request) -> Result<EventStream, Error> {
        let scene = Scene::of(request.prompt.blocks());
        let rule = self.script.reply.iter().find(|rule| scene.fits(&rule.when, rule.turn));
        let rule = rule.ok_or_else(|| scene.unscripted("reply"))?;
        let text = rule.text.replace("{message}", scene.message);
        let usage = usage(request.prompt.blocks(), &text);

        let letters: Vec<char> = text.chars().collect();
        let deltas = letters.chunks(self.script.chunk_chars).map(|run| run.iter().collect());
        let mut events: Vec<_> = deltas.map(|delta| Ok(Event::Delta(delta))).collect();
        match rule.fail {
            Some(fail) => events.push(Err(fail.into())),
            None => {
                let finish = rule.finish.clone().unwrap_or(FinishReason::Stop);
                events.extend([Ok(Event::Usage(usage)), Ok(Event::Finish(finish))]);
            }
        }
        let latency_ms = self.script.latency_ms;
        Ok(stream::iter(events).then(move |event| after(latency_ms, event)).boxed())
    }

    async fn call_tool(&self, request: Request, tool: &Tool) -> Result<ToolCall, Error> {
        let scene = Scene::of(request.prompt.blocks());
        let fits = |rule: &&ToolRule| rule.name == tool.name && scene.fits(&rule.when, rule.turn);
        let rule = self.script.tool.iter().find(fits);
        let rule = rule.ok_or_else(|| scene.unscripted(&tool.name))?;
        let arguments = serde_json::from_str(&rule.arguments)
            .map_err(|error| Error::Malformed(error.to_string()))?;
        let usage = usage(request.prompt.blocks(), &rule.arguments);
        let finish = rule.finish.clone().unwrap_or(FinishReason::ToolCall);
        let call = ToolCall { name: tool.name.clone(), arguments, usage, finish };
        Ok(after(self.script.latency_ms, call).await)
    }
}

// === impl Scene ===

impl<'a> Scene<'a> {
    fn of(blocks: &'a [Block]) -> Self {
        let message = blocks.iter().rev().find(|block| block.role == Role::User);
        let turn = blocks.iter().filter(|block| block.role == Role::Assistant).count();
        Self { message: message.map_or("", |block| &block.text), turn }
    }

    fn fits(&self, when: &Option<String>, turn: Option<usize>) -> bool {
        let said =
            |text: &String| self.message.to_ascii_lowercase().contains(&text.to_ascii_lowercase());
        when.as_ref().is_none_or(said) && turn.is_none_or(|turn| turn == self.turn)
    }

    fn unscripted(&self, what: &str) -> Error {
        Error::Unscripted(format!("no {what} rule matches at turn {}", self.turn))
    }
}

// === impl Fail ===

impl From<Fail> for Error {
    fn from(fail: Fail) -> Self {
        match fail {
            Fail::CutOff => Error::CutOff,
            Fail::TimedOut => Error::TimedOut { doing: "writing", after_ms: 0 },
            Fail::Refused => Error::Refused { status: 400, message: "as scripted".into() },
        }
    }
}

fn chunk_chars_default() -> usize {
    24
}

/// Four characters to a token: enough for figures that nobody bills by.
fn usage(blocks: &[Block], output: &str) -> Usage {
    let tokens = |chars: usize| chars.div_ceil(4) as u64;
    let input = blocks.iter().map(|block| block.text.chars().count()).sum();
    let output_tokens = tokens(output.chars().count());
    Usage { input_tokens: tokens(input), cached_tokens: 0, output_tokens }
}

async fn after<T>(latency_ms: u64, value: T) -> T {
    if latency_ms > 0 {
        tokio::time::sleep(Duration::from_millis(latency_ms)).await;
    }
    value
}

#[cfg(test)]
mod tests;
