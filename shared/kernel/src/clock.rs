//! The one door to time and randomness; everything else takes a `Clock`.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use uuid::Uuid;

use crate::time::Timestamp;

/// Where a process gets the time and fresh identifiers from.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    /// A value nobody else has: a UUID version 7 of `now`.
    fn fresh(&self) -> Uuid;
}

/// The machine's clock and random source.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

/// A clock that stands still until told, and whose fresh values count up: for tests.
#[derive(Debug, Default)]
pub struct ManualClock {
    now: AtomicI64,
    issued: AtomicU64,
}

// === impl SystemClock ===

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the substitute that the lint names")]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
        Timestamp::from_micros(since)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the substitute that the lint names")]
    fn fresh(&self) -> Uuid {
        Uuid::now_v7()
    }
}

// === impl ManualClock ===

impl ManualClock {
    pub fn at(now: Timestamp) -> Self {
        Self { now: AtomicI64::new(now.micros()), issued: AtomicU64::new(0) }
    }

    pub fn advance_ms(&self, ms: i64) {
        self.now.fetch_add(ms * 1_000, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.now.load(Ordering::SeqCst))
    }

    fn fresh(&self) -> Uuid {
        let count = self.issued.fetch_add(1, Ordering::SeqCst);
        let millis = u64::try_from(self.now().millis()).unwrap_or(0);
        let mut random = [0; 10];
        random[2..].copy_from_slice(&count.to_be_bytes());
        uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }
}
