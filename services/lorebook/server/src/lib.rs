//! The lorebook service: worlds, their entries and their History behind gRPC.

pub mod store;
