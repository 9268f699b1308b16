//! What an import did to each field, told by place; equal findings are counted, not repeated.

use std::collections::HashMap;

use kernel::limits::BOOK_FINDINGS_MAX;
use serde::{Deserialize, Serialize};

/// Characters of a path that a finding shows.
const PATH_CHARS_MAX: usize = 300;

/// What happened to a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// Taken as it is.
    Recognised,
    /// Taken in another form than the file's; the detail says how.
    Coerced,
    /// Without effect; unknown fields are kept for the export all the same.
    Ignored,
    /// Absent; the field has the default of a newly created entry.
    Defaulted,
}

/// One thing that was found, once or many times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub kind: FindingKind,
    /// JSON path of its first occurrence: `$.entries.3.probability`.
    pub path: String,
    pub detail: String,
    /// Occurrences in the same field of other entries included.
    pub count: u32,
}

/// Everything found in one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub findings: Vec<Finding>,
    /// Findings beyond [`BOOK_FINDINGS_MAX`].
    pub omitted: u64,
    #[serde(skip)]
    known: HashMap<(FindingKind, String, String), usize>,
}

/// Where in the file a reader is: `base` is exact, `family` is the same for all entries.
#[derive(Debug, Clone)]
pub struct Place {
    pub base: String,
    pub family: &'static str,
}

// === impl Report ===

impl Report {
    pub fn add(&mut self, kind: FindingKind, at: &Place, field: &str, detail: impl Into<String>) {
        let detail = detail.into();
        let key = (kind, format!("{}.{field}", at.family), detail);
        if let Some(&known) = self.known.get(&key) {
            self.findings[known].count += 1;
            return;
        }
        if self.findings.len() >= BOOK_FINDINGS_MAX {
            self.omitted += 1;
            return;
        }
        let mut path = match field {
            "" => at.base.clone(),
            field => format!("{}.{field}", at.base),
        };
        if let Some((end, _)) = path.char_indices().nth(PATH_CHARS_MAX) {
            path.truncate(end);
        }
        self.findings.push(Finding { kind, path, detail: key.2.clone(), count: 1 });
        self.known.insert(key, self.findings.len() - 1);
    }

    pub fn count(&self, kind: FindingKind) -> u64 {
        self.findings.iter().filter(|f| f.kind == kind).map(|f| u64::from(f.count)).sum()
    }
}

// === impl Place ===

impl Place {
    pub fn root() -> Self {
        Self::at("$".to_owned(), "$")
    }

    pub fn at(base: String, family: &'static str) -> Self {
        Self { base, family }
    }
}
