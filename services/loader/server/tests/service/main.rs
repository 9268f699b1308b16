//! The loader through its RPCs: a served loader on SQLite, and a lorebook that the tests script.

mod bindings;
mod characters;
mod house;
mod presets;
mod profiles;
mod selections;
mod users;
