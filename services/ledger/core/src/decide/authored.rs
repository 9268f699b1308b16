//! The authored history write: a turn without generation, inert, that says who wrote it (seed 000).

use kernel::{Scope, Timestamp, TurnId, limits};
use prompt::derive::{Author, TurnClass, may_author, role};

use super::{Draft, Verb};
use crate::{
    command::Text,
    event::{Body, Effects, TurnSeeded, Visibility},
    rejection::Rejection,
    settings::AssistantFirst,
};

/// Appends an authored turn to the tail; answers its seq and id.
#[derive(Debug, Clone)]
pub struct WriteAuthored {
    pub turn: AuthoredTurn,
}

/// The turn to write.
#[derive(Debug, Clone)]
pub struct AuthoredTurn {
    pub author: Author,
    pub class: TurnClass,
    pub text: Text,
    pub effects: Effects,
    pub visibility: Visibility,
    /// When it was first said, as the caller claims.
    pub claimed_at: Option<Timestamp>,
    /// Where it comes from, in the caller's words; at most 200 characters, checked at the edge.
    pub origin: String,
    /// The session's provider refuses a history that the assistant begins.
    pub provider_wants_user_first: bool,
}

// === impl WriteAuthored ===

impl Verb for WriteAuthored {
    type Outcome = (u64, TurnId);

    fn decide(self, draft: &mut Draft<'_>) -> Result<(u64, TurnId), Rejection> {
        draft.existing()?;
        self.turn.write(draft)
    }
}

// === impl AuthoredTurn ===

impl AuthoredTurn {
    pub(super) fn write(self, draft: &mut Draft<'_>) -> Result<(u64, TurnId), Rejection> {
        self.permitted(draft)?;
        self.sensible(draft.envelope.now)?;
        draft.idle()?;
        self.fits(draft)?;
        let (seq, id) = draft.next_turn();
        draft.push(Body::TurnSeeded(TurnSeeded {
            seq,
            turn: id.clone(),
            text: self.text.into_string(),
            author: self.author,
            class: self.class,
            effects: self.effects,
            visibility: self.visibility,
            claimed_at: self.claimed_at,
            origin: self.origin,
            trust: draft.envelope.actor.tier,
        }))?;
        Ok((seq, id))
    }

    fn permitted(&self, draft: &Draft<'_>) -> Result<(), Rejection> {
        if self.author == Author::User {
            return Err(Rejection::AuthorNotInjectable);
        }
        if self.author == Author::System && self.class == TurnClass::Instruction {
            draft.has_scope(Scope::AuthorSystem)?;
        }
        Ok(())
    }

    fn sensible(&self, now: Timestamp) -> Result<(), Rejection> {
        let (author, class) = (self.author, self.class);
        if !may_author(author, class) {
            return Err(Rejection::ClassNotAllowed { author, class });
        }
        let Visibility { model, user, memory_eligible } = self.visibility;
        if !(model || user || memory_eligible) {
            return Err(Rejection::VisibleToNobody);
        }
        if memory_eligible && !model {
            return Err(Rejection::MemoryUnseen);
        }
        if self.effects == Effects::MemoryImport && !memory_eligible {
            return Err(Rejection::ImportIneligible);
        }
        let latest = now.plus_ms(limits::CLAIMED_TIME_AHEAD_MS_MAX);
        match self.claimed_at {
            Some(claimed) if claimed > latest => {
                Err(Rejection::ClaimedInFuture { claimed, latest })
            }
            _ => Ok(()),
        }
    }

    /// A history that the assistant would begin is refused where the session asks for that.
    fn fits(&self, draft: &Draft<'_>) -> Result<(), Rejection> {
        let refuses = draft.state.settings().assistant_first == AssistantFirst::Refuse
            && self.provider_wants_user_first;
        let begins = self.visibility.model
            && self.class == TurnClass::AssistantOutput
            && !draft
                .state
                .spoken()
                .iter()
                .any(|said| role(said.source) != prompt::Role::Assistant);
        if refuses && begins {
            return Err(Rejection::AssistantFirstUnsupported);
        }
        Ok(())
    }
}
