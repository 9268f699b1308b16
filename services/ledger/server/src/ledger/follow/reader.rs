//! One reader of a reply that is produced in this process; whoever goes on with it is read from the ledger.

use std::sync::Arc;

use futures::StreamExt;
use kernel::{GenerationId, Owner};

use super::text_behind;
use crate::{
    board::Run,
    error::{Error, Result},
    ledger::{
        Ledger,
        frames::{Frame, FrameStream},
    },
    store::GenerationRow,
};

/// One reader's place in a run.
pub(super) struct Reader {
    ledger: Ledger,
    owner: Owner,
    generation: GenerationId,
    run: Arc<Run>,
    /// The frame to read next.
    at: usize,
    /// Bytes of the reply that the reader had already; none where every frame is wanted.
    after: Option<u64>,
    /// Bytes of the reply that the reader has by now.
    read: u64,
    /// What the ledger has of the reply after the run has stopped without an end of its own.
    rest: Option<FrameStream>,
    over: bool,
}

// === impl Reader ===

impl Reader {
    /// A reader of every frame, or one who has `after` bytes of the reply already.
    pub(super) fn new(
        ledger: Ledger,
        owner: Owner,
        generation: GenerationId,
        run: Arc<Run>,
        after: Option<u64>,
    ) -> Self {
        let (at, read, rest, over) = (0, after.unwrap_or(0), None, false);
        Self { ledger, owner, generation, run, at, after, read, rest, over }
    }

    /// The next frame, once there is one; none behind the last.
    pub(super) async fn next(&mut self) -> Option<Result<Frame>> {
        loop {
            if self.over {
                return None;
            }
            if let Some(rest) = &mut self.rest {
                return rest.next().await;
            }
            let read = match self.run.frame(self.at).await {
                Some(frame) => self.see(frame),
                None => self.leave_run().await.map(|()| None),
            };
            self.over |= read.is_err();
            if let Some(read) = read.transpose() {
                return Some(read);
            }
        }
    }

    /// What a frame of the run still says to the reader.
    fn see(&mut self, frame: Frame) -> Result<Option<Frame>> {
        self.at += 1;
        self.over = frame.is_last();
        if let Frame::Delta { offset, text } = &frame {
            self.read = self.read.max(offset + text.len() as u64);
        }
        match self.after {
            Some(after) => behind(frame, after),
            None => Ok(Some(frame)),
        }
    }

    /// Another attempt took the slot, or the store kept the end to itself: what becomes of the reply is in
    /// the ledger. A process that ends says so.
    async fn leave_run(&mut self) -> Result<()> {
        if self.ledger.inner.shutdown.is_stopping() {
            return Err(Error::Interrupted);
        }
        let row = self.ledger.generation_row(&self.owner, &self.generation).await?;
        let row = GenerationRow { fence: self.run.fence, ..row };
        let rest = self.ledger.follow(self.owner.clone(), row, self.read, None).await?;
        self.rest = Some(rest);
        Ok(())
    }
}

/// What a frame still says to a reader who has `after` bytes of the reply.
fn behind(frame: Frame, after: u64) -> Result<Option<Frame>> {
    Ok(match frame {
        Frame::Started { .. } => None,
        Frame::Profile { .. } | Frame::Sent(_) if after > 0 => None,
        Frame::Delta { offset, text } if offset < after => {
            let missing = after - offset;
            let is_new = missing < text.len() as u64;
            let rest = if is_new { text_behind(&text, missing)? } else { "" };
            is_new.then(|| Frame::Delta { offset: after, text: rest.to_owned() })
        }
        Frame::Completed(completed) => {
            text_behind(&completed.turn.content, after)?;
            Some(Frame::Completed(completed))
        }
        other => Some(other),
    })
}
