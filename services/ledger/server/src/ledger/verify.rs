//! Verifying a session: every hash of its chain, every request, its snapshot.

use kernel::{Owner, SessionId};
use ledger_core::{Body, Event, Head, State, verify};

use super::{Ledger, load, requests::Replay};
use crate::error::{Error, Result};

/// Events read at a time.
const READ_EVENTS: u32 = 1_000;

/// What verifying found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    pub head: u64,
    /// The first offset whose commitment or chain does not hold.
    pub first_bad: Option<u64>,
    pub requests: u64,
    pub drifted_requests: Vec<u64>,
    pub snapshot_drifted: bool,
}

// === impl Ledger ===

impl Ledger {
    /// Recomputes everything that can be. Damage is an answer; a store that cannot be read is an error.
    /// Costs one read of the session, and one render for each request.
    pub async fn verify(&self, owner: &Owner, session: &SessionId) -> Result<Verified> {
        let row = self.store().session(owner, session).await?;
        let row = row.ok_or_else(|| Error::no_session(session))?;
        let snapshot = self.store().snapshot(owner, session).await?;
        let mut found = Verified { head: row.head, ..Verified::default() };
        let mut state = State::default();
        let mut head = Head::START;
        while head.offset < row.head {
            let records = self.store().events(owner, session, head.offset + 1, READ_EVENTS).await?;
            if records.is_empty() {
                found.first_bad = Some(head.offset + 1);
                return Ok(found);
            }
            head = match verify(head, &records) {
                Ok(head) => head,
                Err(damage) => {
                    found.first_bad = Some(damage.offset);
                    return Ok(found);
                }
            };
            for record in records {
                let event = load::open(session, record)?;
                self.check_request(owner, session, &state, &event, &mut found).await?;
                state
                    .apply(&event)
                    .map_err(|fault| Error::Inconsistent { session: session.clone(), fault })?;
                if let Some((offset, bytes)) = &snapshot
                    && *offset == event.meta.offset
                {
                    let kept: Option<State> = serde_json::from_slice(bytes).ok();
                    found.snapshot_drifted = kept.is_some_and(|kept| kept != state);
                }
            }
        }
        Ok(found)
    }

    async fn check_request(
        &self,
        owner: &Owner,
        session: &SessionId,
        before: &State,
        event: &Event,
        found: &mut Verified,
    ) -> Result<()> {
        let Body::LlmRequestRequested(stamp) = &event.body else { return Ok(()) };
        let record = self.request_record(owner, session, event.meta.offset).await?;
        let (replay, _) = self.rebuild(owner, session, before, event, stamp, &record).await?;
        found.requests += 1;
        if replay == Replay::RenderDrift {
            found.drifted_requests.push(event.meta.offset);
        }
        Ok(())
    }

    /// Events from an offset on, at most `limit`; the caller pages.
    pub async fn events(
        &self,
        owner: &Owner,
        session: &SessionId,
        from: u64,
        limit: u32,
    ) -> Result<Vec<ledger_core::Record>> {
        Ok(self.store().events(owner, session, from.max(1), limit).await?)
    }
}
