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
pub use report::{Code, Fate, Finding, Report};

use prompt::Role;

use fields::Fields;

/// A file's name without folders and without its extension; `None` if nothing is left.
pub fn stem(file_name: &str) -> Option<&str> {
    let name = file_name.rsplit(['/', '\\']).next().unwrap_or(file_name);
    let stem = match name.rsplit_once('.') {
        Some((stem, extension)) if extension.len() <= 5 && !extension.contains(' ') => stem,
        _ => name,
    };
    Some(stem.trim()).filter(|stem| !stem.is_empty())
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file_name: &str, expected: Option<&str>) {
        assert_eq!(stem(file_name), expected);
    }

    #[test]
    fn a_stem_has_no_folders_and_no_extension() {
        check("cards/Ann Lee.png", Some("Ann Lee"));
        check(r"C:\cards\Ann.v2.json", Some("Ann.v2"));
        check("Dr. Ann", Some("Dr. Ann"));
        check(" .json", None);
        check("", None);
    }
}
