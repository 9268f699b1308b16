//! The end of a process: one value that every part of it watches.

use std::future::Future;

use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Tells handlers and background tasks to finish, and waits for the tasks; clones share it.
///
/// A handler with an open stream selects on [`Shutdown::stopping`] and ends its stream in good order.
/// Work that outlives its call is spawned with [`Shutdown::spawn`], so that the drain waits for it.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    stopping: CancellationToken,
    aborted: CancellationToken,
    tasks: TaskTracker,
}

// === impl Shutdown ===

impl Shutdown {
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts the end: no new calls, open streams finish, tasks save what they have.
    pub fn begin(&self) {
        self.stopping.cancel();
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// Completes when the end has begun.
    pub fn stopping(&self) -> impl Future<Output = ()> + Send + 'static + use<> {
        self.stopping.clone().cancelled_owned()
    }

    /// Runs a task that the drain waits for; it must itself watch [`Shutdown::stopping`].
    pub fn spawn<F>(&self, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn(task);
    }

    /// Cuts what has not ended by itself: pending calls and open streams answer UNAVAILABLE.
    pub(crate) fn abort(&self) {
        self.aborted.cancel();
    }

    /// Completes when the drain has taken too long; a moment remains to save what there is.
    pub fn aborted(&self) -> impl Future<Output = ()> + Send + 'static + use<> {
        self.aborted.clone().cancelled_owned()
    }

    /// Waits for everything that was spawned; bound it with a timeout.
    pub async fn tasks_ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}
