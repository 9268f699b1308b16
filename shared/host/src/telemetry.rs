//! Logs: one span for each call, JSON or pretty, and never the content of a message.

use std::{io, time::Instant};

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

/// Why logging could not start.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("the log filter is not valid")]
    Filter(#[from] ParseError),
    #[error("logging was started before")]
    Started,
}

/// One call from its beginning to the last byte of its answer.
#[derive(Debug)]
pub(crate) struct Call {
    span: Span,
    began: Instant,
    code: Option<Code>,
}

/// Logs to standard error: standard output belongs to what a command prints.
pub fn init(format: LogFormat, filter: &str) -> Result<(), TelemetryError> {
    let filter = EnvFilter::try_new(filter)?;
    let lines = fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false);
    let started = match format {
        LogFormat::Pretty => lines.compact().try_init(),
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).try_init(),
    };
    started.map_err(|_| TelemetryError::Started)
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
