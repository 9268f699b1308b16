//! Deliberate rewriting: rare, audited, refused while a generation runs.

use prompt::{
    derive::Tier,
    item::{Item, Voice},
};

use super::{Draft, Verb};
use crate::{
    command::{Key, Text},
    event::{Body, ContextRewritten, Rewrite},
    rejection::Rejection,
};

/// One rewrite; answers its offset.
#[derive(Debug, Clone)]
pub struct RewriteContext {
    pub op: RewriteOp,
}

/// What is rewritten.
#[derive(Debug, Clone)]
pub enum RewriteOp {
    Replace {
        key: Key,
        content: Text,
    },
    DeleteKey(Key),
    /// A fact or tool message by its offset; turns are retracted instead.
    DeleteMessage(u64),
    DeleteAll,
}

// === impl RewriteContext ===

impl Verb for RewriteContext {
    type Outcome = u64;

    fn decide(self, draft: &mut Draft<'_>) -> Result<u64, Rejection> {
        draft.existing()?;
        if let RewriteOp::Replace { key, .. } | RewriteOp::DeleteKey(key) = &self.op {
            draft.may_key(key)?;
        }
        draft.idle()?;
        let op = match self.op {
            RewriteOp::Replace { key, content } => {
                draft.owns_live(&key)?;
                Rewrite::Replace { key: key.to_arc(), content: content.into_string() }
            }
            RewriteOp::DeleteKey(key) => {
                draft.owns_live(&key)?;
                Rewrite::DeleteKey { key: key.to_arc() }
            }
            RewriteOp::DeleteMessage(offset) => {
                draft.owns_message(offset)?;
                Rewrite::DeleteMessage { offset }
            }
            RewriteOp::DeleteAll => Rewrite::DeleteAll,
        };
        draft.push(Body::ContextRewritten(ContextRewritten { op }))
    }
}

// === impl Draft ===

impl Draft<'_> {
    fn owns_live(&self, key: &Key) -> Result<(), Rejection> {
        self.owns(key)?;
        match self.state.newest(key.as_str(), false) {
            Some(_) => Ok(()),
            None => Err(Rejection::KeyUnknown(key.as_str().to_owned())),
        }
    }

    fn owns_message(&self, offset: u64) -> Result<(), Rejection> {
        let found = self.state.items().iter().find_map(|item| match item {
            Item::Message(message) if message.offset == offset => Some(&message.voice),
            _ => None,
        });
        let owner = match found {
            Some(Voice::Fact { tier, .. }) => *tier,
            Some(Voice::ToolRequested { .. } | Voice::ToolSettled { .. }) => Tier::Agent,
            _ => return Err(Rejection::MessageUnknown(offset)),
        };
        if owner > self.envelope.actor.tier {
            return Err(Rejection::MessageOwned { offset, owner });
        }
        Ok(())
    }
}
