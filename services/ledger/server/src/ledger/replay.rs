//! Following a generation from the ledger: finished ones, and those that run in another process.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use kernel::{AlternativeId, GenerationId, JobId, Owner, SessionId, limits};
use ledger_core::{Body, Event, Kind};

use super::{
    Ledger,
    frames::{Completed, Evaluation, Frame, FrameStream, Proposed, Sent},
    load,
    submit::Heir,
    turns,
};
use crate::{
    board::Run,
    error::{Error, Result},
    store::{GenerationRow, JobState},
};

/// How often another process's progress is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Events read at a time.
const READ_EVENTS: u32 = 200;

/// One reader's place in a generation.
struct Follower {
    ledger: Ledger,
    owner: Owner,
    session: SessionId,
    generation: GenerationId,
    reply_seq: u64,
    /// The next event to look at.
    cursor: u64,
    /// Bytes of the reply that the reader has.
    read: u64,
    /// Whether the frames before the text are wanted too.
    from_start: bool,
    /// Who takes the slot over if its owner dies.
    heir: Option<Heir>,
    /// The attempt of our own that took it over.
    relayed: Option<FrameStream>,
    queue: VecDeque<Frame>,
    over: bool,
}

// === impl Ledger ===

impl Ledger {
    /// The frames of a run in this process, from a place on.
    pub(super) fn follow_run(&self, run: Arc<Run>, from: usize) -> FrameStream {
        Box::pin(stream::unfold((run, from, false), |(run, at, over)| async move {
            if over {
                return None;
            }
            let Some(frame) = run.frame(at).await else {
                // Another attempt took the slot: this one stopped without an end of its own.
                return Some((Err(Error::LeaseLost), (run, at, true)));
            };
            let over = frame.is_last();
            Some((Ok(frame), (run, at + 1, over)))
        }))
    }

    /// A run in this process, for a reader who has `after_byte` bytes of the reply.
    pub(super) fn resume_run(&self, run: Arc<Run>, after_byte: u64) -> FrameStream {
        let frames = self.follow_run(run, 0).filter_map(move |frame| {
            let wanted = match frame {
                Ok(Frame::Delta { offset, text }) => rest(offset, text, after_byte).map(Ok),
                Ok(Frame::Started { .. } | Frame::Profile { .. } | Frame::Sent(_)) => None,
                other => Some(other),
            };
            futures::future::ready(wanted)
        });
        Box::pin(frames)
    }

    /// Frames of any generation, read from the ledger until it is over. An heir has none of them yet.
    pub(super) async fn follow(
        &self,
        owner: Owner,
        session: SessionId,
        generation: GenerationId,
        after_byte: u64,
        heir: Option<Heir>,
    ) -> Result<FrameStream> {
        let state = self.load(&owner, &session).await?.state;
        let row = self.generation_row(&owner, &generation).await?;
        let slot = state.turn(row.reply_seq).ok_or_else(|| Error::no_generation(&generation))?;
        let follower = Follower {
            ledger: self.clone(),
            owner,
            session,
            generation,
            reply_seq: row.reply_seq,
            cursor: slot.offset,
            read: after_byte,
            from_start: heir.is_some(),
            heir,
            relayed: None,
            queue: VecDeque::new(),
            over: false,
        };
        Ok(Box::pin(stream::unfold(follower, |mut follower| async move {
            let frame = follower.next().await?;
            Some((frame, follower))
        })))
    }

    pub(super) async fn generation_row(
        &self,
        owner: &Owner,
        generation: &GenerationId,
    ) -> Result<GenerationRow> {
        let row = self.store().generation(owner, generation).await?;
        row.filter(|row| row.owner == *owner).ok_or_else(|| Error::no_generation(generation))
    }

    /// The changesets that were proposed for a reply.
    pub(super) async fn proposed(
        &self,
        owner: &Owner,
        session: &SessionId,
        seq: u64,
        alternative: &AlternativeId,
        after: u64,
    ) -> Result<Vec<Proposed>> {
        let kind = Kind::WorldChangeProposed;
        let mut found = Vec::new();
        for record in self.store().events_of(owner, session, kind, after).await? {
            let Body::WorldChangeProposed(body) = load::open(session, record)?.body else {
                continue;
            };
            if body.seq == seq && body.alternative == *alternative {
                found.extend(body.changesets.into_iter().map(|changeset| Proposed {
                    changeset: changeset.changeset.to_string(),
                    world: changeset.world.to_string(),
                    world_name: changeset.world_name,
                    summary: changeset.summary,
                    operations: changeset.operations,
                }));
            }
        }
        Ok(found)
    }
}

// === impl Follower ===

impl Follower {
    async fn next(&mut self) -> Option<Result<Frame>> {
        loop {
            if let Some(frame) = self.queue.pop_front() {
                return Some(Ok(frame));
            }
            if self.over {
                return None;
            }
            if let Some(relayed) = &mut self.relayed {
                match relayed.next().await? {
                    // The reader knows the message and the slot.
                    Ok(Frame::Started { .. }) => continue,
                    frame => return Some(frame),
                }
            }
            if let Err(error) = self.look().await {
                self.over = true;
                return Some(Err(error));
            }
            if self.queue.is_empty() && !self.over {
                let closed = self.ledger.inner.board.closed.notified();
                let _ = tokio::time::timeout(LOOK_EVERY, closed).await;
            }
        }
    }

    /// Queues what has happened since the last look.
    async fn look(&mut self) -> Result<()> {
        // The row first: once it says closed, every event of the generation is there to be read.
        let row = self.ledger.generation_row(&self.owner, &self.generation).await?;
        let ledger = self.ledger.clone();
        let store = ledger.store();
        loop {
            let records =
                store.events(&self.owner, &self.session, self.cursor, READ_EVENTS).await?;
            let is_last = records.len() < READ_EVENTS as usize;
            for record in records {
                self.cursor = record.meta.offset + 1;
                self.see(load::open(&self.session, record)?).await?;
                if self.over {
                    return Ok(());
                }
            }
            if is_last {
                break;
            }
        }
        if row.running {
            let text = store.chunks(&self.owner, &self.generation, row.fence).await?;
            self.say(&text);
            if row.dead {
                return self.owner_died().await;
            }
        }
        Ok(())
    }

    /// Nobody produces the reply any more: a retry takes its slot over, any other reader is told to
    /// retry instead of waiting for ever.
    async fn owner_died(&mut self) -> Result<()> {
        if let Some(heir) = self.heir.take() {
            let taken = self.ledger.take_over(&heir, &self.session, &self.generation).await?;
            // If somebody else was first, the ledger shows what they make of it.
            self.relayed = taken.map(|started| self.ledger.start(&heir, started));
            return Ok(());
        }
        let turn = self.ledger.turn(&self.owner, &self.session, self.reply_seq).await?;
        self.over = true;
        self.queue.push_back(Frame::Ended {
            aborted: false,
            reason: turns::failure_name(ledger_core::event::Failure::Lease).to_owned(),
            message: "the process that produced the reply is gone; submit again with the same \
                      request id"
                .to_owned(),
            turn: Box::new(turn),
        });
        Ok(())
    }

    async fn see(&mut self, event: Event) -> Result<()> {
        match &event.body {
            Body::GenerationStarted(body) if body.generation == self.generation => {
                self.started(body.fence).await
            }
            Body::LlmRequestRequested(body) if body.generation == self.generation => {
                self.requested(event.meta.offset).await
            }
            Body::TurnCompleted(body) if body.generation == self.generation => {
                self.completed(event.meta.offset, body).await
            }
            Body::TurnFailed(body) if body.generation == self.generation => {
                let reason = turns::failure_name(body.reason).to_owned();
                self.say(body.partial.as_deref().unwrap_or_default());
                self.ended(false, reason, turns::failure_detail(body)).await
            }
            Body::TurnAborted(body) if body.generation == self.generation => {
                self.say(body.partial.as_deref().unwrap_or_default());
                self.ended(true, turns::abort_name(body.reason).to_owned(), String::new()).await
            }
            _ => Ok(()),
        }
    }

    /// A later attempt begins the text anew: the next delta says so by its offset.
    async fn started(&mut self, fence: u64) -> Result<()> {
        if fence > 1 {
            self.read = 0;
        }
        if !std::mem::take(&mut self.from_start) {
            return Ok(());
        }
        let state = self.ledger.load(&self.owner, &self.session).await?.state;
        let own = state.turn(self.reply_seq).and_then(|turn| turn.slot()?.own);
        let message = match own {
            Some(seq) => {
                let view = self.ledger.turn_view(&self.owner, &self.session, &state, seq).await?;
                Some(Box::new(view))
            }
            None => None,
        };
        let (generation, reply_seq) = (self.generation.clone(), self.reply_seq);
        self.queue.push_back(Frame::Started { generation, message, reply_seq });
        Ok(())
    }

    async fn requested(&mut self, offset: u64) -> Result<()> {
        let (sent, record) = self.ledger.sent(&self.owner, &self.session, offset).await?;
        if self.read == 0 {
            let (fingerprint, diagnostics) = (record.fingerprint, record.diagnostics);
            self.queue.push_back(Frame::Profile { fingerprint, diagnostics });
            self.queue.push_back(Frame::Sent(Sent { offset, ..sent }));
        }
        Ok(())
    }

    async fn completed(
        &mut self,
        offset: u64,
        body: &ledger_core::event::TurnCompleted,
    ) -> Result<()> {
        if self.read > body.text.len() as u64 {
            let length = body.text.len();
            return Err(Error::invalid("after_byte", format!("lies beyond {length} bytes")));
        }
        self.say(&body.text);
        let turn = self.ledger.turn(&self.owner, &self.session, self.reply_seq).await?;
        self.queue.push_back(Frame::Completed(Box::new(Completed { turn, usage: body.usage })));
        let evaluation = self.ledger.evaluation(&self.owner, &self.session, body, offset).await?;
        let proposed = self
            .ledger
            .proposed(&self.owner, &self.session, body.seq, &body.alternative, offset)
            .await?;
        self.queue.extend(proposed.into_iter().map(Frame::Proposed));
        self.queue.push_back(Frame::Done(evaluation));
        self.over = true;
        Ok(())
    }

    async fn ended(&mut self, aborted: bool, reason: String, message: String) -> Result<()> {
        let turn = self.ledger.turn(&self.owner, &self.session, self.reply_seq).await?;
        self.queue.push_back(Frame::Ended { aborted, reason, message, turn: Box::new(turn) });
        self.over = true;
        Ok(())
    }

    /// Queues the part of the text that the reader does not have.
    fn say(&mut self, text: &str) {
        let from = usize::try_from(self.read).unwrap_or(usize::MAX);
        let Some(rest) = text.get(from..).filter(|rest| !rest.is_empty()) else { return };
        for piece in pieces(rest) {
            self.queue.push_back(Frame::Delta { offset: self.read, text: piece.to_owned() });
            self.read += piece.len() as u64;
        }
    }
}

/// The part of a piece that lies behind a byte position.
fn rest(offset: u64, text: String, after: u64) -> Option<Frame> {
    if offset >= after {
        return Some(Frame::Delta { offset, text });
    }
    let from = usize::try_from(after - offset).ok()?;
    let text = text.get(from..).filter(|text| !text.is_empty())?.to_owned();
    Some(Frame::Delta { offset: after, text })
}

/// Cuts a text into what one message may carry, at character boundaries.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.len().min(limits::CHUNK_BYTES);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

// === impl Ledger ===

impl Ledger {
    /// How the evaluation of a finished reply stands; waits for a running one as the session says.
    async fn evaluation(
        &self,
        owner: &Owner,
        session: &SessionId,
        body: &ledger_core::event::TurnCompleted,
        offset: u64,
    ) -> Result<Evaluation> {
        let job = JobId::derived(&[body.alternative.as_str(), "evaluate", "1"]);
        if self.store().job(owner, &job).await? == JobState::Finished {
            let record = self.record_before(owner, session, offset).await?;
            let asked = record.is_some_and(|record| record.worlds.iter().any(|w| w.dynamic))
                && !body.text.trim().is_empty();
            return Ok(if asked { Evaluation::Finished } else { Evaluation::NotAsked });
        }
        let state = self.load(owner, session).await?.state;
        let patience = Duration::from_millis(state.settings().proposal.wait_ms.unsigned_abs());
        let settled = tokio::time::timeout(patience, self.settled(owner, &job));
        Ok(settled.await.unwrap_or(Evaluation::Pending))
    }

    /// Returns once the job has ended.
    pub(super) async fn settled(&self, owner: &Owner, job: &JobId) -> Evaluation {
        let bell = &self.inner.board.settled;
        loop {
            let rung = bell.notified();
            tokio::pin!(rung);
            rung.as_mut().enable();
            match self.store().job(owner, job).await {
                Ok(JobState::Finished) => return Evaluation::Finished,
                Ok(JobState::Parked { .. }) => return Evaluation::Failed,
                Ok(JobState::Waiting) => {}
                Err(error) => tracing::warn!(%error, "an evaluation could not be asked after"),
            }
            let _ = tokio::time::timeout(2 * LOOK_EVERY, rung).await;
        }
    }
}
