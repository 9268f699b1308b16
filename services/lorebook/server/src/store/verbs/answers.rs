//! Answers to named attempts, kept in the transaction that they are of.

use host::idempotency::{self, Answer};
use kernel::Timestamp;

use crate::store::{
    Attempt, StoreError,
    rows::{Rows, Transaction},
};

/// Whether an attempt was answered before; its name with another request is refused.
pub async fn replayed(rows: &mut dyn Rows, attempt: Option<&Attempt>) -> Result<bool, StoreError> {
    let Some(attempt) = attempt else { return Ok(false) };
    let stored = rows.answer(&attempt.scope).await?;
    Ok(idempotency::decide(stored, &attempt.scope, &attempt.request)?.is_some())
}

/// Keeps the answer; an attempt of the same name that was first has won.
pub async fn answered(
    rows: &mut dyn Rows,
    attempt: Option<&Attempt>,
    reference: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(attempt) = attempt else { return Ok(()) };
    let answer = Answer { request: attempt.request, reference: reference.into() };
    if rows.put_answer(&attempt.scope, &answer, now).await? {
        Ok(())
    } else {
        Err(StoreError::Raced)
    }
}

pub async fn forget(mut rows: Transaction, before: Timestamp) -> Result<u64, StoreError> {
    let forgotten = rows.forget(before).await?;
    rows.commit().await?;
    Ok(forgotten)
}
