//! The ledger's rules, pure: events are the only truth, a state is their fold, a verb decides new events.
//!
//! [`decide()`] takes a state, an envelope (time, chance, identity, lease) and a verb, and answers the events
//! to append, the state after them and what to tell the caller, or the one [`Rejection`] that comes first.
//! Texts stay in the log; the state holds skeletons (20-ledger, sections 1 to 5).
//!
//! One turn, as a server drives it; each append is one transaction:
//!
//! 1. [`decide::Submit`] → append.
//! 2. Compile with [`State::spoken`], [`State::live_profile_keys`] and [`State::path_before`].
//! 3. [`decide::Land`] → its events, not appended yet. With the state after them: [`State::with_stamp`],
//!    read [`prompt::journal::needed`] texts, [`prompt::journal::render`], compare its marks with the
//!    previous request's ([`prompt::prefix::shared_prefix`]), [`decide::StampRequest`] with the same time →
//!    append the events of both.
//! 4. Stream; [`decide::Complete`], [`decide::Fail`] or [`decide::Abort`] → append.
//!
//! A retry whose owner died: [`decide::TakeOver`], then from 2. Every other verb closes a dead generation
//! by itself when [`Lease::Expired`] is in the envelope.

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
