//! The SillyTavern 1.19 macro engine: one text in, the expanded text and what was used out.

mod chance;
mod chat;
mod control;
mod environment;
mod expand;
mod expansion;
mod names_fields;
mod parse;
mod settings;
mod state;
mod table;
mod text;
mod time;
mod variables;

pub use environment::{Card, ChatLine, Environment, GroupMember, Limits, Quirks};
pub use expand::expand;
pub use expansion::{Code, DIAGNOSTIC_CHARS_MAX, DIAGNOSTICS_MAX, Diagnostic, Expansion, Field};
pub use state::{Scope, Variables};
