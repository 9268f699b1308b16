//! The one table of an entry's fields: their names in each format, and typed doors to their values.
//!
//! Import, export, masks, patches and diffs all walk this table, so a field that is in it is lost nowhere.

use serde_json::Value;

use crate::entry::{CharacterFilter, EntryBody, EntryRole, Position, SelectiveLogic};

/// One field of an entry.
pub struct Field {
    /// Its stored name, which masks and patches use too.
    pub name: &'static str,
    /// Its name in SillyTavern's World Info.
    pub native: &'static str,
    pub card: CardHome,
    pub slot: Slot,
    /// Neither its value nor its absence changes what the lore says.
    pub display: bool,
}

/// Where a `character_book` entry keeps a field (reference A3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardHome {
    Entry(&'static str),
    Extensions(&'static str),
}

/// The type of a field with the way in and out.
#[derive(Clone, Copy)]
pub enum Slot {
    Text(Door<String>),
    List(Door<Vec<String>>),
    Flag(Door<bool>),
    /// True in our form where the format says false, and the other way round.
    Inverted(Door<bool>),
    MaybeFlag(Door<Option<bool>>),
    Number(Door<f64>),
    Count(Door<u32>),
    MaybeCount(Door<Option<u32>>),
    MaybeIndex(Door<Option<i64>>),
    Level(Door<u32>),
    Logic(Door<SelectiveLogic>),
    Position(Door<Position>),
    Role(Door<EntryRole>),
    Filter(Door<Option<CharacterFilter>>),
}

/// Read and write access to one field.
pub struct Door<T> {
    pub get: fn(&EntryBody) -> &T,
    pub get_mut: fn(&mut EntryBody) -> &mut T,
}

macro_rules! field {
    ($slot:ident $name:ident $native:literal $home:ident $card:literal $($display:ident)?) => {
        Field {
            name: stringify!($name),
            native: $native,
            card: CardHome::$home($card),
            slot: Slot::$slot(Door { get: |body| &body.$name, get_mut: |body| &mut body.$name }),
            display: field!(@display $($display)?),
        }
    };
    (@display display) => { true };
    (@display) => { false };
}

/// Every field of an entry but `extensions` and `extra`, in the order in which SillyTavern writes them.
pub static FIELDS: [Field; 41] = [
    field!(List keys "key" Entry "keys"),
    field!(List secondary_keys "keysecondary" Entry "secondary_keys"),
    field!(Text comment "comment" Entry "comment"),
    field!(Text content "content" Entry "content"),
    field!(Flag constant "constant" Entry "constant"),
    field!(Flag vectorized "vectorized" Extensions "vectorized"),
    field!(Flag selective "selective" Entry "selective"),
    field!(Logic selective_logic "selectiveLogic" Extensions "selectiveLogic"),
    field!(Flag add_memo "addMemo" Extensions "add_memo" display),
    field!(Number order "order" Entry "insertion_order"),
    field!(Position position "position" Extensions "position"),
    field!(Inverted enabled "disable" Entry "enabled"),
    field!(Flag ignore_budget "ignoreBudget" Extensions "ignore_budget"),
    field!(Flag exclude_recursion "excludeRecursion" Extensions "exclude_recursion"),
    field!(Flag prevent_recursion "preventRecursion" Extensions "prevent_recursion"),
    field!(Level delay_until_recursion "delayUntilRecursion" Extensions "delay_until_recursion"),
    field!(Flag match_persona_description "matchPersonaDescription" Extensions "match_persona_description"),
    field!(Flag match_character_description "matchCharacterDescription" Extensions "match_character_description"),
    field!(Flag match_character_personality "matchCharacterPersonality" Extensions "match_character_personality"),
    field!(Flag match_character_depth_prompt "matchCharacterDepthPrompt" Extensions "match_character_depth_prompt"),
    field!(Flag match_scenario "matchScenario" Extensions "match_scenario"),
    field!(Flag match_creator_notes "matchCreatorNotes" Extensions "match_creator_notes"),
    field!(Number probability "probability" Extensions "probability"),
    field!(Flag use_probability "useProbability" Extensions "useProbability"),
    field!(Count depth "depth" Extensions "depth"),
    field!(Role role "role" Extensions "role"),
    field!(Text outlet_name "outletName" Extensions "outlet_name"),
    field!(Text group "group" Extensions "group"),
    field!(Flag group_override "groupOverride" Extensions "group_override"),
    field!(Number group_weight "groupWeight" Extensions "group_weight"),
    field!(MaybeCount scan_depth "scanDepth" Extensions "scan_depth"),
    field!(MaybeFlag case_sensitive "caseSensitive" Extensions "case_sensitive"),
    field!(MaybeFlag match_whole_words "matchWholeWords" Extensions "match_whole_words"),
    field!(MaybeFlag use_group_scoring "useGroupScoring" Extensions "use_group_scoring"),
    field!(Text automation_id "automationId" Extensions "automation_id"),
    field!(MaybeCount sticky "sticky" Extensions "sticky"),
    field!(MaybeCount cooldown "cooldown" Extensions "cooldown"),
    field!(MaybeCount delay "delay" Extensions "delay"),
    field!(List triggers "triggers" Extensions "triggers"),
    field!(MaybeIndex display_index "displayIndex" Extensions "display_index" display),
    field!(Filter character_filter "characterFilter" Extensions "character_filter"),
];

/// The field that masks and patches call `name`.
pub fn by_name(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name == name)
}

/// A number as JSON writes it: without a fraction where it has none.
pub fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53, just checked")]
        return Value::from(value as i64);
    }
    Value::from(value)
}

// === impl Field ===

impl Field {
    /// The name inside a card's entry or its extensions.
    pub fn card_name(&self) -> &'static str {
        match self.card {
            CardHome::Entry(name) | CardHome::Extensions(name) => name,
        }
    }

    pub fn in_extensions(&self) -> bool {
        matches!(self.card, CardHome::Extensions(_))
    }

    pub fn copy(&self, from: &EntryBody, to: &mut EntryBody) {
        self.slot.copy(from, to);
    }

    pub fn equal(&self, left: &EntryBody, right: &EntryBody) -> bool {
        self.slot.write(left) == self.slot.write(right)
    }
}

// === impl Door ===

impl<T> Clone for Door<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Door<T> {}

impl<T: Clone> Door<T> {
    fn copy(self, from: &EntryBody, to: &mut EntryBody) {
        *(self.get_mut)(to) = (self.get)(from).clone();
    }
}

// === impl Slot ===

impl Slot {
    fn copy(self, from: &EntryBody, to: &mut EntryBody) {
        match self {
            Self::Text(door) => door.copy(from, to),
            Self::List(door) => door.copy(from, to),
            Self::Flag(door) | Self::Inverted(door) => door.copy(from, to),
            Self::MaybeFlag(door) => door.copy(from, to),
            Self::Number(door) => door.copy(from, to),
            Self::Count(door) | Self::Level(door) => door.copy(from, to),
            Self::MaybeCount(door) => door.copy(from, to),
            Self::MaybeIndex(door) => door.copy(from, to),
            Self::Logic(door) => door.copy(from, to),
            Self::Position(door) => door.copy(from, to),
            Self::Role(door) => door.copy(from, to),
            Self::Filter(door) => door.copy(from, to),
        }
    }

    /// The value as SillyTavern's format writes it; `Inverted` is left as ours.
    pub fn write(self, body: &EntryBody) -> Value {
        match self {
            Self::Text(door) => Value::from((door.get)(body).as_str()),
            Self::List(door) => Value::from((door.get)(body).clone()),
            Self::Flag(door) | Self::Inverted(door) => Value::from(*(door.get)(body)),
            Self::MaybeFlag(door) => Value::from(*(door.get)(body)),
            Self::Number(door) => number(*(door.get)(body)),
            Self::Count(door) | Self::Level(door) => Value::from(*(door.get)(body)),
            Self::MaybeCount(door) => Value::from(*(door.get)(body)),
            Self::MaybeIndex(door) => Value::from(*(door.get)(body)),
            Self::Logic(door) => Value::from((door.get)(body).number()),
            Self::Position(door) => Value::from((door.get)(body).number()),
            Self::Role(door) => Value::from((door.get)(body).number()),
            Self::Filter(door) => write_filter((door.get)(body).as_ref()),
        }
    }
}

fn write_filter(filter: Option<&CharacterFilter>) -> Value {
    match filter {
        None => Value::Null,
        Some(filter) => serde_json::json!({
            "isExclude": filter.is_exclude,
            "names": filter.names,
            "tags": filter.tags,
        }),
    }
}
