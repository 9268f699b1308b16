//! What an expansion gives back: the text, and everything that the caller must know about it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Diagnostics kept of one expansion; the rest is counted.
pub const DIAGNOSTICS_MAX: usize = 64;
/// Characters of a macro that a diagnostic quotes.
pub const DIAGNOSTIC_CHARS_MAX: usize = 120;

/// The result of [`expand`](crate::expand).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expansion {
    pub text: String,
    /// The text depends on the clock, on chance or on the newest messages.
    pub volatile: bool,
    /// Ids of the messages whose text was read, in order of first use, each once.
    pub quotes: Vec<String>,
    /// Fields whose text was read into a value. A bare name in a condition (`{{if persona}}`) only asks.
    pub fields_used: BTreeSet<Field>,
    /// `{{original}}` was read.
    pub original_used: bool,
    /// In order of appearance, at most [`DIAGNOSTICS_MAX`].
    pub diagnostics: Vec<Diagnostic>,
    /// Diagnostics beyond the limit.
    pub diagnostics_omitted: usize,
}

/// A field that a macro can place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    Description,
    Personality,
    Scenario,
    /// The user's description.
    Persona,
    SystemPrompt,
    PostHistory,
    DepthPrompt,
    CreatorNotes,
    Version,
    MesExamples,
    Greeting,
}

/// A macro that did not do what it looks like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub code: Code,
    /// The macro as written, cut after [`DIAGNOSTIC_CHARS_MAX`] characters.
    pub macro_text: String,
    /// Byte offset of the macro in the text.
    pub offset: usize,
}

/// Stable reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// No macro of this name; left literal.
    MacroUnknown,
    /// Too few or too many arguments; left literal.
    MacroArity,
    /// An argument that the macro cannot use; left literal.
    MacroArgumentInvalid,
    /// Opened and never closed; left literal.
    MacroUnclosed,
    /// A closing tag without its opening; left literal.
    MacroStrayClosing,
    /// `{{original}}` outside of an override; left literal.
    MacroOriginalUnavailable,
    /// A value that could not be understood; the macro gives its empty or neutral value.
    MacroValueInvalid,
    /// The number of macros per text is used up; this and all later ones are left literal.
    MacroStepLimit,
    /// Nested too deeply; left literal.
    MacroDepthLimit,
    /// The bytes per text are used up; left literal.
    MacroOutputLimit,
    /// The variables are full; the write is refused and the macro left literal.
    MacroVariableLimit,
}

// === impl Code ===

impl Code {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MacroUnknown => "MACRO_UNKNOWN",
            Self::MacroArity => "MACRO_ARITY",
            Self::MacroArgumentInvalid => "MACRO_ARGUMENT_INVALID",
            Self::MacroUnclosed => "MACRO_UNCLOSED",
            Self::MacroStrayClosing => "MACRO_STRAY_CLOSING",
            Self::MacroOriginalUnavailable => "MACRO_ORIGINAL_UNAVAILABLE",
            Self::MacroValueInvalid => "MACRO_VALUE_INVALID",
            Self::MacroStepLimit => "MACRO_STEP_LIMIT",
            Self::MacroDepthLimit => "MACRO_DEPTH_LIMIT",
            Self::MacroOutputLimit => "MACRO_OUTPUT_LIMIT",
            Self::MacroVariableLimit => "MACRO_VARIABLE_LIMIT",
        }
    }
}
