//! Which lore a text brings up: SillyTavern 1.19's semantics without its defects.
//!
//! Books are interleaved by the candidate order; passes run over the messages, then over what
//! fired entries say. What differs from SillyTavern: `Defects`, decorators of the V3 specification
//! (`decorators`), and a world's own scan settings, which stand between an entry's and the request's;
//! the page for people is docs/lore.md.

mod blocks;
mod candidates;
mod chance;
mod compiled;
mod decorators;
mod defects;
mod diagnostic;
mod eligibility;
mod expander;
mod groups;
mod hits;
mod output;
mod request;
mod scan;
mod settings;
mod settle;
mod texts;
mod timed;
mod tokens;

pub use blocks::{Block, Place, blocks, by_order};
pub use candidates::{Source, SourceKind};
pub use chance::{Rolls, ScriptedRolls, SeededRolls};
pub use compiled::{CompiledEntry, CompiledWorld};
pub use decorators::Decorators;
pub use defects::Defects;
pub use diagnostic::{Code, Diagnostic, SkipReason, Skipped};
pub use expander::{Expander, MacroExpander, may_hold_macros};
pub use output::{Activated, Activation, Reason, Stats};
pub use request::{CharacterContext, Message, Request, TextSources};
pub use settings::{CandidateOrder, Settings};
pub use timed::{Effect, TimedState};
pub use tokens::{O200k, TokenCounter, Words};

use crate::matcher::HitCache;

/// What a scan works with.
pub struct Tools<'a> {
    pub expander: &'a mut dyn Expander,
    pub rolls: &'a mut dyn Rolls,
    pub tokens: &'a dyn TokenCounter,
    /// Remembers the keys of messages between requests.
    pub cache: Option<&'a HitCache>,
}

/// Activates the lore of the sources for a request.
///
/// Cost: one pass over the texts per world, then linear in the entries whose keys were found; with
/// patterns that need backtracking, at most `limits::REGEX_STEPS_MAX` steps more.
pub fn activate<'s>(
    request: &'s Request,
    sources: &'s [Source],
    tools: &mut Tools<'s>,
) -> Activation {
    scan::Scan::new(request, sources, tools).run(tools)
}
