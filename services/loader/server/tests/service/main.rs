//! The loader through its RPCs: a served loader on SQLite, and a lorebook that the tests script.

mod bindings;
mod characters;
mod exports;
mod house;
mod lorebook;
mod presets;
mod profiles;
mod selections;
mod users;
