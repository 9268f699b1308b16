//! One attempt at a mutation: who calls what under which request id, and the hash of what is asked.

use host::idempotency::{Answer, Scope};
use kernel::Digest;

/// An attempt; without a scope the caller named none, and a retry is another attempt.
#[derive(Debug, Clone)]
pub struct Attempt {
    pub scope: Option<Scope>,
    pub request: Digest,
}

/// An answer about to be stored.
#[derive(Debug, Clone)]
pub struct Entry {
    pub scope: Scope,
    pub answer: Answer,
}

// === impl Attempt ===

impl Attempt {
    /// What is stored with the write; nothing where the attempt has no name.
    pub fn entry(&self, reference: &[u8]) -> Option<Entry> {
        let answer = Answer { request: self.request, reference: reference.to_owned() };
        self.scope.clone().map(|scope| Entry { scope, answer })
    }
}
