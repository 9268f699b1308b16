//! Loading a session: its row, and the state folded up to the row's head.
//!
//! Cost: one read of the row, and the events since the state that this process keeps (or since the
//! snapshot, where it keeps none).

use std::sync::Arc;

use kernel::{Owner, SessionId, limits};
use ledger_core::{Event, State, verify};
use moka::sync::Cache;

use super::Ledger;
use crate::{
    error::{Error, Result},
    store::SessionRow,
};

/// Events that are folded before a snapshot is worth its write.
const SNAPSHOT_EVERY: u64 = 512;
/// Events read at a time.
const READ_EVENTS: u32 = 1_000;

/// States of the sessions that this process has touched last, by skeleton size.
pub(super) struct States(Cache<(Owner, SessionId), Arc<State>>);

/// A session as it stands.
pub(super) struct Loaded {
    pub row: SessionRow,
    pub state: Arc<State>,
}

// === impl States ===

impl States {
    pub(super) fn new() -> Self {
        let cache = Cache::builder()
            .max_capacity(limits::STATE_CACHE_ITEMS_MAX)
            .weigher(|_, state: &Arc<State>| {
                u32::try_from(state.items().len() + state.next_seq() as usize + 1)
                    .unwrap_or(u32::MAX)
            })
            .build();
        Self(cache)
    }

    pub(super) fn put(&self, owner: &Owner, session: &SessionId, state: Arc<State>) {
        self.0.insert((owner.clone(), session.clone()), state);
    }
}

// === impl Ledger ===

impl Ledger {
    /// A live session of this owner; absent and foreign ones cannot be told apart.
    pub(super) async fn load(&self, owner: &Owner, session: &SessionId) -> Result<Loaded> {
        let row = self.store().session(owner, session).await?;
        let row = row.ok_or_else(|| Error::no_session(session))?;
        let state = self.state_at(owner, session, row.head).await?;
        if state.is_deleted() {
            return Err(Error::no_session(session));
        }
        Ok(Loaded { row, state })
    }

    async fn state_at(&self, owner: &Owner, session: &SessionId, head: u64) -> Result<Arc<State>> {
        let key = (owner.clone(), session.clone());
        let known = self.inner.states.0.get(&key).filter(|state| state.head().offset <= head);
        let known = match known {
            Some(state) => state,
            None => Arc::new(self.snapshot(owner, session, head).await?.unwrap_or_default()),
        };
        let folded = head - known.head().offset;
        if folded == 0 {
            return Ok(known);
        }
        let mut state = Arc::unwrap_or_clone(known);
        self.fold_to(owner, session, &mut state, head, |_, _| Ok(())).await?;
        let state = Arc::new(state);
        self.inner.states.0.insert(key, state.clone());
        if folded >= SNAPSHOT_EVERY {
            self.keep_snapshot(owner, session, &state).await;
        }
        Ok(state)
    }

    /// Folds the events up to `head` in, each checked against the chain; `see` is given the state before
    /// each event.
    pub(super) async fn fold_to(
        &self,
        owner: &Owner,
        session: &SessionId,
        state: &mut State,
        head: u64,
        mut see: impl FnMut(&State, &Event) -> Result<()>,
    ) -> Result<()> {
        while state.head().offset < head {
            let from = state.head().offset + 1;
            let limit = u32::try_from(head - from + 1).unwrap_or(u32::MAX).min(READ_EVENTS);
            let records = self.store().events(owner, session, from, limit).await?;
            if records.is_empty() {
                return Err(Error::missing(session, from));
            }
            verify(state.head(), &records)
                .map_err(|damage| Error::Damaged { session: session.clone(), damage })?;
            for record in records {
                let event = open(session, record)?;
                see(state, &event)?;
                state
                    .apply(&event)
                    .map_err(|fault| Error::Inconsistent { session: session.clone(), fault })?;
            }
        }
        Ok(())
    }

    /// The newest kept state at or before `head`; one of another build's form is folded anew.
    async fn snapshot(
        &self,
        owner: &Owner,
        session: &SessionId,
        head: u64,
    ) -> Result<Option<State>> {
        let kept = self.store().snapshot(owner, session).await?;
        let kept = kept.filter(|(offset, _)| *offset <= head);
        Ok(kept.and_then(|(_, bytes)| serde_json::from_slice(&bytes).ok()))
    }

    /// A snapshot that cannot be kept costs only time later.
    async fn keep_snapshot(&self, owner: &Owner, session: &SessionId, state: &State) {
        let Ok(bytes) = serde_json::to_vec(state) else { return };
        let offset = state.head().offset;
        if let Err(error) = self.store().put_snapshot(owner, session, offset, &bytes).await {
            tracing::warn!(%error, "a snapshot was not kept");
        }
    }
}

/// Reads a record whose payload must be there.
pub(super) fn open(session: &SessionId, record: ledger_core::Record) -> Result<Event> {
    record.open().map_err(|fault| Error::Unreadable { session: session.clone(), fault })
}
