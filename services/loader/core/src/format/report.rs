//! What an import did with a file: each thing recognised, repaired, ignored or not honoured.

use std::{collections::BTreeMap, fmt};

use kernel::limits::REPORT_FINDINGS_MAX;
use serde::{Deserialize, Serialize};

/// What became of the thing that a finding names.
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

/// One line of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub fate: Fate,
    pub code: String,
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

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal $fate:ident;)*) => {
        /// Every finding an import can make; the name is stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[$doc])* $variant,)* }

        impl Code {
            pub const ALL: &[Code] = &[$(Self::$variant,)*];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            pub const fn fate(self) -> Fate {
                match self { $(Self::$variant => Fate::$fate,)* }
            }
        }
    };
}

codes! {
    /// The file's kind and version.
    FormatRecognised = "FORMAT_RECOGNISED" Recognised;
    /// The card holds a book that can run.
    EmbeddedWorldBook = "EMBEDDED_WORLD_BOOK" Recognised;

    /// What the lorebook says of the card's book; the message begins with its code.
    EmbeddedWorldBookFinding = "EMBEDDED_WORLD_BOOK_FINDING" Repaired;
    /// The text was not UTF-8, or began with a byte order mark.
    EncodingRepaired = "ENCODING_REPAIRED" Repaired;
    /// Half of a surrogate pair stood alone in a string.
    LoneSurrogate = "LONE_SURROGATE" Repaired;
    /// An object names a key twice; the last one counts.
    RepeatedKey = "REPEATED_KEY" Repaired;
    /// The base64 text is unpadded, url-safe or holds other characters.
    Base64Repaired = "BASE64_REPAIRED" Repaired;
    /// The chunk holds the JSON itself instead of its base64.
    PlainChunk = "PLAIN_CARD_CHUNK" Repaired;
    /// A card chunk cannot be read, a later or older one can.
    CardChunkUnreadable = "CARD_CHUNK_UNREADABLE" Repaired;
    /// Bytes stand before the archive, as in a JPEG with a card behind it.
    ArchivePrefix = "ARCHIVE_PREFIX" Repaired;
    /// The value has another type than the format says, and a clear meaning.
    ValueCoerced = "VALUE_COERCED" Repaired;
    /// The card or preset has no name: the file's is taken.
    NameFromFile = "NAME_FROM_FILE" Repaired;
    /// The card does not say which specification it follows, or one that is not known.
    SpecUnknown = "SPEC_UNKNOWN" Repaired;
    /// A field stands at the root instead of under `data`.
    FieldAtRoot = "FIELD_AT_ROOT" Repaired;
    /// A key of an older or foreign form was read.
    OldKey = "OLD_KEY" Repaired;
    /// A prompt has no identifier: one was made from its place.
    PromptIdentifierMade = "PROMPT_IDENTIFIER_MADE" Repaired;
    /// Only the order for character 100000 exists and is used; SillyTavern would use its own default.
    PromptOrderFallback = "PROMPT_ORDER_FALLBACK" Repaired;

    /// Bytes behind the end of the picture.
    TrailingBytes = "TRAILING_BYTES" Ignored;
    /// A further card chunk beside the one that was read.
    FurtherCardChunk = "FURTHER_CARD_CHUNK" Ignored;
    /// The value has a type without a clear meaning; the default is taken.
    ValueUnusable = "VALUE_UNUSABLE" Ignored;
    /// A field at the root says something else than its namesake under `data`.
    RootCopyDiffers = "ROOT_COPY_DIFFERS" Ignored;
    /// No known field: kept in the original.
    UnknownField = "UNKNOWN_FIELD" Ignored;
    /// The prompt stands in no order and is never sent.
    PromptNotInOrder = "PROMPT_NOT_IN_ORDER" Ignored;
    /// A second prompt of one identifier.
    PromptRepeated = "PROMPT_REPEATED" Ignored;
    /// The order names a prompt that does not exist, or names one twice.
    OrderEntryUnusable = "ORDER_ENTRY_UNUSABLE" Ignored;
    /// A persona that has neither a usable name nor a description.
    PersonaUnusable = "PERSONA_UNUSABLE" Ignored;

    /// The embedded book is kept and does not run.
    EmbeddedWorldBookInvalid = "EMBEDDED_WORLD_BOOK_INVALID" NotHonoured;
    /// Notes of the author are kept and never sent.
    CreatorNotesNotSent = "CREATOR_NOTES_NOT_SENT" NotHonoured;
    /// Addresses, keys and headers of a model connection are kept and never used.
    ConnectionNotHonoured = "CONNECTION_NOT_HONOURED" NotHonoured;
    /// A setting of the client's behaviour or of a provider is kept and has no effect.
    SettingNotHonoured = "SETTING_NOT_HONOURED" NotHonoured;
    /// A script or extension travels with the file and is never run.
    ExtensionNotHonoured = "EXTENSION_NOT_HONOURED" NotHonoured;
    /// The card points at a book by its name; worlds are bound by id.
    WorldLinkNotHonoured = "WORLD_LINK_NOT_HONOURED" NotHonoured;
    /// Pictures and other assets are kept and shown to nobody.
    AssetsNotHonoured = "ASSETS_NOT_HONOURED" NotHonoured;
    /// The persona's place in the prompt, its book and its connections are not taken over.
    PersonaPlacementNotHonoured = "PERSONA_PLACEMENT_NOT_HONOURED" NotHonoured;
}

// === impl Report ===

impl Report {
    pub fn add(&mut self, code: Code, path: impl fmt::Display, message: impl Into<String>) {
        if self.findings.len() >= REPORT_FINDINGS_MAX {
            self.omitted += 1;
            return;
        }
        self.findings.push(Finding {
            fate: code.fate(),
            code: code.name().to_owned(),
            path: path.to_string(),
            message: message.into(),
        });
    }

    pub fn has(&self, code: Code) -> bool {
        self.findings.iter().any(|finding| finding.code == code.name())
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

    #[test]
    fn no_two_codes_share_a_name() {
        let names: std::collections::BTreeSet<_> =
            Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
    }
}
