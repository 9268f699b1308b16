//! What enters a model request and why: presets, cards and personas, typed, and one pure compile.

pub mod character;
pub mod compile;
pub mod diagnostic;
pub mod format;
pub mod preset;
pub mod selection;
pub mod user;

pub use character::Character;
pub use preset::Preset;
pub use selection::Selection;
pub use user::User;
