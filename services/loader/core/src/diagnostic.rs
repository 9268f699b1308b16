//! Everything that an import can say of a file and a compile of a profile: stable codes, what they
//! mean, what to do.
//!
//! Nothing is skipped, moved, cut or approximated without one of these. Codes of seed 001 keep their
//! names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

mod codes;

pub use codes::Code;

/// One thing that did not go as a file or a person may expect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub code: Code,
    /// A prompt identifier, a field, a world and entry; empty for the profile as a whole.
    pub place: String,
    /// Figures and names behind the sentence.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, String>,
}

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// As designed, and worth knowing.
    Info,
    /// Something was skipped, moved, cut or approximated.
    Warning,
    /// A part could not be used at all.
    Error,
}

/// What became, at import, of the thing that a finding names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Understood as written.
    Recognised,
    /// Understood after a correction; the original keeps what was written.
    Repaired,
    /// Kept in the original and never read.
    Ignored,
    /// Understood, kept, and without effect on any request.
    NotHonoured,
}

// === impl Severity ===

impl Severity {
    /// As the manual page and the stored form have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

// === impl Fate ===

impl Fate {
    /// As the manual page and the stored form have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recognised => "recognised",
            Self::Repaired => "repaired",
            Self::Ignored => "ignored",
            Self::NotHonoured => "not_honoured",
        }
    }
}

// === impl Diagnostic ===

impl Diagnostic {
    pub fn new(code: Code, place: impl Into<String>) -> Self {
        Self { code, place: place.into(), details: BTreeMap::new() }
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.details.insert(name.to_owned(), value.to_string());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_name_of_its_own_a_meaning_and_a_remedy() {
        let mut names = std::collections::BTreeSet::new();
        for code in Code::ALL {
            assert!(names.insert(code.name()), "{} twice", code.name());
            assert!(
                code.name()
                    .bytes()
                    .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
            );
            assert!(!code.meaning().is_empty() && !code.meaning().ends_with('.'));
            assert!(!code.remedy().is_empty() && !code.remedy().ends_with('.'));
        }
    }

    #[test]
    fn a_code_is_stored_under_its_stable_name() {
        let json = serde_json::to_string(&Code::TavernProfileLoreLimited).unwrap();
        assert_eq!(json, "\"TAVERN_PROFILE_LORE_LIMITED\"");
    }
}
