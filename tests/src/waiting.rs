//! Waiting for something to become true, with an end to it.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

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

/// Looks at a call's answer so often, then leaves: the call is dropped wherever it stands. None if it was.
pub async fn hang_up_after<T>(looks: usize, call: impl Future<Output = T>) -> Option<T> {
    let mut call = pin!(call);
    let mut looked = 0;
    let answer = poll_fn(|context| {
        looked += 1;
        match call.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending if looked >= looks => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    });
    answer.await
}
