//! Skald as its callers meet it: worlds to test in, clients, and words for what a test does.

pub mod cards;
pub mod clients;
pub mod job;
pub mod observed;
pub mod postgres;
pub mod process;
pub mod races;
pub mod recording;
pub mod script;
pub mod sent;
pub mod sqlite;
pub mod stage;
pub mod told;
pub mod waiting;
pub mod world;

/// Everything a test file names.
pub mod prelude {
    pub use tonic::{Code, Status};
    pub use wire::{
        common::v1 as common, ledger::v1 as ledger, loader::v1 as loader, lorebook::v1 as lorebook,
        proposal::v1 as proposal,
    };

    pub use crate::{
        clients::{Clients, Refused as _, reason},
        job::{self, Cast, MODES},
        recording::Recording,
        sent::Sent,
        stage::Stage,
        told::Told,
        waiting::eventually,
        world::{Plan, World},
    };
}
