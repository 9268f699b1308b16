//! The signals by which an operator ends a process.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

use crate::shutdown::Shutdown;

/// Begins the shutdown at the first SIGTERM or SIGINT; a second one ends the process at once.
pub fn end_on_signal(shutdown: &Shutdown) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let shutdown = shutdown.clone();
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!("shutting down; a second signal ends the process at once");
        shutdown.begin();
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        std::process::exit(130);
    });
    Ok(())
}
