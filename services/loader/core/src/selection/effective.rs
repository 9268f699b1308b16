//! The worlds of a request: every source in order, each world once, all its sources kept.

use kernel::WorldId;
use serde::{Deserialize, Serialize};

use super::Selection;

/// Why a world takes part, in order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BindingSource {
    Session,
    User,
    Preset,
    Character,
    Global,
    /// The book inside the character's card.
    Embedded,
}

/// The worlds attached to what a session has selected; those of other resources are not here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bindings {
    pub user: Vec<WorldId>,
    pub preset: Vec<WorldId>,
    pub character: Vec<WorldId>,
    pub global: Vec<WorldId>,
    /// The running copy of the card's book.
    pub embedded: Option<WorldId>,
}

/// A world that takes part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectiveWorld {
    pub id: WorldId,
    /// Never empty; the first decides the world's place among SillyTavern's candidates.
    pub sources: Vec<BindingSource>,
}

/// Session, user, preset, character, global, embedded: in this order, stably without repetition.
pub fn effective_worlds(selection: &Selection, bindings: &Bindings) -> Vec<EffectiveWorld> {
    let sources: [(BindingSource, &[WorldId]); 6] = [
        (BindingSource::Session, selection.worlds.as_slice()),
        (BindingSource::User, &bindings.user),
        (BindingSource::Preset, &bindings.preset),
        (BindingSource::Character, &bindings.character),
        (BindingSource::Global, &bindings.global),
        (BindingSource::Embedded, bindings.embedded.as_slice()),
    ];
    let mut effective: Vec<EffectiveWorld> = Vec::new();
    for (source, ids) in sources {
        for id in ids {
            match effective.iter_mut().find(|world| world.id == *id) {
                Some(world) if world.sources.contains(&source) => {}
                Some(world) => world.sources.push(source),
                None => effective.push(EffectiveWorld { id: id.clone(), sources: vec![source] }),
            }
        }
    }
    effective
}

// === impl BindingSource ===

impl BindingSource {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::User => "user",
            Self::Preset => "preset",
            Self::Character => "character",
            Self::Global => "global",
            Self::Embedded => "embedded",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::Worlds;

    fn ids(names: &str) -> Vec<WorldId> {
        names.split_whitespace().map(|name| WorldId::new(name).expect("is an id")).collect()
    }

    #[test]
    fn each_world_comes_once_at_its_first_source_and_keeps_all_of_them() {
        let worlds = Worlds::new(ids("b a")).expect("are few");
        let selection = Selection { worlds, ..Selection::default() };
        let bindings = Bindings {
            user: ids("c a"),
            preset: ids("d"),
            character: ids("c e"),
            global: ids("f b"),
            embedded: ids("g").pop(),
        };
        let shown: Vec<_> = effective_worlds(&selection, &bindings)
            .into_iter()
            .map(|world| {
                let sources: Vec<_> = world.sources.iter().map(|source| source.name()).collect();
                format!("{}:{}", world.id, sources.join("+"))
            })
            .collect();
        let expected = [
            "b:session+global",
            "a:session+user",
            "c:user+character",
            "d:preset",
            "e:character",
            "f:global",
            "g:embedded",
        ];
        assert_eq!(shown, expected);
    }
}
