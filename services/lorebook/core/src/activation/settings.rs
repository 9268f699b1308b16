//! The global settings of a scan (reference A2).

use crate::matcher::{MatchMode, WordBoundary};

/// Whose order candidates follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CandidateOrder {
    /// Session, then user, then character and global entries sorted together.
    Evenly,
    /// Session, user, character, global: SillyTavern's default.
    #[default]
    CharacterFirst,
    /// Session, user, global, character.
    GlobalFirst,
    /// World after world as the sources come, never interleaved (seed 001).
    PerWorld,
}

/// What holds where neither an entry nor its world says otherwise. The defaults are those of
/// SillyTavern's shipped settings: recursion and whole words are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Messages scanned, newest first.
    pub scan_depth: u32,
    /// Entries wanted at the least: the scan goes deeper until there are so many; 0 = off.
    pub min_activations: u32,
    /// How deep that may go; 0 = to the first message.
    pub min_activations_depth_max: u32,
    /// Percent of the context tokens that lore may take.
    pub budget_percent: u32,
    /// Tokens that lore may take at the most; 0 = no cap.
    pub budget_cap: u32,
    /// The speaker's name belongs to the scanned text.
    pub include_names: bool,
    pub recursive: bool,
    pub case_sensitive: bool,
    pub match_whole_words: bool,
    pub word_boundary: WordBoundary,
    pub use_group_scoring: bool,
    pub order: CandidateOrder,
    /// Passes at the most, the first included, so 1 means no recursion; 0 = no limit.
    pub max_recursion_steps: u32,
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            scan_depth: 2,
            min_activations: 0,
            min_activations_depth_max: 0,
            budget_percent: 25,
            budget_cap: 0,
            include_names: true,
            recursive: true,
            case_sensitive: false,
            match_whole_words: true,
            word_boundary: WordBoundary::Ascii,
            use_group_scoring: false,
            order: CandidateOrder::CharacterFirst,
            max_recursion_steps: 0,
        }
    }
}

impl Settings {
    /// How plain keys are matched where entries and worlds leave it open.
    pub fn match_mode(&self) -> MatchMode {
        MatchMode {
            case_sensitive: self.case_sensitive,
            whole_words: self.match_whole_words,
            words: self.word_boundary,
        }
    }

    /// Tokens that lore may take out of so many; at least one.
    pub fn budget(&self, context_tokens: u32) -> u64 {
        let share = u64::from(self.budget_percent) * u64::from(context_tokens);
        let budget = ((share + 50) / 100).max(1);
        if self.budget_cap > 0 { budget.min(u64::from(self.budget_cap)) } else { budget }
    }
}
