//! One streamed HTTP call: timeouts, retries before the first word, and a decoder's pieces out of it.

use std::{collections::VecDeque, time::Duration};

use futures::{StreamExt, TryStreamExt, stream};
use kernel::limits;
use reqwest::{
    Client, Response,
    header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER},
    redirect,
};
use serde_json::Value;

use crate::{Error, Event, EventStream, FinishReason, Tool, ToolCall, Usage, sse::SseReader};

/// How long to wait for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    pub connect_ms: u64,
    /// From sending the request to the first event.
    pub first_ms: u64,
    /// Between two events.
    pub idle_ms: u64,
    /// Before the second attempt; doubles with each further one.
    pub retry_base_ms: u64,
}

/// Where one provider is called.
#[derive(Clone)]
pub(crate) struct Endpoint {
    client: Client,
    url: String,
    headers: HeaderMap,
    /// Blotted out of whatever the provider says back.
    secret: Option<String>,
    timing: Timing,
}

/// What a decoder makes of a provider's events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    /// A tool call begins.
    Tool {
        index: u64,
        name: String,
    },
    /// More of a tool call's arguments.
    Arguments {
        index: u64,
        text: String,
    },
    Usage(Usage),
    Finish(FinishReason),
}

/// Reads one provider's events.
pub(crate) trait Decode: Default + Send + 'static {
    /// Pieces of one event; `true` when it was the last one.
    fn event(&mut self, data: &str, out: &mut VecDeque<Piece>) -> Result<bool, Error>;

    /// The pieces kept back for the end, the last of them [`Piece::Finish`]; [`Error::CutOff`] when
    /// the provider never said that it had finished.
    fn end(&mut self, out: &mut VecDeque<Piece>) -> Result<(), Error>;
}

type PieceStream = stream::BoxStream<'static, Result<Piece, Error>>;

/// A response being read.
struct Reading<D> {
    response: Response,
    reader: SseReader,
    decoder: D,
    ready: VecDeque<Piece>,
    /// Said behind what is ready: the end, or why there is none.
    end: Option<Result<(), Error>>,
    bytes: usize,
    /// How long the next bytes may take: the whole thinking time until the first piece.
    patience_ms: u64,
}

// === impl Timing ===

impl Default for Timing {
    fn default() -> Self {
        Self {
            connect_ms: limits::MODEL_CONNECT_MS,
            first_ms: limits::MODEL_FIRST_MS,
            idle_ms: limits::MODEL_IDLE_MS,
            retry_base_ms: limits::MODEL_RETRY_BASE_MS,
        }
    }
}

// === impl Endpoint ===

impl Endpoint {
    /// `headers` authenticate; `secret` is the key among them.
    pub fn new(
        url: String,
        headers: HeaderMap,
        secret: Option<String>,
        timing: Timing,
    ) -> Result<Self, reqwest::Error> {
        // reqwest is built without a crypto provider of its own; a second install is a no-op.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .connect_timeout(Duration::from_millis(timing.connect_ms))
            .redirect(redirect::Policy::none())
            .build()?;
        Ok(Self { client, url, headers, secret, timing })
    }

    /// Streams one reply.
    pub async fn stream<D: Decode>(&self, body: &Value) -> Result<EventStream, Error> {
        let events = self.open::<D>(body).await?.try_filter_map(|piece| async {
            Ok(match piece {
                Piece::Text(text) => Some(Event::Delta(text)),
                Piece::Usage(usage) => Some(Event::Usage(usage)),
                Piece::Finish(reason) => Some(Event::Finish(reason)),
                Piece::Tool { .. } | Piece::Arguments { .. } => None,
            })
        });
        Ok(events.boxed())
    }

    /// Makes one tool call; with `as_text` the arguments are the reply's text.
    pub async fn call_tool<D: Decode>(
        &self,
        body: &Value,
        tool: &Tool,
        as_text: bool,
    ) -> Result<ToolCall, Error> {
        let mut pieces = self.open::<D>(body).await?;
        let mut calls: Vec<(u64, String, String)> = Vec::new();
        let (mut usage, mut finish) = (Usage::default(), FinishReason::Stop);
        if as_text {
            calls.push((0, tool.name.clone(), String::new()));
        }
        while let Some(piece) = pieces.try_next().await? {
            match piece {
                Piece::Tool { index, name } => calls.push((index, name, String::new())),
                Piece::Arguments { index, text } => {
                    if let Some(call) = calls.iter_mut().rev().find(|call| call.0 == index) {
                        call.2.push_str(&text);
                    }
                }
                Piece::Text(text) if as_text => calls[0].2.push_str(&text),
                Piece::Text(_) => {}
                Piece::Usage(counted) => usage = counted,
                Piece::Finish(reason) => finish = reason,
            }
        }
        let last = calls.into_iter().rev().find(|call| call.1 == tool.name);
        let Some((_, name, text)) = last else {
            let tool = tool.name.clone();
            return Err(match finish {
                FinishReason::Length => Error::ToolCutOff { tool },
                _ => Error::ToolNotCalled { tool, finish: finish.name().to_owned() },
            });
        };
        Ok(ToolCall { arguments: parse_arguments(&name, &text, &finish)?, name, usage, finish })
    }

    /// Tries until something was said, the failure is one that stays, or the attempts are used up.
    async fn open<D: Decode>(&self, body: &Value) -> Result<PieceStream, Error> {
        let mut wait_ms = self.timing.retry_base_ms;
        for _ in 1..limits::MODEL_ATTEMPTS_MAX {
            let error = match self.attempt::<D>(body).await {
                Ok(pieces) => return Ok(pieces),
                Err(error) if error.may_pass() => error,
                Err(error) => return Err(error),
            };
            let asked_ms = match error {
                Error::RateLimited { retry_after_ms } => retry_after_ms.unwrap_or(wait_ms),
                _ => wait_ms,
            };
            if asked_ms > limits::MODEL_RETRY_WAIT_MS_MAX {
                return Err(error);
            }
            tracing::debug!(reason = error.reason(), wait_ms = asked_ms, "trying the model again");
            tokio::time::sleep(Duration::from_millis(asked_ms)).await;
            wait_ms = wait_ms.saturating_mul(2);
        }
        self.attempt::<D>(body).await
    }

    /// One attempt, up to the first piece that a caller could have seen.
    async fn attempt<D: Decode>(&self, body: &Value) -> Result<PieceStream, Error> {
        let first_ms = self.timing.first_ms;
        let sent = self.client.post(&self.url).headers(self.headers.clone()).json(body).send();
        let response = within(first_ms, "thinking", sent).await?.map_err(unreachable)?;
        let mut reading = Reading::<D>::new(self.accept(response).await?, first_ms);
        let mut head = Vec::new();
        while let Some(piece) = reading.next().await? {
            let invisible = matches!(piece, Piece::Usage(_));
            head.push(Ok(piece));
            if !invisible {
                break;
            }
        }
        reading.patience_ms = self.timing.idle_ms;
        let rest = stream::try_unfold(reading, |mut reading| async move {
            Ok(reading.next().await?.map(|piece| (piece, reading)))
        });
        Ok(stream::iter(head).chain(rest).boxed())
    }

    /// The response, if it is an event stream; the provider's own words otherwise.
    async fn accept(&self, response: Response) -> Result<Response, Error> {
        let status = response.status();
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let kind = header(CONTENT_TYPE).unwrap_or_default().to_owned();
        if status.is_success() {
            return match kind.starts_with("text/event-stream") {
                true => Ok(response),
                false => Err(Error::Malformed(format!("{kind:?} came instead of an event stream"))),
            };
        }
        if status.as_u16() == 429 {
            let seconds = header(RETRY_AFTER).and_then(|text| text.trim().parse::<u64>().ok());
            return Err(Error::RateLimited {
                retry_after_ms: seconds.map(|s| s.saturating_mul(1_000)),
            });
        }
        let text = self.error_text(response).await?;
        let mut message = message_of(&text);
        if let Some(secret) = &self.secret {
            message = message.replace(secret, "[key]");
        }
        Err(Error::Refused { status: status.as_u16(), message })
    }

    /// The beginning of an error's body.
    async fn error_text(&self, mut response: Response) -> Result<String, Error> {
        let mut bytes = Vec::new();
        let bound = 8 * limits::MODEL_ERROR_CHARS_MAX;
        let read = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                bytes.extend_from_slice(&chunk[..chunk.len().min(bound - bytes.len())]);
                if bytes.len() >= bound {
                    break;
                }
            }
        };
        within(self.timing.idle_ms, "explaining a refusal", read).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

// === impl Reading ===

impl<D: Decode> Reading<D> {
    fn new(response: Response, patience_ms: u64) -> Self {
        Self {
            response,
            reader: SseReader::default(),
            decoder: D::default(),
            ready: VecDeque::new(),
            end: None,
            bytes: 0,
            patience_ms,
        }
    }

    async fn next(&mut self) -> Result<Option<Piece>, Error> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                self.count(&piece)?;
                return Ok(Some(piece));
            }
            if let Some(end) = &self.end {
                return end.clone().map(|()| None);
            }
            match within(self.patience_ms, "writing", self.response.chunk()).await? {
                Ok(Some(bytes)) => self.end = self.read(&bytes).transpose(),
                Ok(None) => self.end = Some(self.decoder.end(&mut self.ready)),
                Err(_) => self.end = Some(Err(Error::CutOff)),
            }
        }
    }

    /// Puts the pieces of these bytes behind what is ready; something when they were the last ones.
    fn read(&mut self, bytes: &[u8]) -> Result<Option<()>, Error> {
        for data in self.reader.push(bytes)? {
            if self.decoder.event(&data, &mut self.ready)? {
                return self.decoder.end(&mut self.ready).map(Some);
            }
        }
        Ok(None)
    }

    fn count(&mut self, piece: &Piece) -> Result<(), Error> {
        if let Piece::Text(text) | Piece::Arguments { text, .. } = piece {
            self.bytes += text.len();
        }
        match self.bytes > limits::MODEL_REPLY_BYTES_MAX {
            true => Err(Error::TooLarge(limits::MODEL_REPLY_BYTES_MAX)),
            false => Ok(()),
        }
    }
}

/// The message of an error document in one of the usual shapes, or the text itself; bounded.
pub(crate) fn message_of(text: &str) -> String {
    let document: Option<Value> = serde_json::from_str(text).ok();
    let paths = ["/error/message", "/message", "/detail", "/error"];
    let named = document
        .as_ref()
        .and_then(|document| paths.iter().find_map(|path| document.pointer(path)?.as_str()));
    named.unwrap_or(text).trim().chars().take(limits::MODEL_ERROR_CHARS_MAX).collect()
}

async fn within<T>(
    after_ms: u64,
    doing: &'static str,
    work: impl Future<Output = T>,
) -> Result<T, Error> {
    tokio::time::timeout(Duration::from_millis(after_ms), work)
        .await
        .map_err(|_| Error::TimedOut { doing, after_ms })
}

/// The innermost cause, without the URL (which may hold a key).
fn unreachable(error: reqwest::Error) -> Error {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    Error::Unreachable(cause.to_string())
}

fn parse_arguments(tool: &str, text: &str, finish: &FinishReason) -> Result<Value, Error> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    serde_json::from_str(text).map_err(|error| match (error.is_eof(), finish) {
        (true, FinishReason::Length) => Error::ToolCutOff { tool: tool.to_owned() },
        _ => Error::ToolMalformed { tool: tool.to_owned(), detail: error.to_string() },
    })
}
