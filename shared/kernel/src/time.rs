//! A moment in UTC, kept in microseconds.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

// === impl Timestamp ===

impl Timestamp {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    pub const fn millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0 + ms * 1_000)
    }

    /// RFC 3339 in whole seconds, UTC: `2026-11-30T05:35:26Z` (the request stamp's form).
    pub fn to_rfc3339_seconds(self) -> String {
        match jiff::Timestamp::from_second(self.0.div_euclid(1_000_000)) {
            Ok(at) => at.to_string(),
            Err(_) => format!("{} s", self.0.div_euclid(1_000_000)),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(at) => write!(f, "{at}"),
            Err(_) => write!(f, "{} us", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stamp_form_has_whole_seconds_and_a_z() {
        let at = Timestamp::from_micros(1_796_016_926_999_999);
        assert_eq!(at.to_rfc3339_seconds(), "2026-11-30T05:35:26Z");
    }
}
