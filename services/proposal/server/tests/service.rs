//! The whole service through its door, between a ledger and a lorebook that do as a test tells them.

#[path = "service/crashes.rs"]
mod crashes;
#[path = "service/deciding.rs"]
mod deciding;
#[path = "service/judging.rs"]
mod judging;
#[path = "service/ledger.rs"]
mod ledger;
#[path = "service/lorebook.rs"]
mod lorebook;
#[path = "service/world.rs"]
mod world;
