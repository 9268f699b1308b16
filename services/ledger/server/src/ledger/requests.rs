//! Requests as they were sent: rebuilt from the events, compared with their stamps.

use std::sync::Arc;

use kernel::{Owner, SessionId, Timestamp, limits};
use ledger_core::{
    Body, Event, State,
    event::{LlmRequestRequested, StampTail},
};
use moka::sync::Cache;
use prompt::{
    Block,
    item::TextRef,
    journal::Tail,
    prefix::{BlockMark, request_digest},
};

use super::{
    Ledger, Origin,
    frames::Sent,
    load,
    record::RequestRecord,
    render::{Rendered, render},
};
use crate::error::{Error, Result};

/// The blocks of each session's last request, reduced to digests: what the next one is compared with.
pub(super) struct Marks(Cache<(Owner, SessionId), LastRequest>);

/// The stamp's offset, and its blocks.
type LastRequest = (u64, Arc<Vec<BlockMark>>);

/// How rebuilt bytes compare with what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    Exact,
    RenderDrift,
    Reconstructed,
}

/// One request.
#[derive(Debug, Clone)]
pub struct ShownRequest {
    pub offset: u64,
    pub requested_at: Timestamp,
    pub stamp: LlmRequestRequested,
    pub record: RequestRecord,
    /// None in lists: nothing was rebuilt.
    pub replay: Option<Replay>,
    pub blocks: Vec<ShownBlock>,
}

/// One block of a request, and where its pieces come from.
#[derive(Debug, Clone)]
pub struct ShownBlock {
    pub block: Block,
    pub origins: Vec<Origin>,
}

// === impl Marks ===

impl Marks {
    pub(super) fn new() -> Self {
        let cache = Cache::builder()
            .max_capacity(limits::MARK_CACHE_BLOCKS_MAX)
            .weigher(|_, (_, marks): &LastRequest| {
                u32::try_from(marks.len() + 1).unwrap_or(u32::MAX)
            })
            .build();
        Self(cache)
    }
}

// === impl Ledger ===

impl Ledger {
    /// Shows a request as it was sent. Costs the session's events up to it, once.
    pub async fn request(
        &self,
        owner: &Owner,
        session: &SessionId,
        offset: u64,
    ) -> Result<ShownRequest> {
        let head = self.load(owner, session).await?.row.head;
        let absent = || Error::NotFound { kind: "request", id: format!("{session}/{offset}") };
        if offset == 0 || offset > head {
            return Err(absent());
        }
        let mut before = State::default();
        self.fold_to(owner, session, &mut before, offset - 1, |_, _| Ok(())).await?;
        let event = self.event(owner, session, offset).await?.ok_or_else(absent)?;
        let Body::LlmRequestRequested(stamp) = &event.body else { return Err(absent()) };
        let record = self.request_record(owner, session, offset).await?;
        let (replay, rendered) =
            self.rebuild(owner, session, &before, &event, stamp, &record).await?;
        let mut origins = rendered.origins;
        self.explain(owner, session, &before, &record, &mut origins).await?;
        let blocks = rendered.blocks.into_iter().zip(origins);
        Ok(ShownRequest {
            offset,
            requested_at: event.meta.recorded_at,
            stamp: stamp.clone(),
            record,
            replay: Some(replay),
            blocks: blocks.map(|(block, origins)| ShownBlock { block, origins }).collect(),
        })
    }

    /// A session's requests after an offset, without their blocks.
    pub async fn requests(
        &self,
        owner: &Owner,
        session: &SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<ShownRequest>> {
        self.load(owner, session).await?;
        let rows = self.store().requests(owner, session, after, limit).await?;
        let offsets: Vec<u64> = rows.iter().map(|row| row.offset).collect();
        let mut stamps = self.events_there(owner, session, &offsets).await?;
        let shown = rows.into_iter().map(|row| {
            let event = stamps.remove(&row.offset);
            let event = event.ok_or_else(|| Error::missing(session, row.offset))?;
            let Body::LlmRequestRequested(stamp) = event.body else {
                return Err(Error::Internal("a request's record lies beside no stamp".into()));
            };
            Ok(ShownRequest {
                offset: row.offset,
                requested_at: event.meta.recorded_at,
                stamp,
                record: RequestRecord::from_bytes(&row.record)?,
                replay: None,
                blocks: Vec::new(),
            })
        });
        shown.collect()
    }

    /// Rebuilds a request on the state before its stamp.
    pub(super) async fn rebuild(
        &self,
        owner: &Owner,
        session: &SessionId,
        before: &State,
        event: &Event,
        stamp: &LlmRequestRequested,
        record: &RequestRecord,
    ) -> Result<(Replay, Rendered)> {
        let stamped = before.with_stamp(stamp.slot, event.meta.recorded_at);
        let guidance = match stamp.tail {
            Some(StampTail::Guidance(_)) => before.generation().and_then(|g| g.guidance),
            Some(StampTail::SummaryInstruction(_)) | None => None,
        };
        let places: Vec<TextRef> =
            stamped.pieces().filter_map(|piece| piece.text()).chain(guidance).collect();
        let texts = self.texts(owner, session, places).await?;
        let tail = match &stamp.tail {
            Some(StampTail::Guidance(_)) => Some(Tail::Guidance(texts.or_empty(guidance))),
            Some(StampTail::SummaryInstruction(text)) => Some(Tail::SummaryInstruction(text)),
            None => None,
        };
        let profile = match &record.profile {
            Some(kept) => Some(self.unkeep(owner, kept).await?),
            None => None,
        };
        let names = (&*record.user_name, &*record.character_name);
        let version = stamp.versions.render;
        let rendered = render(&stamped, version, profile.as_ref(), names, tail, &texts)
            .map_err(|missing| Error::Internal(missing.to_string()))?;
        let exact = request_digest(&rendered.blocks) == stamp.sent;
        Ok((if exact { Replay::Exact } else { Replay::RenderDrift }, rendered))
    }

    /// The digests of the newest request's blocks; none before the first.
    pub(super) async fn marks_of_last(
        &self,
        owner: &Owner,
        session: &SessionId,
        state: &State,
    ) -> Result<Arc<Vec<BlockMark>>> {
        let Some(last) = state.last_request() else { return Ok(Arc::default()) };
        let key = (owner.clone(), session.clone());
        if let Some((at, marks)) = self.inner.marks.0.get(&key)
            && at == last
        {
            return Ok(marks);
        }
        let mut before = State::default();
        self.fold_to(owner, session, &mut before, last - 1, |_, _| Ok(())).await?;
        let absent = || Error::Internal(format!("the stamp at offset {last} is missing"));
        let event = self.event(owner, session, last).await?.ok_or_else(absent)?;
        let Body::LlmRequestRequested(stamp) = &event.body else { return Err(absent()) };
        let record = self.request_record(owner, session, last).await?;
        let (_, rendered) = self.rebuild(owner, session, &before, &event, stamp, &record).await?;
        let marks = Arc::new(rendered.marks);
        self.inner.marks.0.insert(key, (last, marks.clone()));
        Ok(marks)
    }

    pub(super) fn remember_marks(
        &self,
        owner: &Owner,
        session: &SessionId,
        offset: u64,
        marks: Vec<BlockMark>,
    ) {
        let key = (owner.clone(), session.clone());
        self.inner.marks.0.insert(key, (offset, Arc::new(marks)));
    }

    /// A request's frame, as it was shown when it was sent.
    pub(super) async fn sent(
        &self,
        owner: &Owner,
        session: &SessionId,
        offset: u64,
    ) -> Result<(Sent, RequestRecord)> {
        let record = self.request_record(owner, session, offset).await?;
        let event = self.event(owner, session, offset).await?;
        let Some(Body::LlmRequestRequested(stamp)) = event.map(|event| event.body) else {
            return Err(Error::Internal(format!("the stamp at offset {offset} is missing")));
        };
        let sent = Sent {
            offset,
            shared: stamp.shared,
            total_bytes: record.total_bytes,
            broken: stamp.broken.map(|broken| (broken.cause, broken.block)),
            normalizations: stamp.normalizations,
        };
        Ok((sent, record))
    }

    /// The record of the newest request before an offset.
    pub(super) async fn record_before(
        &self,
        owner: &Owner,
        session: &SessionId,
        offset: u64,
    ) -> Result<Option<RequestRecord>> {
        let row = self.store().request_before(owner, session, offset).await?;
        row.map(|row| RequestRecord::from_bytes(&row.record)).transpose()
    }

    pub(super) async fn request_record(
        &self,
        owner: &Owner,
        session: &SessionId,
        offset: u64,
    ) -> Result<RequestRecord> {
        let row = self.store().request(owner, session, offset).await?;
        let absent = || Error::NotFound { kind: "request", id: format!("{session}/{offset}") };
        RequestRecord::from_bytes(&row.ok_or_else(absent)?.record)
    }

    async fn event(
        &self,
        owner: &Owner,
        session: &SessionId,
        offset: u64,
    ) -> Result<Option<Event>> {
        let records = self.store().events_at(owner, session, &[offset]).await?;
        records.into_iter().next().map(|record| load::open(session, record)).transpose()
    }
}
