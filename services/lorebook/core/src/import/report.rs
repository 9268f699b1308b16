//! What an import did to the fields of a file: one finding for each field and fate, counted over all entries.

use std::collections::HashMap;

use kernel::limits::BOOK_FINDINGS_MAX;
use serde::{Deserialize, Serialize};

use crate::codes::codes;

/// Places that a finding names.
pub const PLACES_MAX: usize = 3;
/// Characters of a path that a finding shows.
const PATH_CHARS_MAX: usize = 300;

codes! {
    /// What became of a field.
    Code {
        FormatTranslated "FORMAT_TRANSLATED"
            "the file is of another program; its entries are read as World Info";
        EncodingRepaired "ENCODING_REPAIRED"
            "the text was not UTF-8, or began with a byte order mark";
        LoneSurrogate "LONE_SURROGATE"
            "half of a surrogate pair stood alone in a string; it became a replacement character";
        FieldDefaulted "FIELD_DEFAULTED"
            "absent, or says nothing; the field has the default of the file's form";
        FieldRespelled "FIELD_RESPELLED"
            "taken from another spelling or place than the format's own";
        ValueCoerced "VALUE_COERCED"
            "the value has another type than the format says, and a clear meaning";
        ValueUnknown "VALUE_UNKNOWN"
            "the value is outside of its vocabulary";
        NumberMade "NUMBER_MADE"
            "the entry has no number of its own, or one that is taken; it got a free one";
        FieldWithoutEffect "FIELD_WITHOUT_EFFECT"
            "the field is understood and changes nothing";
        ValueUnusable "VALUE_UNUSABLE"
            "the value has no clear meaning; the default is taken";
        UnknownField "UNKNOWN_FIELD"
            "no known field; it stays with the entry for the export";
        RepeatedKey "REPEATED_KEY"
            "an object names a key twice; the last one counts";
        EntryUnusable "ENTRY_UNUSABLE"
            "no object, so no entry; it is left out";
    }
}

/// One thing that was found, once or many times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub code: Code,
    /// The fields it is about, each with its occurrences: one, but for `FieldDefaulted`.
    pub fields: Vec<(String, u32)>,
    /// JSON paths of the first occurrences, `$.entries.3.probability`, at most [`PLACES_MAX`].
    pub places: Vec<String>,
    /// What was found at the first place.
    pub detail: String,
}

/// Everything found in one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub findings: Vec<Finding>,
    /// Findings beyond [`BOOK_FINDINGS_MAX`].
    pub omitted: u64,
    #[serde(skip)]
    known: HashMap<(Code, String), usize>,
}

/// Where in the file a reader is: `base` is exact, `family` is the same for all entries.
#[derive(Debug, Clone)]
pub struct Place {
    pub base: String,
    pub family: &'static str,
}

// === impl Report ===

impl Report {
    /// Adds an occurrence; `field` is empty for an entry or the file as a whole.
    pub fn add(&mut self, code: Code, at: &Place, field: &str, detail: impl Into<String>) {
        let key = match code {
            Code::FieldDefaulted => (code, at.family.to_owned()),
            _ => (code, format!("{}.{field}", at.family)),
        };
        if let Some(&known) = self.known.get(&key) {
            self.findings[known].again(at, field);
        } else if self.findings.len() < BOOK_FINDINGS_MAX {
            self.known.insert(key, self.findings.len());
            let mut finding =
                Finding { code, fields: Vec::new(), places: Vec::new(), detail: detail.into() };
            finding.again(at, field);
            self.findings.push(finding);
        } else {
            self.omitted += 1;
        }
    }
}

// === impl Finding ===

impl Finding {
    /// Occurrences in all.
    pub fn count(&self) -> u64 {
        self.fields.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    fn again(&mut self, at: &Place, field: &str) {
        match self.fields.iter_mut().find(|(known, _)| known == field) {
            Some((_, count)) => *count += 1,
            None => self.fields.push((field.to_owned(), 1)),
        }
        if self.places.len() < PLACES_MAX {
            let is_of_entry = field.is_empty() || self.code == Code::FieldDefaulted;
            let mut path =
                if is_of_entry { at.base.clone() } else { format!("{}.{field}", at.base) };
            if let Some((end, _)) = path.char_indices().nth(PATH_CHARS_MAX) {
                path.truncate(end);
            }
            if self.places.last() != Some(&path) {
                self.places.push(path);
            }
        }
    }
}

// === impl Code ===

impl Code {
    /// Something of the file has no effect, or perhaps another one than its author meant.
    pub const fn is_warning(self) -> bool {
        match self {
            Self::FormatTranslated
            | Self::EncodingRepaired
            | Self::LoneSurrogate
            | Self::FieldDefaulted
            | Self::FieldRespelled
            | Self::ValueCoerced
            | Self::NumberMade
            | Self::FieldWithoutEffect => false,
            Self::ValueUnknown
            | Self::ValueUnusable
            | Self::UnknownField
            | Self::RepeatedKey
            | Self::EntryUnusable => true,
        }
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
