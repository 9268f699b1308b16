//! Authored turns: written without generation, and silent about it (seed 000).

use std::time::Duration;

use host::caller::Caller;
use kernel::{RequestId, SessionId};
use ledger_core::{
    Rejection,
    decide::{AuthoredTurn, WriteAuthored},
};
use tokio::time::Instant;

use super::{
    Ledger,
    append::{Beside, WriteError, Writer},
    turns::TurnView,
};
use crate::{
    attempt::Attempt,
    error::{Error, Result},
};

/// How often a busy session is tried again when its reply runs in another process.
const TRY_EVERY: Duration = Duration::from_millis(100);
/// How long a write waits when the call names no deadline.
const WAIT_DEFAULT: Duration = Duration::from_secs(60);

/// What a caller wants written.
#[derive(Clone)]
pub struct WriteAuthoredTurn {
    pub attempt: Attempt,
    pub request_id: RequestId,
    pub session: SessionId,
    pub turn: AuthoredTurn,
    /// Wait for a running generation instead of refusing.
    pub wait: bool,
}

// === impl Ledger ===

impl Ledger {
    /// Writes an authored turn; the flag tells that this attempt had written it before.
    pub async fn write_authored(
        &self,
        caller: &Caller,
        write: WriteAuthoredTurn,
    ) -> Result<(TurnView, bool)> {
        let owner = &caller.principal.owner;
        if let Some(reference) = self.answered(&write.attempt).await? {
            return Ok((self.turn(owner, &write.session, seq_of(&reference)?).await?, true));
        }
        let settings = self.load(owner, &write.session).await?.state.settings().clone();
        let turn = self.with_provider_rule(write.turn.clone(), &settings);
        let writer = Writer::of(caller, Some(write.request_id.clone()));
        let deadline = caller.passage.deadline.unwrap_or_else(|| Instant::now() + WAIT_DEFAULT);
        loop {
            let closed = self.inner.board.closed.notified();
            tokio::pin!(closed);
            closed.as_mut().enable();
            let verb = WriteAuthored { turn: turn.clone() };
            let written = self.write(&writer, &write.session, verb, |decision| {
                let reference = decision.outcome.0.to_string();
                let answer = write.attempt.entry(reference.as_bytes());
                Ok(Beside { answer, ..Beside::default() })
            });
            match written.await {
                Ok(decision) => {
                    let view = self.turn(owner, &write.session, decision.outcome.0).await?;
                    return Ok((view, false));
                }
                Err(error) => {
                    let busy = matches!(&error, WriteError::Failed(error) if is_busy(error));
                    match self.or_answered(&write.attempt, error).await {
                        Ok(reference) => {
                            let seq = seq_of(&reference)?;
                            return Ok((self.turn(owner, &write.session, seq).await?, true));
                        }
                        Err(error) if !(busy && write.wait) || Instant::now() >= deadline => {
                            return Err(error);
                        }
                        Err(_) => {}
                    }
                    let _ = tokio::time::timeout(TRY_EVERY, closed).await;
                }
            }
        }
    }
}

fn is_busy(error: &Error) -> bool {
    matches!(
        error,
        Error::Rejected(Rejection::GenerationInProgress(_)) | Error::GenerationInProgress
    )
}

fn seq_of(reference: &[u8]) -> Result<u64> {
    serde_json::from_slice(reference)
        .map_err(|error| Error::Internal(format!("a stored answer: {error}")))
}
