//! One reader of a reply that another process produces, or that is over: what the ledger has, as frames.

use std::{collections::VecDeque, time::Duration};

use futures::StreamExt;
use kernel::{GenerationId, Owner, SessionId, limits};
use ledger_core::{
    Body, Event,
    event::{Failure, TurnCompleted},
};

use super::text_behind;
use crate::{
    error::Result,
    ledger::{
        Ledger,
        frames::{Completed, Frame, FrameStream, Sent},
        load,
        submit::Heir,
        turns,
    },
    store::GenerationRow,
};

/// How often another process's progress is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Events read at a time.
const READ_EVENTS: u32 = 200;

/// One reader's place in a generation.
pub(super) struct Follower {
    ledger: Ledger,
    owner: Owner,
    session: SessionId,
    generation: GenerationId,
    reply_seq: u64,
    /// The attempt that the reader's bytes are of: the one in force when they came.
    attempt: u64,
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

// === impl Follower ===

impl Follower {
    /// A reader who has `read` bytes; `from` is the first event that may concern the generation.
    pub(super) fn new(
        ledger: Ledger,
        owner: Owner,
        row: GenerationRow,
        from: u64,
        read: u64,
        heir: Option<Heir>,
    ) -> Self {
        Self {
            ledger,
            owner,
            session: row.session,
            generation: row.generation,
            reply_seq: row.reply_seq,
            attempt: row.fence,
            cursor: from,
            read,
            from_start: heir.is_some(),
            heir,
            relayed: None,
            queue: VecDeque::new(),
            over: false,
        }
    }

    /// The next frame, once there is one; none behind the last.
    pub(super) async fn next(&mut self) -> Option<Result<Frame>> {
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
            self.say(&text)?;
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
            // If somebody else was first, the ledger shows what they make of it.
            self.relayed = self.ledger.take_over(&heir, &self.session, &self.generation).await?;
            return Ok(());
        }
        let reason = turns::failure_name(Failure::Lease).to_owned();
        let message = "the process that produced the reply is gone; submit again with the same \
                       request id";
        self.ended(false, reason, message.to_owned()).await
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
                self.say(body.partial.as_deref().unwrap_or_default())?;
                self.ended(false, reason, turns::failure_detail(body)).await
            }
            Body::TurnAborted(body) if body.generation == self.generation => {
                self.say(body.partial.as_deref().unwrap_or_default())?;
                self.ended(true, turns::abort_name(body.reason).to_owned(), String::new()).await
            }
            _ => Ok(()),
        }
    }

    /// A later attempt begins the text anew: the next delta says so by its offset.
    async fn started(&mut self, attempt: u64) -> Result<()> {
        if attempt > self.attempt {
            self.attempt = attempt;
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
        if self.read == 0 {
            let (sent, record) = self.ledger.sent(&self.owner, &self.session, offset).await?;
            let (fingerprint, diagnostics) = (record.fingerprint, record.diagnostics);
            self.queue.push_back(Frame::Profile { fingerprint, diagnostics });
            self.queue.push_back(Frame::Sent(Sent { offset, ..sent }));
        }
        Ok(())
    }

    async fn completed(&mut self, offset: u64, body: &TurnCompleted) -> Result<()> {
        text_behind(&body.text, self.read)?;
        self.say(&body.text)?;
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

    /// Queues the part of the text that the reader does not have; nothing while the text is behind them.
    fn say(&mut self, text: &str) -> Result<()> {
        if self.read >= text.len() as u64 {
            return Ok(());
        }
        for piece in pieces(text_behind(text, self.read)?) {
            self.queue.push_back(Frame::Delta { offset: self.read, text: piece.to_owned() });
            self.read += piece.len() as u64;
        }
        Ok(())
    }
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
