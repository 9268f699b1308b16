//! EventService.

use std::collections::VecDeque;

use futures::stream;
use host::caller::caller;
use kernel::{Owner, SessionId};
use ledger_core::Record;
use wire::ledger::v1::{self as pb, event_service_server::EventService};

use super::{Handler, Reply, Streamed, from_proto, status::status, to_proto};
use crate::ledger::Ledger;

/// Events read at a time.
const READ_EVENTS: u64 = 500;

/// One reader's place in a log.
struct Reading {
    ledger: Ledger,
    owner: Owner,
    session: SessionId,
    next: u64,
    head: u64,
    queue: VecDeque<Record>,
}

#[tonic::async_trait]
impl EventService for Handler {
    type ReadEventsStream = Streamed<pb::ReadEventsResponse>;

    async fn read_events(
        &self,
        request: tonic::Request<pb::ReadEventsRequest>,
    ) -> Reply<Self::ReadEventsStream> {
        let owner = caller(&request)?.principal.owner.clone();
        let request = request.into_inner();
        let session = from_proto::session_id(&request.session_id)?;
        let head = self.ledger.session(&owner, &session).await.map_err(status)?.head;
        let next = request.from_offset.max(1);
        let last = match request.limit {
            0 => head,
            limit => head.min(next.saturating_add(limit - 1)),
        };
        let queue = VecDeque::new();
        let reading =
            Reading { ledger: self.ledger.clone(), owner, session, next, head: last, queue };
        let events = stream::unfold(reading, |mut reading| async move {
            let event = reading.next().await.transpose()?;
            let event = event
                .map(|record| pb::ReadEventsResponse { event: Some(to_proto::event(&record)) });
            Some((event, reading))
        });
        Ok(tonic::Response::new(Box::pin(events)))
    }

    async fn verify_session(
        &self,
        request: tonic::Request<pb::VerifySessionRequest>,
    ) -> Reply<pb::VerifySessionResponse> {
        let owner = caller(&request)?.principal.owner.clone();
        let session = from_proto::session_id(&request.into_inner().session_id)?;
        let verified = self.ledger.verify(&owner, &session).await.map_err(status)?;
        Ok(tonic::Response::new(to_proto::verified(verified)))
    }
}

// === impl Reading ===

impl Reading {
    async fn next(&mut self) -> Result<Option<Record>, tonic::Status> {
        if self.queue.is_empty() && self.next <= self.head {
            let limit = (self.head - self.next + 1).min(READ_EVENTS) as u32;
            let read = self.ledger.events(&self.owner, &self.session, self.next, limit).await;
            self.queue = read.map_err(status)?.into();
        }
        let record = self.queue.pop_front();
        self.next += u64::from(record.is_some());
        Ok(record)
    }
}
