//! Files that people bring: explained, checked against limits, and kept as they are.
//!
//! Format modules decide nothing about requests (seed 001). Each `read` gives a typed model and a
//! report of everything that was recognised, repaired, ignored or will not be honoured.

pub mod card;
pub mod error;
pub mod persona;
pub mod preset;
pub mod report;

mod base64;
mod charx;
mod fields;
mod guard;
mod png;

pub use error::{FormatError, LimitExceeded, Unusable};
pub use guard::read_json;
pub use kernel::name::stem;
pub use report::{Code, Fate, Finding, Report};

use prompt::Role;

use fields::Fields;

/// A role as files spell it; `model` is what Google's tools call the assistant.
fn role_named(fields: &mut Fields, key: &str, report: &mut Report) -> Option<Role> {
    let role = fields.text(key, report)?;
    match role.trim().to_ascii_lowercase().as_str() {
        "system" | "0" => Some(Role::System),
        "user" | "1" => Some(Role::User),
        "assistant" | "2" => Some(Role::Assistant),
        "model" => {
            report.add(Code::ValueCoerced, fields.path(key), "is \"model\": read as assistant");
            Some(Role::Assistant)
        }
        "" => None,
        _ => {
            let role: String = role.chars().take(40).collect();
            let message = format!("is {role:?}, no known role: the default is taken");
            report.add(Code::ValueUnusable, fields.path(key), message);
            None
        }
    }
}
