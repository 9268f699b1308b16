//! What a session has bound, and which worlds take part through it (30-loader, section 2).

use kernel::{
    CharacterId, PresetId, UserId, WorldId,
    limits::{TURN_BYTES_MAX, WORLDS_PER_OWNER_MAX},
};
use prompt::Role;
use serde::{Deserialize, Serialize};

mod effective;

pub use effective::{BindingSource, Bindings, EffectiveWorld, effective_worlds};

/// A session's selection. Which of its resources exist is for the store to say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selection {
    pub preset: Option<PresetId>,
    pub character: Option<CharacterId>,
    pub user: Option<UserId>,
    /// Of this session alone, in order, without repetition; at most 100.
    pub worlds: Worlds,
    pub options: Options,
    pub rp: Rp,
}

/// A list of worlds as one owner names them: stably without repetition, at most 100.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<WorldId>", into = "Vec<WorldId>")]
pub struct Worlds(Vec<WorldId>);

/// More worlds than one owner may name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("holds {0} worlds, at most {WORLDS_PER_OWNER_MAX} are allowed")]
pub struct TooManyWorlds(pub usize);

/// How the selection's parts are used.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// 0 is the first message, n the nth alternate greeting.
    pub greeting_index: u32,
    pub ignore_character_system_prompt: bool,
    pub ignore_character_post_history: bool,
    pub activation: Activation,
    pub authors_note: Option<AuthorsNote>,
}

/// How lore activates (reference A2); what is `None` is for worlds and shipped defaults to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Activation {
    pub scan_depth: Option<u32>,
    pub budget_percent: Option<u32>,
    pub budget_cap: Option<u32>,
    pub include_names: Option<bool>,
    pub recursive: Option<bool>,
    pub max_recursion_steps: Option<u32>,
    pub case_sensitive: Option<bool>,
    pub match_whole_words: Option<bool>,
    pub use_group_scoring: Option<bool>,
    pub min_activations: Option<u32>,
    pub min_activations_depth_max: Option<u32>,
    /// 0 evenly, 1 character first, 2 global first.
    pub character_strategy: Option<u32>,
    pub unicode_words: Option<bool>,
}

/// The session's author's note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorsNote {
    /// At most a turn's bytes.
    pub text: String,
    /// Messages from the end.
    pub depth: u32,
    pub role: Role,
    pub position: NotePosition,
    /// Sent on each nth user message; 0 is never.
    pub interval: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotePosition {
    /// In the chat at its depth.
    #[default]
    InChat,
    AfterMain,
    BeforeMain,
}

/// The role-play overlay of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Rp {
    pub active: bool,
    pub source: Option<RpSource>,
    pub follow_suppressed: bool,
    pub sandbox_before: Option<Sandbox>,
}

/// What switched role-play on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RpSource {
    Command,
    CharacterFollow,
}

/// What the host allowed before role-play.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
}

/// A part of a selection; a running session refuses to have it changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Preset,
    /// The character, how its card is used, the author's note and role-play.
    Character,
    User,
    /// The worlds and how their lore activates.
    Worlds,
}

// === impl Worlds ===

impl Worlds {
    pub fn new(ids: impl IntoIterator<Item = WorldId>) -> Result<Self, TooManyWorlds> {
        let mut worlds: Vec<WorldId> = Vec::new();
        for id in ids {
            if !worlds.contains(&id) {
                worlds.push(id);
            }
            if worlds.len() > WORLDS_PER_OWNER_MAX {
                return Err(TooManyWorlds(worlds.len()));
            }
        }
        Ok(Self(worlds))
    }

    pub fn as_slice(&self) -> &[WorldId] {
        &self.0
    }
}

impl TryFrom<Vec<WorldId>> for Worlds {
    type Error = TooManyWorlds;
    fn try_from(ids: Vec<WorldId>) -> Result<Self, TooManyWorlds> {
        Self::new(ids)
    }
}

impl From<Worlds> for Vec<WorldId> {
    fn from(worlds: Worlds) -> Vec<WorldId> {
        worlds.0
    }
}

// === impl Selection ===

impl Selection {
    /// The first part that differs from `new`.
    pub fn changed_part(&self, new: &Selection) -> Option<Part> {
        let (old_options, new_options) = (&self.options, &new.options);
        if self.preset != new.preset {
            Some(Part::Preset)
        } else if self.character != new.character {
            Some(Part::Character)
        } else if self.user != new.user {
            Some(Part::User)
        } else if self.worlds != new.worlds || old_options.activation != new_options.activation {
            Some(Part::Worlds)
        } else if old_options != new_options || self.rp != new.rp {
            Some(Part::Character)
        } else {
            None
        }
    }
}

// === impl Rp ===

impl Rp {
    /// What an owner's sessions are told in role-play as long as the owner says nothing else.
    pub const POLICY_DEFAULT: &'static str = "Role-play is on in this conversation. Operations with a \
        high risk, such as writing files, running commands or fetching from the network, are locked \
        while it lasts: do not attempt them.";
}

// === impl AuthorsNote ===

impl AuthorsNote {
    pub const DEPTH_DEFAULT: u32 = 4;
    pub const INTERVAL_DEFAULT: u32 = 1;
    pub const BYTES_MAX: usize = TURN_BYTES_MAX;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(number: usize) -> WorldId {
        WorldId::new(format!("w{number}")).expect("is an id")
    }

    #[test]
    fn worlds_lose_repetitions_before_they_are_counted() {
        let twice = (0..100).chain(0..100).map(world);
        assert_eq!(Worlds::new(twice).map(|worlds| worlds.as_slice().len()), Ok(100));
        assert_eq!(Worlds::new((0..101).map(world)), Err(TooManyWorlds(101)));
    }

    #[test]
    fn the_first_changed_part_is_named() {
        let old = Selection::default();
        let check = |change: fn(&mut Selection), expected| {
            let mut new = old.clone();
            change(&mut new);
            assert_eq!(old.changed_part(&new), expected);
        };
        check(|_| {}, None);
        check(|s| s.preset = PresetId::new("p").ok(), Some(Part::Preset));
        check(|s| s.user = UserId::new("u").ok(), Some(Part::User));
        check(|s| s.options.activation.recursive = Some(true), Some(Part::Worlds));
        check(|s| s.options.greeting_index = 1, Some(Part::Character));
        check(|s| s.rp.active = true, Some(Part::Character));
    }
}
