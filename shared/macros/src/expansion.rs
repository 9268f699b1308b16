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

macro_rules! codes {
    ($($variant:ident $name:literal $meaning:literal;)*) => {
        /// Stable reasons.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Code {
            $(
                #[doc = $meaning]
                #[serde(rename = $name)]
                $variant,
            )*
        }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// A sentence for a person.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

codes! {
    MacroUnknown "MACRO_UNKNOWN"
        "no macro of this name; it stays as written";
    MacroArity "MACRO_ARITY"
        "too few or too many arguments; it stays as written";
    MacroArgumentInvalid "MACRO_ARGUMENT_INVALID"
        "an argument that the macro cannot use; it stays as written";
    MacroUnclosed "MACRO_UNCLOSED"
        "opened and never closed; it stays as written";
    MacroStrayClosing "MACRO_STRAY_CLOSING"
        "a closing tag without its opening; it stays as written";
    MacroOriginalUnavailable "MACRO_ORIGINAL_UNAVAILABLE"
        "{{original}} outside of an override; it stays as written";
    MacroValueInvalid "MACRO_VALUE_INVALID"
        "a value that cannot be understood; the macro gives its empty or neutral value";
    MacroStepLimit "MACRO_STEP_LIMIT"
        "the number of macros per text is used up; this and all later ones stay as written";
    MacroDepthLimit "MACRO_DEPTH_LIMIT"
        "nested too deeply; it stays as written";
    MacroOutputLimit "MACRO_OUTPUT_LIMIT"
        "the bytes per text are used up; it stays as written";
    MacroVariableLimit "MACRO_VARIABLE_LIMIT"
        "the variables are full; the write is refused and the macro stays as written";
}
