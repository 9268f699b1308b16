//! What a scan answers.

use kernel::{EntryId, WorldId};

use super::{Diagnostic, Skipped, TimedState, candidates::Candidate, compiled::CompiledWorld};
use crate::vocabulary::{EntryRole, Layer, Position};

/// The lore of a request and how it came about.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Activation {
    /// In the order of activation. `blocks` puts them in the order of the text.
    pub entries: Vec<Activated>,
    /// The revision of each world that took part.
    pub worlds: Vec<(WorldId, u64)>,
    /// With reasons, if the request asks for them; in candidate order.
    pub skipped: Vec<Skipped>,
    pub diagnostics: Vec<Diagnostic>,
    pub timed: TimedState,
    pub stats: Stats,
}

/// An entry that fired.
#[derive(Debug, Clone, PartialEq)]
pub struct Activated {
    pub world: WorldId,
    pub entry: EntryId,
    /// The number that the file knows it by.
    pub uid: i64,
    pub name: String,
    pub layer: Layer,
    pub reason: Reason,
    /// The primary key that matched, then every secondary and additional one that did.
    pub matched_keys: Vec<String>,
    /// After macros; empty text is in no block.
    pub text: String,
    pub position: Position,
    pub depth: u32,
    pub role: EntryRole,
    pub order: f64,
    pub outlet: String,
    pub tokens: u32,
    /// The pass in which it fired, from 1.
    pub pass: u32,
    /// The text depends on the clock, on chance or on the newest messages.
    pub volatile: bool,
    /// Ids of the messages that its macros quoted.
    pub quotes: Vec<String>,
}

/// Why an entry fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// `@@activate`.
    Decorator,
    /// By the request.
    Forced,
    Constant,
    Sticky,
    Key,
}

/// The cost of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    pub candidates: u32,
    pub passes: u32,
    /// Tokens that lore was allowed to take.
    pub budget_tokens: u64,
    pub used_tokens: u64,
    /// The budget was used up.
    pub overflowed: bool,
    pub regex_steps_left: u64,
}

// === impl Activated ===

impl Activated {
    pub(super) fn new(
        world: &CompiledWorld,
        candidate: Candidate<'_>,
        (reason, matched_keys): (Reason, Vec<String>),
        expansion: macros::Expansion,
        (tokens, pass): (u32, u32),
    ) -> Self {
        let compiled = candidate.compiled;
        let body = &compiled.entry.body;
        Self {
            world: world.world.id.clone(),
            entry: compiled.entry.id.clone(),
            uid: compiled.entry.uid,
            name: body.comment.clone(),
            layer: compiled.entry.layer,
            reason,
            matched_keys,
            text: expansion.text,
            position: compiled.position(),
            depth: compiled.depth(),
            role: compiled.role(),
            order: body.order,
            outlet: body.outlet_name.clone(),
            tokens,
            pass,
            volatile: expansion.volatile,
            quotes: expansion.quotes,
        }
    }
}

// === impl Reason ===

impl Reason {
    /// The stable name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Decorator => "DECORATOR",
            Self::Forced => "FORCED",
            Self::Constant => "CONSTANT",
            Self::Sticky => "STICKY",
            Self::Key => "KEY",
        }
    }
}
