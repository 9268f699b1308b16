//! Why a file is refused: it breaks a limit, or it is not what it should be; always with the place.

use std::fmt;

/// Why a file cannot be imported; nothing of it is stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    #[error(transparent)]
    Unusable(#[from] Unusable),
}

/// The file is larger somewhere than is accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}, at most {limit} are allowed")]
pub struct LimitExceeded {
    pub place: String,
    /// What was measured, with the number found: "a string of 1048577 bytes".
    pub what: String,
    pub limit: usize,
}

/// The file is not what it was given as, or is damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct Unusable {
    /// A path in the document, a chunk of the picture, a member of the archive, or `file`.
    pub place: String,
    pub reason: String,
}

// === impl FormatError ===

impl FormatError {
    pub fn limit(place: impl fmt::Display, what: impl Into<String>, limit: usize) -> Self {
        LimitExceeded { place: place.to_string(), what: what.into(), limit }.into()
    }

    pub fn unusable(place: impl fmt::Display, reason: impl Into<String>) -> Self {
        Unusable { place: place.to_string(), reason: reason.into() }.into()
    }
}
