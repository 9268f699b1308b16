//! The loader through its RPCs: a served loader on SQLite, and a lorebook that the tests script.

mod bindings;
mod books;
mod characters;
mod deletions;
mod edits;
mod exports;
mod guard;
mod house;
mod lorebook;
mod owners;
mod presets;
mod profiles;
mod selections;
mod templates;
mod users;
