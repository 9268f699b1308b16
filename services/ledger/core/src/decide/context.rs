//! Adding context: a keyed section, a batch of them, or a message at the tail.

use prompt::derive::Tier;

use super::{Draft, Verb};
use crate::{
    command::{Key, Text},
    event::{Body, ContextAdded, Keyed},
    rejection::Rejection,
};

/// One add.
#[derive(Debug, Clone)]
pub struct AddContext {
    /// None: a message at the tail.
    pub key: Option<Key>,
    pub content: Text,
}

/// A prompt file's sections, in file order; all or nothing.
#[derive(Debug, Clone)]
pub struct AddSections {
    pub sections: Vec<(Key, Text)>,
}

/// What became of an add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Added {
    /// The event, or the occurrence that holds this content already.
    pub offset: u64,
    pub unchanged: bool,
}

// === impl AddContext ===

impl Verb for AddContext {
    type Outcome = Added;

    fn decide(self, draft: &mut Draft<'_>) -> Result<Added, Rejection> {
        draft.existing()?;
        if let Some(key) = &self.key {
            draft.may_key(key)?;
        }
        draft.close_expired()?;
        match self.key {
            Some(key) => draft.add_section(&key, self.content),
            None => draft.add_fact(self.content),
        }
    }
}

// === impl AddSections ===

impl Verb for AddSections {
    type Outcome = Vec<Added>;

    fn decide(self, draft: &mut Draft<'_>) -> Result<Vec<Added>, Rejection> {
        draft.existing()?;
        for (key, _) in &self.sections {
            draft.may_key(key)?;
        }
        draft.close_expired()?;
        let sections = self.sections.into_iter();
        sections.map(|(key, content)| draft.add_section(&key, content)).collect()
    }
}

// === impl Draft ===

impl Draft<'_> {
    /// Who may add a key may rewrite it: not an agent, and nobody in the loader's namespaces.
    pub(super) fn may_key(&self, key: &Key) -> Result<(), Rejection> {
        let tier = self.envelope.actor.tier;
        if tier == Tier::Agent {
            return Err(Rejection::TierMayNotKey(tier));
        }
        if key.is_reserved() {
            return Err(Rejection::KeyReserved(key.as_str().to_owned()));
        }
        Ok(())
    }

    /// A key belongs to the tier that first added it.
    pub(super) fn owns(&self, key: &Key) -> Result<(), Rejection> {
        match self.state.newest(key.as_str(), false) {
            Some(newest) if newest.owner > self.envelope.actor.tier => {
                Err(Rejection::KeyOwned { key: key.as_str().to_owned(), owner: newest.owner })
            }
            _ => Ok(()),
        }
    }

    fn add_section(&mut self, key: &Key, content: Text) -> Result<Added, Rejection> {
        self.owns(key)?;
        let newest = self.state.newest(key.as_str(), false);
        let same = newest.filter(|newest| {
            newest.content.is_some_and(|held| held.commitment.is_to(content.as_str()))
        });
        if let Some(same) = same {
            return Ok(Added { offset: same.offset, unchanged: true });
        }
        let placed = self.state.place(key.as_str(), false);
        let keyed = Keyed {
            key: key.to_arc(),
            place: placed.place,
            supersedes: placed.supersedes,
            owner: newest.map_or(self.envelope.actor.tier, |newest| newest.owner),
            profile: None,
            quotes: vec![],
        };
        self.add(content, Some(keyed))
    }

    fn add_fact(&mut self, content: Text) -> Result<Added, Rejection> {
        self.add(content, None)
    }

    fn add(&mut self, content: Text, keyed: Option<Keyed>) -> Result<Added, Rejection> {
        let actor = &self.envelope.actor;
        let (tier, label) = (actor.tier, actor.label().into());
        let content = Some(content.into_string());
        let body = ContextAdded { content, tier, actor: label, keyed };
        let offset = self.push(Body::ContextAdded(body))?;
        Ok(Added { offset, unchanged: false })
    }
}
