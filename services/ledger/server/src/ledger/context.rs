//! Adding context: a keyed section or a message at the tail.

use host::caller::Caller;
use kernel::{RequestId, SessionId};
use ledger_core::{
    command::{Key, Text},
    decide::{self, Added},
};

use super::{
    Ledger,
    append::{Beside, Writer},
};
use crate::{
    attempt::Attempt,
    error::{Error, Result},
};

/// One add.
#[derive(Clone)]
pub struct AddContext {
    pub attempt: Attempt,
    pub request_id: RequestId,
    pub session: SessionId,
    pub key: Option<Key>,
    pub content: Text,
    pub expected_head: Option<u64>,
}

// === impl Ledger ===

impl Ledger {
    /// Adds context; the flag tells that this attempt had added it before.
    pub async fn add_context(&self, caller: &Caller, add: AddContext) -> Result<(Added, bool)> {
        if let Some(reference) = self.answered(&add.attempt).await? {
            return Ok((read(&reference)?, true));
        }
        let mut writer = Writer::of(caller, Some(add.request_id));
        writer.expected_head = add.expected_head;
        let verb = decide::AddContext { key: add.key, content: add.content };
        let written = self.write(&writer, &add.session, verb, |decision| {
            let Added { offset, unchanged } = decision.outcome;
            let reference = serde_json::json!([offset, unchanged]).to_string();
            let answer = add.attempt.entry(reference.as_bytes());
            Ok(Beside { answer, ..Beside::default() })
        });
        match written.await {
            Ok(decision) => Ok((decision.outcome, false)),
            Err(error) => {
                let reference = self.or_answered(&add.attempt, error).await?;
                Ok((read(&reference)?, true))
            }
        }
    }
}

fn read(reference: &[u8]) -> Result<Added> {
    let (offset, unchanged) = serde_json::from_slice(reference)
        .map_err(|error| Error::Internal(format!("a stored answer: {error}")))?;
    Ok(Added { offset, unchanged })
}
