//! Following a reply: from this process's memory while it runs here, else from the ledger.

mod follower;

use std::sync::Arc;

use futures::{StreamExt, stream};
use kernel::{GenerationId, Owner};

use self::follower::Follower;
use super::{
    Ledger,
    frames::{Frame, FrameStream},
    submit::Heir,
};
use crate::{
    board::Run,
    error::{Error, Result},
    store::GenerationRow,
};

// === impl Ledger ===

impl Ledger {
    /// What follows `after_byte` of the reply, then how it ends. Deltas never repeat or skip a byte of the
    /// attempt in force; one that takes over meanwhile begins at 0 again.
    pub async fn resume(
        &self,
        owner: &Owner,
        generation: &GenerationId,
        after_byte: u64,
    ) -> Result<FrameStream> {
        let row = self.generation_row(owner, generation).await?;
        match self.inner.board.find(&owner.tenant, generation) {
            Some(run) => Ok(self.resume_run(run, after_byte)),
            None => self.follow(owner.clone(), row, after_byte, None).await,
        }
    }

    /// The frames of a run in this process, all of them.
    pub(super) fn follow_run(&self, run: Arc<Run>) -> FrameStream {
        Box::pin(stream::unfold((run, 0, false), |(run, at, over)| async move {
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
    fn resume_run(&self, run: Arc<Run>, after_byte: u64) -> FrameStream {
        let frames = self.follow_run(run).filter_map(move |frame| {
            let rest = frame.and_then(|frame| behind(frame, after_byte)).transpose();
            futures::future::ready(rest)
        });
        Box::pin(frames)
    }

    /// Frames of any generation, read from the ledger until it is over. An heir has none of them yet.
    pub(super) async fn follow(
        &self,
        owner: Owner,
        row: GenerationRow,
        after_byte: u64,
        heir: Option<Heir>,
    ) -> Result<FrameStream> {
        let state = self.load(&owner, &row.session).await?.state;
        let slot = state.turn(row.reply_seq);
        let from = slot.ok_or_else(|| Error::no_generation(&row.generation))?.offset;
        let follower = Follower::new(self.clone(), owner, row, from, after_byte, heir);
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
        row.ok_or_else(|| Error::no_generation(generation))
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

/// The text behind a byte position that a reader named.
fn text_behind(text: &str, after: u64) -> Result<&str> {
    let at = usize::try_from(after).unwrap_or(usize::MAX);
    text.get(at..).ok_or_else(|| {
        let why = match text.len() {
            bytes if at > bytes => format!("lies beyond {bytes} bytes"),
            _ => "lies inside a character".to_owned(),
        };
        Error::invalid("after_byte", why)
    })
}
