//! Sessions: create (empty, with an opening, from a chat), update, hide.

use kernel::{Owner, SessionId, Timestamp, TurnId, limits};
use prompt::derive::Author;

use super::{AuthoredTurn, Draft, Verb};
use crate::{
    command::Text,
    event::{
        AbortReason, Body, Parent, SessionCreated, SessionDeleted, SessionUpdated, TurnAborted,
        TurnImported,
    },
    rejection::Rejection,
    settings::Settings,
};

/// An empty session, possibly a delegated child.
#[derive(Debug, Clone)]
pub struct Create {
    pub session: SessionId,
    pub owner: Owner,
    pub settings: Settings,
    pub parent: Option<Parent>,
}

/// A session whose first turn is authored; answers its turn.
#[derive(Debug, Clone)]
pub struct CreateWithOpening {
    pub create: Create,
    pub opening: AuthoredTurn,
}

/// A session that begins as an imported chat; answers how many turns it has.
#[derive(Debug, Clone)]
pub struct ImportChat {
    pub create: Create,
    pub turns: Vec<ImportedTurn>,
}

/// One turn of a chat that was held elsewhere.
#[derive(Debug, Clone)]
pub struct ImportedTurn {
    pub author: Author,
    pub name: Option<String>,
    pub text: Text,
    pub claimed_at: Option<Timestamp>,
}

/// New settings, as a whole; nothing is written where they are the same.
#[derive(Debug, Clone)]
pub struct UpdateSession {
    pub settings: Settings,
}

/// Hides the session; a running generation is stopped.
#[derive(Debug, Clone, Copy)]
pub struct DeleteSession;

// === impl Create ===

impl Verb for Create {
    type Outcome = ();

    fn decide(self, draft: &mut Draft<'_>) -> Result<(), Rejection> {
        if draft.session.is_some() {
            return Err(Rejection::SessionExists);
        }
        draft.session = Some(self.session);
        let Self { owner, settings, parent, .. } = self;
        draft.push(Body::SessionCreated(SessionCreated { owner, settings, parent }))?;
        Ok(())
    }
}

// === impl CreateWithOpening ===

impl Verb for CreateWithOpening {
    type Outcome = (u64, TurnId);

    fn decide(self, draft: &mut Draft<'_>) -> Result<(u64, TurnId), Rejection> {
        self.create.decide(draft)?;
        self.opening.write(draft)
    }
}

// === impl ImportChat ===

impl Verb for ImportChat {
    type Outcome = u64;

    fn decide(self, draft: &mut Draft<'_>) -> Result<u64, Rejection> {
        if self.turns.len() >= limits::APPEND_EVENTS_MAX {
            let (given, max) = (self.turns.len(), limits::APPEND_EVENTS_MAX - 1);
            return Err(Rejection::Limit { name: "turns of an import", given, max });
        }
        self.create.decide(draft)?;
        for turn in self.turns {
            let (seq, id) = draft.next_turn();
            draft.push(Body::TurnImported(TurnImported {
                seq,
                turn: id,
                text: turn.text.into_string(),
                author: turn.author,
                name: turn.name,
                claimed_at: turn.claimed_at,
            }))?;
        }
        Ok(draft.state.next_seq())
    }
}

// === impl UpdateSession ===

impl Verb for UpdateSession {
    type Outcome = ();

    fn decide(self, draft: &mut Draft<'_>) -> Result<(), Rejection> {
        draft.existing()?;
        draft.close_expired()?;
        if self.settings != *draft.state.settings() {
            draft.push(Body::SessionUpdated(SessionUpdated { settings: self.settings }))?;
        }
        Ok(())
    }
}

// === impl DeleteSession ===

impl Verb for DeleteSession {
    type Outcome = ();

    fn decide(self, draft: &mut Draft<'_>) -> Result<(), Rejection> {
        draft.existing()?;
        draft.close_expired()?;
        if let Some(generation) = draft.state.generation() {
            let stopped = Body::TurnAborted(TurnAborted {
                generation: generation.id.clone(),
                fence: generation.fence,
                seq: generation.slot,
                reason: AbortReason::Caller,
                partial: None,
            });
            draft.push(stopped)?;
        }
        draft.push(Body::SessionDeleted(SessionDeleted {}))?;
        Ok(())
    }
}

// === impl Draft ===

impl Draft<'_> {
    /// The next turn's seq and its id, which is the same whenever it is decided.
    pub(super) fn next_turn(&self) -> (u64, TurnId) {
        let seq = self.state.next_seq();
        let session = self.session.as_ref().map_or("", |session| session.as_str());
        (seq, TurnId::derived(&[session, &seq.to_string()]))
    }
}
