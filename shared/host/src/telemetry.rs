//! Logs: one span for each call, JSON or pretty, and never the content of a message.

use std::{
    env,
    io::{self, IsTerminal as _},
    str::FromStr,
    time::Instant,
};

use tonic::Code;
use tracing::{Span, field};
use tracing_subscriber::{EnvFilter, filter::ParseError, fmt};

use crate::caller::Passage;

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Pretty,
    /// One JSON object a line.
    Json,
}

/// What is logged: a level, or levels by module such as `warn,ledger=debug`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFilter(String);

/// Why a filter is none.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidLogFilter(ParseError);

/// Logging was started before.
#[derive(Debug, thiserror::Error)]
#[error("logging was started before")]
pub struct AlreadyStarted;

/// One call from its beginning to the last byte of its answer.
#[derive(Debug)]
pub(crate) struct Call {
    span: Span,
    began: Instant,
    code: Option<Code>,
}

/// Logs to standard error: standard output belongs to what a command prints.
pub fn init(format: LogFormat, filter: &LogFilter) -> Result<(), AlreadyStarted> {
    let filter = EnvFilter::new(&filter.0);
    let colour =
        io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    let lines = fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(colour);
    // A log that cannot be written to is nobody's error: telling of it would be, by a panic in whatever logged.
    let lines = lines.with_target(false).log_internal_errors(false);
    let started = match format {
        LogFormat::Pretty => lines.compact().try_init(),
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).try_init(),
    };
    started.map_err(|_| AlreadyStarted)
}

// === impl LogFilter ===

impl FromStr for LogFilter {
    type Err = InvalidLogFilter;

    fn from_str(text: &str) -> Result<Self, InvalidLogFilter> {
        EnvFilter::try_new(text).map_err(InvalidLogFilter)?;
        Ok(Self(text.to_owned()))
    }
}

// === impl Call ===

impl Call {
    /// `method` is the path after the gate, so that a hidden method is not named.
    pub(crate) fn begin(method: &str, passage: &Passage) -> Self {
        let text = |value: &http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
        let span = tracing::info_span!(
            "rpc",
            method,
            request_id = text(&passage.request_id),
            traceparent = field::Empty,
        );
        if let Some(traceparent) = &passage.traceparent {
            span.record("traceparent", text(traceparent));
        }
        Self { span, began: Instant::now(), code: None }
    }

    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    pub(crate) fn ended(&mut self, code: Code) {
        self.code = Some(code);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // Without a code, the caller went away before the end.
        let code = self.code.unwrap_or(Code::Cancelled);
        let elapsed_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.span.in_scope(|| tracing::debug!(?code, elapsed_us, "answered"));
    }
}
