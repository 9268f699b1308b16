//! Events: what happened, as it is appended, stored and read again.

mod body;
mod codec;
mod kind;
mod payload;

use kernel::{Digest, RequestId, Salt, SessionId, Timestamp, commit};

pub use body::Body;
pub use codec::Unreadable;
pub use kind::Kind;
pub use payload::*;

use crate::{
    actor::Actor,
    chain::{Head, link},
};

/// What the store keeps of an event beside its payload, in columns; the chain covers all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    pub session: SessionId,
    /// Gapless from 1 within a session; a fork counts on from the offset that it shares.
    pub offset: u64,
    pub recorded_at: Timestamp,
    pub actor: Actor,
    pub kind: Kind,
    pub request_id: Option<RequestId>,
}

/// An event as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub meta: Meta,
    /// Nothing once the payload was erased.
    pub kept: Option<Kept>,
    pub commitment: Digest,
    pub chain: Digest,
}

/// The erasable part of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub salt: Salt,
    /// Versioned JSON, kept as the bytes that were written.
    pub payload: Vec<u8>,
}

/// An event that is whole: its record's bytes and what they say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub meta: Meta,
    pub salt: Salt,
    pub payload: Vec<u8>,
    pub commitment: Digest,
    pub chain: Digest,
    pub body: Body,
}

// === impl Event ===

impl Event {
    /// Makes the event that follows `head`; its body is encoded in the newest version.
    pub(crate) fn seal(head: Head, meta: Meta, salt: Salt, body: Body) -> Self {
        let payload = codec::encode(&body);
        let commitment = commit(salt, &payload);
        let chain = link(head.chain, &meta, commitment);
        Self { meta, salt, payload, commitment, chain, body }
    }

    /// Where the log ends after this event.
    pub fn head(&self) -> Head {
        Head { offset: self.meta.offset, chain: self.chain }
    }

    pub fn into_record(self) -> Record {
        let kept = Some(Kept { salt: self.salt, payload: self.payload });
        Record { meta: self.meta, kept, commitment: self.commitment, chain: self.chain }
    }
}

// === impl Record ===

impl Record {
    /// Reads the payload, whichever version it was written in; only bytes that were written are read. Costs
    /// their SHA-256: less than reading them as JSON does.
    pub fn open(self) -> Result<Event, Unreadable> {
        let kept = self.kept.ok_or(Unreadable::Erased(self.meta.offset))?;
        if commit(kept.salt, &kept.payload) != self.commitment {
            return Err(Unreadable::Damaged(self.meta.offset));
        }
        let body = codec::decode(self.meta.kind, &kept.payload)
            .map_err(|fault| Unreadable::Payload { offset: self.meta.offset, fault })?;
        Ok(Event {
            meta: self.meta,
            salt: kept.salt,
            payload: kept.payload,
            commitment: self.commitment,
            chain: self.chain,
            body,
        })
    }
}

#[cfg(test)]
mod tests;
