//! A user's persona: strictly a name and a description (seed 001).

use kernel::limits;
use serde::{Deserialize, Serialize};

/// A persona whose fields are within their limits. Its id is the row's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Fields", into = "Fields")]
pub struct User {
    name: String,
    description: String,
}

/// Why a persona is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUser {
    #[error("name is empty")]
    NameEmpty,
    #[error("name has {0} characters, at most {max} are allowed", max = limits::USER_NAME_CHARS_MAX)]
    NameTooLong(usize),
    #[error("name holds a control character")]
    NameControl,
    #[error("description has {0} characters, at most {max} are allowed",
            max = limits::USER_DESCRIPTION_CHARS_MAX)]
    DescriptionTooLong(usize),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    name: String,
    #[serde(default)]
    description: String,
}

// === impl User ===

impl User {
    pub fn new(name: String, description: String) -> Result<Self, InvalidUser> {
        if name.trim().is_empty() {
            return Err(InvalidUser::NameEmpty);
        }
        let length = name.chars().count();
        if length > limits::USER_NAME_CHARS_MAX {
            return Err(InvalidUser::NameTooLong(length));
        }
        if name.chars().any(char::is_control) {
            return Err(InvalidUser::NameControl);
        }
        let length = description.chars().count();
        if length > limits::USER_DESCRIPTION_CHARS_MAX {
            return Err(InvalidUser::DescriptionTooLong(length));
        }
        Ok(Self { name, description })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn description(&self) -> &str {
        &self.description
    }
}

impl TryFrom<Fields> for User {
    type Error = InvalidUser;
    fn try_from(fields: Fields) -> Result<Self, InvalidUser> {
        Self::new(fields.name, fields.description)
    }
}

impl From<User> for Fields {
    fn from(user: User) -> Fields {
        Fields { name: user.name, description: user.description }
    }
}
