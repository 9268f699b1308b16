//! One statement with its arguments, which either database binds in its own way.

use kernel::Owner;

/// A statement about to run.
#[derive(Debug, Clone)]
pub(super) struct Statement {
    pub sql: &'static str,
    pub arguments: Vec<Argument>,
}

#[derive(Debug, Clone)]
pub(super) enum Argument {
    Text(String),
    Number(Option<i64>),
    Bytes(Option<Vec<u8>>),
    /// A list: PostgreSQL has arrays for it, SQLite has JSON.
    Numbers(Vec<i64>),
    Texts(Vec<String>),
}

/// Both databases count in signed numbers.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

// === impl Statement ===

impl Statement {
    pub(super) fn new(sql: &'static str) -> Self {
        Self { sql, arguments: Vec::new() }
    }

    pub(super) fn bind(mut self, argument: impl Into<Argument>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Binds a tenant and a subject.
    pub(super) fn of(self, owner: &Owner) -> Self {
        self.bind(owner.tenant.as_str()).bind(owner.subject.as_str())
    }
}

// === impl Argument ===

impl From<&str> for Argument {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<i64> for Argument {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<Option<i64>> for Argument {
    fn from(number: Option<i64>) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Argument {
    fn from(number: u32) -> Self {
        Self::Number(Some(number.into()))
    }
}

impl From<u64> for Argument {
    fn from(number: u64) -> Self {
        Self::Number(Some(signed(number)))
    }
}

impl From<&[u8]> for Argument {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(Some(bytes.to_owned()))
    }
}

impl From<Option<Vec<u8>>> for Argument {
    fn from(bytes: Option<Vec<u8>>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<Vec<i64>> for Argument {
    fn from(numbers: Vec<i64>) -> Self {
        Self::Numbers(numbers)
    }
}

impl From<Vec<String>> for Argument {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts)
    }
}
