//! What a scan has to say beside its lore: every code is stable.

use kernel::{EntryId, WorldId};

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

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$about])* $variant,)* }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The stable name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

codes! {
    /// The diagnostics of activation.
    Code {
        /// The token budget is used up; this entry is left out.
        BudgetExceeded = "LORE_BUDGET_EXCEEDED",
        /// The world's own token budget is used up; this entry is left out.
        WorldBudgetExceeded = "LORE_WORLD_BUDGET_EXCEEDED",
        /// The world's keys hold more bytes than are compiled; so many keys match nothing.
        KeyBytesLimit = "LORE_KEY_BYTES_LIMIT",
        /// Keys with macros expand to more bytes than one scan compiles; so many match nothing.
        ExpandedKeyBytesLimit = "LORE_EXPANDED_KEY_BYTES_LIMIT",
        /// A key between slashes is no pattern and counts as plain text.
        RegexInvalid = "LORE_REGEX_INVALID",
        /// The step limit of patterns is reached; this key counts as not matched.
        RegexStepsExhausted = "LORE_REGEX_STEPS_EXHAUSTED",
        /// A key of white space; it matches nothing.
        KeyBlank = "LORE_KEY_BLANK",
        /// A decorator line without effect.
        DecoratorIgnored = "LORE_DECORATOR_IGNORED",
        /// The entry matched, but its group was taken in an earlier pass.
        GroupTaken = "LORE_GROUP_TAKEN",
        /// The position is none of the eight; the text goes nowhere.
        PositionUnknown = "LORE_POSITION_UNKNOWN",
        /// An outlet entry names no outlet; the text goes nowhere.
        OutletUnnamed = "LORE_OUTLET_UNNAMED",
        /// An id to be forced names no entry of the worlds.
        ForcedUnknown = "LORE_FORCED_UNKNOWN",
        /// The world would take the entries of the request over their limit and is left out.
        RuntimeTotalLimit = "WORLD_BOOK_RUNTIME_TOTAL_LIMIT",
        /// A macro in a key or a content; the detail names the macro engine's code.
        Macro = "LORE_MACRO",
    }
}

codes! {
    /// The reasons for which an entry does not fire.
    SkipReason {
        Disabled = "DISABLED",
        Trigger = "TRIGGER",
        CharacterFilter = "CHARACTER_FILTER",
        Delay = "DELAY",
        Cooldown = "COOLDOWN",
        /// Waits for a recursion pass, or for a later level of it.
        DelayUntilRecursion = "DELAY_UNTIL_RECURSION",
        ExcludedFromRecursion = "EXCLUDED_FROM_RECURSION",
        DontActivate = "DONT_ACTIVATE",
        NoKeys = "NO_KEYS",
        PrimaryMiss = "PRIMARY_MISS",
        SecondaryMiss = "SECONDARY_MISS",
        AdditionalMiss = "ADDITIONAL_MISS",
        /// Another member of one of its groups went ahead.
        GroupLost = "GROUP_LOST",
        Probability = "PROBABILITY",
        Budget = "BUDGET",
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
