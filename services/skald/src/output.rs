//! Standard output, as the commands use it: one that cannot be written to is an error of the command, never a panic.

use std::{
    fmt,
    io::{self, ErrorKind, Write as _},
    sync::{Arc, OnceLock},
};

use host::status::chain;

use crate::Failure;

/// Colour on a terminal, plain in a pipe. After the first failure nothing more is written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Output {
    failed: Arc<OnceLock<io::Error>>,
}

/// Why a command's words are not where they belong.
#[derive(Debug, thiserror::Error)]
#[error("standard output could not be written to: {0}")]
struct Unwritten(ErrorKind);

/// Says on standard error why a command failed, if anybody is there to read it; the exit code says it anyway.
pub(crate) fn complain(error: &(dyn std::error::Error + 'static)) {
    let _ = writeln!(anstream::stderr(), "skald: {}", chain(error));
}

// === impl Output ===

impl Output {
    pub(crate) fn line(&self, line: fmt::Arguments<'_>) {
        if self.failed.get().is_none() {
            let mut stdout = anstream::stdout().lock();
            if let Err(error) = writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
                // Whoever was first has said it.
                let _ = self.failed.set(error);
            }
        }
    }

    /// Whether all was written. A reader who leaves early, as `head` does, has what it wanted.
    pub(crate) fn written(&self) -> Result<(), Failure> {
        match self.failed.get().map(io::Error::kind) {
            None | Some(ErrorKind::BrokenPipe) => Ok(()),
            Some(kind) => Err(Failure::run(Unwritten(kind))),
        }
    }
}
