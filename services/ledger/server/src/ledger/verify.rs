//! Verifying a session: every hash of its chain, every request, its snapshot.

use kernel::{Owner, SessionId};
use ledger_core::{Body, Event, Head, Record, State, verify};

use super::{Ledger, load, requests::Replay};
use crate::{
    error::{Error, Result},
    store::StoreError,
};

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
            let records = self.readable(owner, session, head.offset + 1).await?;
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
                let offset = record.meta.offset;
                let event = load::open(session, record)?;
                self.check_request(owner, session, &state, &event, &mut found).await?;
                if state.apply(&event).is_err() {
                    found.first_bad = Some(offset);
                    return Ok(found);
                }
                if let Some((at, bytes)) = &snapshot
                    && *at == offset
                {
                    let kept: Option<State> = serde_json::from_slice(bytes).ok();
                    found.snapshot_drifted = kept.is_some_and(|kept| kept != state);
                }
            }
        }
        Ok(found)
    }

    /// Events from an offset on, none of them behind one whose columns cannot be read.
    async fn readable(&self, owner: &Owner, session: &SessionId, from: u64) -> Result<Vec<Record>> {
        let mut limit = READ_EVENTS;
        loop {
            match self.store().events(owner, session, from, limit).await {
                Err(StoreError::Damaged { .. }) if limit > 1 => limit /= 2,
                Err(StoreError::Damaged { .. }) => return Ok(Vec::new()),
                read => return Ok(read?),
            }
        }
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
        let offset = event.meta.offset;
        found.requests += 1;
        let rebuilt = match self.request_record(owner, session, offset).await {
            Ok(record) => self.rebuild(owner, session, before, event, stamp, &record).await,
            Err(error) => Err(error),
        };
        match rebuilt {
            Ok((Replay::RenderDrift, _)) => found.drifted_requests.push(offset),
            Ok(_) => {}
            // What lies beside the events is damaged: its bytes cannot be shown again.
            Err(error) if error.is_damage() || matches!(error, Error::NotFound { .. }) => {
                found.drifted_requests.push(offset);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Events from an offset on, at most `limit`; the caller pages up to the head. Each is checked against
    /// its commitment and against the chain of the one before.
    pub async fn events(
        &self,
        owner: &Owner,
        session: &SessionId,
        from: u64,
        limit: u32,
    ) -> Result<Vec<Record>> {
        let from = from.max(1);
        let before = u32::from(from > 1);
        let read = from - u64::from(before);
        let mut records = self.store().events(owner, session, read, limit + before).await?;
        let head = match before {
            0 => Some(Head::START),
            _ => records.first().map(|first| Head { offset: read, chain: first.chain }),
        };
        let events = records.split_off(records.len().min(before as usize));
        let head = head.filter(|_| !events.is_empty());
        let head = head.ok_or_else(|| Error::missing(session, from))?;
        verify(head, &events)
            .map_err(|damage| Error::Damaged { session: session.clone(), damage })?;
        Ok(events)
    }
}
