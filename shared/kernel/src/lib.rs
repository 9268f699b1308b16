//! Nouns that several cores share: ids, time, limits, principals. Depends on nothing of ours.

pub mod clock;
pub mod hash;
pub mod id;
pub mod json_text;
pub mod limits;
pub mod name;
pub mod principal;
pub mod time;

pub use clock::{Clock, ManualClock, SystemClock};
pub use hash::{Digest, Salt, commit, digest, digest_parts, digest_parts_joined};
pub use id::*;
pub use json_text::{JsonText, Repair, json_text};
pub use principal::{Owner, Principal, Scope};
pub use time::Timestamp;
