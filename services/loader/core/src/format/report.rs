//! What an import did with a file: each thing recognised, repaired, ignored or not honoured.

use std::{collections::BTreeMap, fmt};

use kernel::limits::REPORT_FINDINGS_MAX;
use serde::{Deserialize, Serialize};

pub use crate::diagnostic::{Code, Fate};

/// One line of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub code: Code,
    /// Where in the document, as in `data.character_book.entries[3]`; empty for the file as a whole.
    pub path: String,
    pub message: String,
}

/// The findings of one import in the order of reading, bounded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Report {
    /// What the file is: `chara_card_v1`, `chara_card_v2`, `chara_card_v3`, `pygmalion`,
    /// `chat_completion_preset`, `user`, `personas`.
    pub format: String,
    /// How much of what: `prompts`, `greetings`, `entries`, `users`.
    pub counts: BTreeMap<String, u64>,
    pub findings: Vec<Finding>,
    /// How many more there were.
    pub omitted: usize,
}

// === impl Report ===

impl Report {
    /// Notes a finding under a code that says a fate.
    pub fn add(&mut self, code: Code, path: impl fmt::Display, message: impl Into<String>) {
        if self.findings.len() >= REPORT_FINDINGS_MAX {
            self.omitted += 1;
            return;
        }
        self.findings.push(Finding { code, path: path.to_string(), message: message.into() });
    }

    pub fn has(&self, code: Code) -> bool {
        self.findings.iter().any(|finding| finding.code == code)
    }

    pub fn count(&mut self, what: &str, number: usize) {
        self.counts.insert(what.to_owned(), number as u64);
    }

    /// Appends what another reading found; its format and counts are the later ones.
    pub fn extend(&mut self, other: Report) {
        if !other.format.is_empty() {
            self.format = other.format;
        }
        self.counts.extend(other.counts);
        self.omitted += other.omitted;
        for finding in other.findings {
            if self.findings.len() < REPORT_FINDINGS_MAX {
                self.findings.push(finding);
            } else {
                self.omitted += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_stops_growing_and_counts_the_rest() {
        let mut report = Report::default();
        for at in 0..REPORT_FINDINGS_MAX + 3 {
            report.add(Code::UnknownField, format_args!("x[{at}]"), "is not known");
        }
        assert_eq!((report.findings.len(), report.omitted), (REPORT_FINDINGS_MAX, 3));
    }
}
