//! The loader through its RPCs: a served loader on SQLite, and a lorebook that the tests script.

#[path = "service/bindings.rs"]
mod bindings;
#[path = "service/characters.rs"]
mod characters;
#[path = "service/house.rs"]
mod house;
#[path = "service/presets.rs"]
mod presets;
#[path = "service/profiles.rs"]
mod profiles;
#[path = "service/selections.rs"]
mod selections;
#[path = "service/users.rs"]
mod users;
