//! The ledger's rules, pure: events are the only truth, a state is their fold, a verb decides new events.
//!
//! `decide(&state, &envelope, verb)` answers the events to append, the state after them and what to tell
//! the caller, or the one [`Rejection`] that comes first. Time, chance, identity and the lease are
//! arguments; texts stay in the log, the state holds skeletons (20-ledger, sections 1 to 5).

pub mod actor;
pub mod chain;
pub mod command;
pub mod decide;
pub mod event;
pub mod rejection;
pub mod settings;
pub mod state;
pub mod tagged;

pub use actor::{Actor, Claim};
pub use chain::{Damage, Head, verify};
pub use decide::{Decision, Envelope, Lease, Verb, decide};
pub use event::{Body, Event, Kind, Record};
pub use rejection::Rejection;
pub use settings::Settings;
pub use state::State;
