//! The closed vocabularies of an entry, each with its stored name and its number in SillyTavern's format.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who owns a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The user's; no change can write it.
    Authored,
    /// Created by an applied change, laid over the authored rows.
    Dynamic,
}

/// What a dynamic row does to the authored layer (seed 004, section 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverlayAction {
    /// New lore, standing on its own.
    Add,
    /// Hides the row it supersedes and is injected instead.
    Replace,
    /// Hides the row it supersedes and says nothing.
    Suppress,
}

/// The speaker of lore placed at a depth.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum EntryRole {
    #[default]
    System,
    User,
    Assistant,
}

/// What kind of generation a scan is for (reference A1, `triggers`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GenerationType {
    #[default]
    Normal,
    Continue,
    Impersonate,
    Swipe,
    Regenerate,
    Quiet,
}

/// How secondary keys join in once a primary one matched (reference A7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SelectiveLogic {
    #[default]
    AndAny,
    NotAll,
    NotAny,
    AndAll,
    /// A number nobody defined, kept: with secondary keys the entry never matches.
    Unknown(i64),
}

/// Where the text of an entry goes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub enum Position {
    #[default]
    BeforeChar,
    AfterChar,
    /// Top of the author's note.
    AnTop,
    /// Bottom of the author's note.
    AnBottom,
    AtDepth,
    /// Before the dialogue examples.
    EmTop,
    /// After the dialogue examples.
    EmBottom,
    Outlet,
    /// A number nobody defined, kept: the entry activates and its text goes nowhere.
    Unknown(i64),
}

/// A stored name that no value of the vocabulary has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a known name")]
pub struct UnknownName(pub String);

// === impl Layer ===

impl Layer {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Authored => "authored",
            Self::Dynamic => "dynamic",
        }
    }
}

// === impl OverlayAction ===

impl OverlayAction {
    pub const ALL: [Self; 3] = [Self::Add, Self::Replace, Self::Suppress];

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Replace => "replace",
            Self::Suppress => "suppress",
        }
    }
}

// === impl EntryRole ===

impl EntryRole {
    /// The format's number.
    pub const fn number(self) -> i64 {
        match self {
            Self::System => 0,
            Self::User => 1,
            Self::Assistant => 2,
        }
    }

    pub const fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::System),
            1 => Some(Self::User),
            2 => Some(Self::Assistant),
            _ => None,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

// === impl GenerationType ===

impl GenerationType {
    pub const ALL: [Self; 6] = [
        Self::Normal,
        Self::Continue,
        Self::Impersonate,
        Self::Swipe,
        Self::Regenerate,
        Self::Quiet,
    ];

    /// The name that an entry's `triggers` list holds.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Continue => "continue",
            Self::Impersonate => "impersonate",
            Self::Swipe => "swipe",
            Self::Regenerate => "regenerate",
            Self::Quiet => "quiet",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

// === impl SelectiveLogic ===

impl SelectiveLogic {
    const NAMED: [(Self, &str); 4] = [
        (Self::AndAny, "and_any"),
        (Self::NotAll, "not_all"),
        (Self::NotAny, "not_any"),
        (Self::AndAll, "and_all"),
    ];

    /// The format's number.
    pub const fn number(self) -> i64 {
        match self {
            Self::AndAny => 0,
            Self::NotAll => 1,
            Self::NotAny => 2,
            Self::AndAll => 3,
            Self::Unknown(number) => number,
        }
    }

    pub const fn from_number(number: i64) -> Self {
        match number {
            0 => Self::AndAny,
            1 => Self::NotAll,
            2 => Self::NotAny,
            3 => Self::AndAll,
            other => Self::Unknown(other),
        }
    }
}

impl fmt::Display for SelectiveLogic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(&Self::NAMED, self, self.number(), f)
    }
}

impl TryFrom<String> for SelectiveLogic {
    type Error = UnknownName;
    fn try_from(name: String) -> Result<Self, UnknownName> {
        read_name(&Self::NAMED, &name, Self::from_number)
    }
}

impl From<SelectiveLogic> for String {
    fn from(logic: SelectiveLogic) -> Self {
        logic.to_string()
    }
}

// === impl Position ===

impl Position {
    const NAMED: [(Self, &str); 8] = [
        (Self::BeforeChar, "before_char"),
        (Self::AfterChar, "after_char"),
        (Self::AnTop, "an_top"),
        (Self::AnBottom, "an_bottom"),
        (Self::AtDepth, "at_depth"),
        (Self::EmTop, "em_top"),
        (Self::EmBottom, "em_bottom"),
        (Self::Outlet, "outlet"),
    ];

    /// The format's number.
    pub const fn number(self) -> i64 {
        match self {
            Self::BeforeChar => 0,
            Self::AfterChar => 1,
            Self::AnTop => 2,
            Self::AnBottom => 3,
            Self::AtDepth => 4,
            Self::EmTop => 5,
            Self::EmBottom => 6,
            Self::Outlet => 7,
            Self::Unknown(number) => number,
        }
    }

    pub const fn from_number(number: i64) -> Self {
        match number {
            0 => Self::BeforeChar,
            1 => Self::AfterChar,
            2 => Self::AnTop,
            3 => Self::AnBottom,
            4 => Self::AtDepth,
            5 => Self::EmTop,
            6 => Self::EmBottom,
            7 => Self::Outlet,
            other => Self::Unknown(other),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(&Self::NAMED, self, self.number(), f)
    }
}

impl TryFrom<String> for Position {
    type Error = UnknownName;
    fn try_from(name: String) -> Result<Self, UnknownName> {
        read_name(&Self::NAMED, &name, Self::from_number)
    }
}

impl From<Position> for String {
    fn from(position: Position) -> Self {
        position.to_string()
    }
}

// A value outside its vocabulary is named by its number: `unknown:9`.
fn write_name<T: PartialEq>(
    named: &[(T, &str)],
    value: &T,
    number: i64,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match named.iter().find(|(known, _)| known == value) {
        Some((_, name)) => f.write_str(name),
        None => write!(f, "unknown:{number}"),
    }
}

fn read_name<T: Copy>(
    named: &[(T, &str)],
    name: &str,
    from_number: fn(i64) -> T,
) -> Result<T, UnknownName> {
    let known = named.iter().find(|(_, known)| *known == name).map(|(value, _)| *value);
    known
        .or_else(|| Some(from_number(name.strip_prefix("unknown:")?.parse().ok()?)))
        .ok_or_else(|| UnknownName(name.to_owned()))
}
