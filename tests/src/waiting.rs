//! Waiting for something to become true, with an end to it.

use std::{future::Future, time::Duration};

use tokio::time::{Instant, interval};

const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Looks until `look` finds something, and answers it.
///
/// # Panics
///
/// When it has not been found within 30 seconds; `what` says what was missing.
pub async fn eventually<T, F>(what: &str, mut look: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let latest = Instant::now() + PATIENCE;
    let mut looks = interval(LOOK_EVERY);
    loop {
        looks.tick().await;
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < latest, "waited in vain for {what}");
    }
}
