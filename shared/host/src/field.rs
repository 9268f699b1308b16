//! Fields of requests, read by the rules that all services share: what is malformed is named with what it holds.

use kernel::InvalidId;
use tonic::Status;

use crate::status::{invalid, over};

/// The value of an enum; a number that is none of its values is refused, never taken for another one.
pub fn known<E: TryFrom<i32>>(field: &str, number: i32) -> Result<E, Status> {
    E::try_from(number)
        .map_err(|_| invalid(field, format!("is {number}, which is none of its values")))
}

/// What a text is as an id.
pub fn id<T>(field: &str, read: Result<T, InvalidId>) -> Result<T, Status> {
    read.map_err(|why| match why {
        InvalidId::TooLong(chars) => over(field, chars, "characters", kernel::limits::ID_CHARS_MAX),
        why => invalid(field, why.to_string()),
    })
}

/// Refuses a text with more characters than a field holds.
pub fn chars(field: &str, text: &str, most: usize) -> Result<(), Status> {
    at_most(field, text.chars().count(), "characters", most)
}

/// Refuses more of something than a field holds.
pub fn at_most(field: &str, found: usize, unit: &str, most: usize) -> Result<(), Status> {
    if found > most { Err(over(field, found, unit, most)) } else { Ok(()) }
}

/// A name that a caller gives, for lists, prompts and logs: bounded, and without control characters.
pub fn name(field: &str, name: &str, most: usize) -> Result<(), Status> {
    chars(field, name, most)?;
    match name.chars().find(|c| c.is_control()) {
        None => Ok(()),
        Some(found) => {
            Err(invalid(field, format!("has the control character U+{:04X}", u32::from(found))))
        }
    }
}

/// Refuses a number that is no number.
pub fn finite(field: &str, number: f64) -> Result<f64, Status> {
    match number.is_finite() {
        true => Ok(number),
        false => Err(invalid(field, format!("is {number}, which is no finite number"))),
    }
}

/// Refuses a field that only answers set.
pub fn output_only(field: &str, is_set: bool) -> Result<(), Status> {
    match is_set {
        true => Err(invalid(field, "is set, which only answers do")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use kernel::SessionId;
    use tonic::Code;
    use tonic_types::StatusExt as _;
    use wire::common::v1::Author;

    use super::*;

    #[track_caller]
    fn refused<T: std::fmt::Debug>(read: Result<T, Status>, code: Code, message: &str) -> Status {
        let status = read.expect_err(message);
        assert_eq!((status.code(), status.message()), (code, message));
        status
    }

    #[test]
    fn a_number_that_an_enum_does_not_know_is_named() {
        assert_eq!(known("author", 1).ok(), Some(Author::User));
        let why = "author is 99, which is none of its values";
        refused(known::<Author>("author", 99), Code::InvalidArgument, why);
    }

    #[test]
    fn a_limit_is_told_with_its_unit_and_to_programs() {
        let why = "title has 3 characters, at most 2 are allowed";
        let status = refused(chars("title", "öhm", 2), Code::ResourceExhausted, why);
        let details = status.get_error_details();
        let facts = &details.error_info().expect("an info").metadata;
        assert_eq!((facts["limit"].as_str(), facts["value"].as_str()), ("2", "3"));
        let why = "session_id has 201 characters, at most 200 are allowed";
        refused(id("session_id", SessionId::new("s".repeat(201))), Code::ResourceExhausted, why);
        refused(id("a", SessionId::new("")), Code::InvalidArgument, "a is empty");
    }

    #[test]
    fn a_name_has_no_control_characters() {
        assert!(name("name", "Мира", 4).is_ok());
        let why = "name has the control character U+001B";
        refused(name("name", "a\u{1b}[31m", 99), Code::InvalidArgument, why);
    }

    #[test]
    fn a_number_is_finite() {
        assert_eq!(finite("top_p", 0.5).ok(), Some(0.5));
        let why = "top_p is NaN, which is no finite number";
        refused(finite("top_p", f64::NAN), Code::InvalidArgument, why);
    }
}
