//! What a finished turn may have changed: the judging call, the rules for its answer, and decisions on it.
//!
//! The model proposes, the user decides, lorebook writes. This crate owns the model's three verbs and the
//! caps; the rules of the stored operations are lorebook's, which decides on every application.

pub mod catalogue;
pub mod changeset;
pub mod diff;
pub mod evaluation;
pub mod judge;
pub mod operation;
pub mod stage;
pub mod validate;
pub mod world;

pub use catalogue::{Catalogue, catalogue};
pub use changeset::{Application, Changeset, Judged, LeftOut, Source};
pub use evaluation::{Evaluation, JudgedTurn, Judgement, Outcome, Rejected};
pub use judge::{Exchange, Room};
pub use operation::{Kind, Operation};
pub use stage::{Stage, Transition};
pub use validate::validate;
pub use world::{Layer, Overlay, Row, World};
