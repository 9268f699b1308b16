//! Defects of SillyTavern 1.19 that we do not share, each of which can be switched on to show what
//! it would have done.

/// All off: our semantics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Defects {
    /// An entry that two groups remove takes the last entry of the list along.
    pub double_group_removal: bool,
    /// An entry that one group removed takes part in its next group and can win it.
    pub losers_win_again: bool,
    /// A group counts as taken only where an earlier entry names it and no other group.
    pub exclusivity_by_whole_list: bool,
    /// Text of entries that the budget dropped is scanned in later passes.
    pub dropped_text_leaks: bool,
    /// An entry of 0 % fires on a roll of exactly 0.
    pub zero_percent_fires: bool,
    /// A key of white space matches every text.
    pub blank_keys_match: bool,
    /// Of the specification's decorators only `@@activate` and `@@dont_activate` have an effect.
    /// Takes effect when a world is compiled: [`super::CompiledWorld::with_defects`].
    pub decorators_dropped: bool,
}

// === impl Defects ===

impl Defects {
    /// Each defect alone, under its name.
    pub fn each() -> [(&'static str, Self); 7] {
        let off = Self::default();
        [
            ("double_group_removal", Self { double_group_removal: true, ..off }),
            ("losers_win_again", Self { losers_win_again: true, ..off }),
            ("exclusivity_by_whole_list", Self { exclusivity_by_whole_list: true, ..off }),
            ("dropped_text_leaks", Self { dropped_text_leaks: true, ..off }),
            ("zero_percent_fires", Self { zero_percent_fires: true, ..off }),
            ("blank_keys_match", Self { blank_keys_match: true, ..off }),
            ("decorators_dropped", Self { decorators_dropped: true, ..off }),
        ]
    }
}
