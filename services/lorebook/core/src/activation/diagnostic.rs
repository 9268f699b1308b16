//! What a scan has to say beside its lore: every code is stable.

use kernel::{EntryId, WorldId};

use crate::{codes::codes, projection::LeftOut};

/// Something that did not do what its author may have meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub code: Code,
    pub world: Option<WorldId>,
    pub entry: Option<EntryId>,
    /// For people: the key, the group, the number it is about.
    pub detail: String,
}

/// Why an entry did not fire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub world: WorldId,
    pub entry: EntryId,
    pub reason: SkipReason,
}

codes! {
    /// The diagnostics of activation.
    Code {
        BudgetExceeded "LORE_BUDGET_EXCEEDED"
            "the token budget is used up; this entry is left out";
        WorldBudgetExceeded "LORE_WORLD_BUDGET_EXCEEDED"
            "the world's own token budget is used up; this entry is left out";
        KeyBytesLimit "LORE_KEY_BYTES_LIMIT"
            "the world's keys hold more bytes than are compiled; so many keys match nothing";
        ExpandedKeyBytesLimit "LORE_EXPANDED_KEY_BYTES_LIMIT"
            "keys with macros expand to more bytes than one scan compiles; so many match nothing";
        KeyExpansionsLimit "LORE_KEY_EXPANSIONS_LIMIT"
            "lore wrote variables in more passes than keys with macros are read anew; they keep what they read last";
        PassesLimit "LORE_PASSES_LIMIT"
            "as many entries were looked at, over all passes, as one scan may; it ended";
        RegexInvalid "LORE_REGEX_INVALID"
            "a key between slashes is no pattern and counts as plain text";
        RegexStepsExhausted "LORE_REGEX_STEPS_EXHAUSTED"
            "the patterns of this request used up their steps; this one counts as not matched";
        KeyBlank "LORE_KEY_BLANK"
            "a key of nothing but white space, or of nothing; it matches nothing";
        DecoratorIgnored "LORE_DECORATOR_IGNORED"
            "a decorator line without effect";
        GroupTaken "LORE_GROUP_TAKEN"
            "the entry matched, but its group was taken in an earlier pass";
        PositionUnknown "LORE_POSITION_UNKNOWN"
            "the position is none of the eight; the text goes nowhere";
        OutletUnnamed "LORE_OUTLET_UNNAMED"
            "an outlet entry names no outlet; the text goes nowhere";
        ForcedUnknown "LORE_FORCED_UNKNOWN"
            "an id to be forced names no entry of the worlds";
        WorldDisabled "WORLD_BOOK_DISABLED"
            "the world is switched off; it takes no part";
        RuntimeTotalLimit "WORLD_BOOK_RUNTIME_TOTAL_LIMIT"
            "the world would take the entries of the request over their limit; it is not scanned";
        Macro "LORE_MACRO"
            "a macro in a key or a content did not do what it looks like; the detail begins with the macro engine's code";
    }
}

codes! {
    /// The reasons for which an entry does not fire.
    SkipReason {
        Archived "ARCHIVED" "a retired overlay row";
        Disabled "DISABLED" "switched off";
        Marker "MARKER" "a row that hides another and says nothing itself";
        Hidden "HIDDEN" "a live overlay row hides it";
        Trigger "TRIGGER" "not for this type of generation";
        CharacterFilter "CHARACTER_FILTER" "not for this character";
        Delay "DELAY" "the chat has too few messages yet";
        Cooldown "COOLDOWN" "it fired a short while ago";
        DelayUntilRecursion "DELAY_UNTIL_RECURSION"
            "waits for a recursion pass, or for a later level of it";
        ExcludedFromRecursion "EXCLUDED_FROM_RECURSION" "does not fire in recursion passes";
        DontActivate "DONT_ACTIVATE" "its decorator keeps it from firing";
        NoKeys "NO_KEYS" "has no keys";
        PrimaryMiss "PRIMARY_MISS" "none of its keys is in the text";
        SecondaryMiss "SECONDARY_MISS" "its secondary keys do not fit their logic";
        AdditionalMiss "ADDITIONAL_MISS" "none of its decorator's keys is in the text";
        ExcludedHit "EXCLUDED_HIT" "one of the keys that its decorator excludes is in the text";
        GroupLost "GROUP_LOST" "another member of one of its groups went ahead";
        Probability "PROBABILITY" "it lost its roll";
        Budget "BUDGET" "the tokens were used up";
    }
}

// === impl SkipReason ===

impl From<LeftOut> for SkipReason {
    fn from(why: LeftOut) -> Self {
        match why {
            LeftOut::Archived => Self::Archived,
            LeftOut::Disabled => Self::Disabled,
            LeftOut::Marker => Self::Marker,
            LeftOut::Hidden => Self::Hidden,
        }
    }
}

// === impl Diagnostic ===

impl Diagnostic {
    pub fn of_world(code: Code, world: &WorldId, detail: impl Into<String>) -> Self {
        Self { code, world: Some(world.clone()), entry: None, detail: detail.into() }
    }

    pub fn of_entry(
        code: Code,
        world: &WorldId,
        entry: &EntryId,
        detail: impl Into<String>,
    ) -> Self {
        let (world, entry) = (Some(world.clone()), Some(entry.clone()));
        Self { code, world, entry, detail: detail.into() }
    }
}
