//! Typed identifiers: one that exists is well formed, and one kind cannot stand in for another.
//!
//! A resource id is 1 to 200 characters: an ASCII letter or digit, then letters, digits or `._:-`
//! (seed 001, session ids). Tenants, subjects and request ids are 1 to 200 visible ASCII characters.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{hash, limits::ID_CHARS_MAX};

/// Why a text is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    #[error("is empty")]
    Empty,
    #[error("is {0} characters long, at most {ID_CHARS_MAX} are allowed")]
    TooLong(usize),
    #[error("has the character {0:?} at position {1}, which an identifier may not hold")]
    Character(char, usize),
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident: $check:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Accepts a text that is a well-formed identifier of this kind.
            pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidId> {
                $check(text.as_ref())?;
                Ok(Self(text.as_ref().into()))
            }

            /// The same parts give the same id for ever, so that a create decides by its primary key.
            pub fn derived(parts: &[&str]) -> Self {
                Self::from(derive(stringify!($name), parts))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id.hyphenated().to_string().into())
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    )*};
}

ids! {
    /// A conversation.
    SessionId: resource;
    /// One entry of a session's history.
    TurnId: resource;
    /// One reply in a slot.
    AlternativeId: resource;
    /// The lease under which a reply is produced.
    GenerationId: resource;
    /// A chat-completion preset.
    PresetId: resource;
    /// A character card.
    CharacterId: resource;
    /// A user persona.
    UserId: resource;
    /// A named selection projection.
    TemplateId: resource;
    /// A lorebook.
    WorldId: resource;
    /// One entry of a world.
    EntryId: resource;
    /// One change of a world's History.
    ChangeId: resource;
    /// A set of proposed operations on one world.
    ChangesetId: resource;
    /// The record of one model call that judged a finished turn.
    EvaluationId: resource;
    /// A job of the ledger's work queue.
    JobId: resource;
    /// Who shares one policy, one quota and one set of grants.
    TenantId: visible;
    /// Whose rows they are, within a tenant.
    Subject: visible;
    /// The caller's name for one attempt at a write.
    RequestId: visible;
}

fn resource(text: &str) -> Result<(), InvalidId> {
    let allowed = |c: char, at| c.is_ascii_alphanumeric() || (at > 0 && "._:-".contains(c));
    check(text, allowed)
}

fn visible(text: &str) -> Result<(), InvalidId> {
    check(text, |c, _| c.is_ascii_graphic())
}

fn check(text: &str, allowed: impl Fn(char, usize) -> bool) -> Result<(), InvalidId> {
    let length = text.chars().count();
    if length == 0 {
        return Err(InvalidId::Empty);
    }
    if length > ID_CHARS_MAX {
        return Err(InvalidId::TooLong(length));
    }
    match text.chars().enumerate().find(|&(at, c)| !allowed(c, at)) {
        Some((at, c)) => Err(InvalidId::Character(c, at)),
        None => Ok(()),
    }
}

fn derive(kind: &str, parts: &[&str]) -> Uuid {
    let all: Vec<&[u8]> =
        std::iter::once(kind.as_bytes()).chain(parts.iter().map(|p| p.as_bytes())).collect();
    let digest = hash::digest_parts(&all);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_bytes()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<(), InvalidId>) {
        assert_eq!(SessionId::new(text).map(|_| ()), expected);
    }

    #[test]
    fn an_ordinary_id_is_accepted() {
        check("chat-1.a:b_c".replace('_', "-").as_str(), Ok(()));
    }

    #[test]
    fn an_empty_id_is_refused() {
        check("", Err(InvalidId::Empty));
    }

    #[test]
    fn a_prototype_key_is_refused() {
        check("__proto__", Err(InvalidId::Character('_', 0)));
    }

    #[test]
    fn two_hundred_characters_are_the_most() {
        check(&"a".repeat(200), Ok(()));
        check(&"a".repeat(201), Err(InvalidId::TooLong(201)));
    }

    #[test]
    fn derived_ids_depend_on_kind_and_on_where_parts_end() {
        assert_eq!(SessionId::derived(&["a", "b"]), SessionId::derived(&["a", "b"]));
        assert_ne!(SessionId::derived(&["a", "b"]), SessionId::derived(&["ab", ""]));
        assert_ne!(SessionId::derived(&["a"]).as_str(), TurnId::derived(&["a"]).as_str());
    }
}
