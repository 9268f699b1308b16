//! Resuming a generation: the rest of its frames, on any replica.

use kernel::{GenerationId, Owner};

use super::{Ledger, frames::FrameStream};
use crate::error::Result;

// === impl Ledger ===

impl Ledger {
    /// What follows `after_byte` of the reply, then how it ends. Deltas never repeat or skip a byte.
    pub async fn resume(
        &self,
        owner: &Owner,
        generation: &GenerationId,
        after_byte: u64,
    ) -> Result<FrameStream> {
        let row = self.generation_row(owner, generation).await?;
        match self.inner.board.find(&owner.tenant, generation) {
            Some(run) => Ok(self.resume_run(run, after_byte)),
            None => {
                self.follow(owner.clone(), row.session, generation.clone(), after_byte, None).await
            }
        }
    }
}
