//! Following a reply: from this process's memory while it runs here, else from the ledger.

mod follower;
mod reader;

use std::sync::Arc;

use futures::stream;
use kernel::{GenerationId, Owner};

use self::{follower::Follower, reader::Reader};
use super::{Ledger, frames::FrameStream, submit::Heir};
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
            Some(run) => Ok(self.follow_run(owner, generation, run, Some(after_byte))),
            None => self.follow(owner.clone(), row, after_byte, None).await,
        }
    }

    /// The frames of a run in this process: all of them, or what they still say to a reader who has
    /// `after_byte` bytes of the reply.
    pub(super) fn follow_run(
        &self,
        owner: &Owner,
        generation: &GenerationId,
        run: Arc<Run>,
        after_byte: Option<u64>,
    ) -> FrameStream {
        let (owner, generation) = (owner.clone(), generation.clone());
        let reader = Reader::new(self.clone(), owner, generation, run, after_byte);
        Box::pin(stream::unfold(reader, |mut reader| async move {
            let frame = reader.next().await?;
            Some((frame, reader))
        }))
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
