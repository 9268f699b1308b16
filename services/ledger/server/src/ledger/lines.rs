//! Writers of one session line up: within a process none of them loses its race to another.
//!
//! Cost: one hash and one lock that is free unless the session is written to at the same time. Writers in
//! other processes are met at the store, as before.

use std::hash::{BuildHasher as _, RandomState};

use kernel::{SessionId, TenantId, limits};
use tokio::sync::{Mutex, MutexGuard};

/// A fixed number of lines; sessions that share one by chance wait for each other.
pub(super) struct Lines {
    chance: RandomState,
    lines: Box<[Mutex<()>]>,
}

// === impl Lines ===

impl Lines {
    pub(super) fn new() -> Self {
        let lines = (0..limits::WRITER_LINES).map(|_| Mutex::default()).collect();
        Self { chance: RandomState::new(), lines }
    }

    /// First come, first served; the line moves on when the guard is dropped.
    pub(super) async fn stand(&self, tenant: &TenantId, session: &SessionId) -> MutexGuard<'_, ()> {
        let hash = self.chance.hash_one((tenant, session));
        let line = hash % self.lines.len() as u64;
        self.lines[usize::try_from(line).unwrap_or(0)].lock().await
    }
}
