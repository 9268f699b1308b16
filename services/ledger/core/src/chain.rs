//! The hash chain: commitment = SHA-256(salt ‖ payload), chain = SHA-256(chain before ‖ metadata ‖ commitment).
//!
//! It finds accidental damage and says where it begins. Payload and salt can be erased without breaking
//! it. It is no defence against someone who can rewrite the whole of it.

use kernel::{Digest, commit, digest_parts};
use serde::{Deserialize, Serialize};

use crate::event::{Meta, Record};

/// Where a log ends: its last offset and the chain there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub offset: u64,
    pub chain: Digest,
}

/// What is wrong with a log, and the first offset where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the log is damaged at offset {offset}: {fault}")]
pub struct Damage {
    pub offset: u64,
    pub fault: Fault,
}

/// One kind of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the event is missing")]
    Missing,
    #[error("the payload does not match its commitment")]
    Payload,
    #[error("the metadata or the chain does not match")]
    Chain,
}

/// Checks records that follow `head`, in order; answers the head after them.
pub fn verify<'a>(
    head: Head,
    records: impl IntoIterator<Item = &'a Record>,
) -> Result<Head, Damage> {
    records.into_iter().try_fold(head, |head, record| {
        let offset = head.offset + 1;
        let damaged = |fault| Damage { offset, fault };
        if record.meta.offset != offset {
            return Err(damaged(Fault::Missing));
        }
        if let Some(kept) = &record.kept
            && commit(kept.salt, &kept.payload) != record.commitment
        {
            return Err(damaged(Fault::Payload));
        }
        if link(head.chain, &record.meta, record.commitment) != record.chain {
            return Err(damaged(Fault::Chain));
        }
        Ok(Head { offset, chain: record.chain })
    })
}

/// The chain after one event.
pub(crate) fn link(before: Digest, meta: &Meta, commitment: Digest) -> Digest {
    digest_parts(&[
        before.as_bytes(),
        meta.session.as_str().as_bytes(),
        &meta.offset.to_be_bytes(),
        &meta.recorded_at.micros().to_be_bytes(),
        meta.actor.to_stored().as_bytes(),
        meta.kind.name().as_bytes(),
        meta.request_id.as_ref().map_or("", |id| id.as_str()).as_bytes(),
        commitment.as_bytes(),
    ])
}

// === impl Head ===

impl Head {
    /// Before the first event of a session that shares nothing.
    pub const START: Head = Head { offset: 0, chain: Digest::from_bytes([0; 32]) };
}

impl Default for Head {
    fn default() -> Self {
        Self::START
    }
}
