//! What this process knows before the database does: running replies, and that something was queued.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use kernel::{GenerationId, TenantId};
use tokio::sync::{Notify, watch};

use crate::ledger::Frame;

/// The generations that run here, and the bells that wake waiters.
#[derive(Default)]
pub struct Board {
    runs: Mutex<HashMap<(TenantId, GenerationId), Arc<Run>>>,
    /// Rung when a job is queued here.
    pub queued: Notify,
    /// Rung when a job ends here.
    pub settled: Notify,
    /// Rung when a generation ends here.
    pub closed: Notify,
}

/// A running reply: every frame so far, and a signal when there are more.
pub struct Run {
    /// Which attempt it is.
    pub fence: u64,
    frames: Mutex<Vec<Frame>>,
    length: watch::Sender<usize>,
    ended: watch::Sender<bool>,
}

// === impl Board ===

impl Board {
    pub fn find(&self, tenant: &TenantId, generation: &GenerationId) -> Option<Arc<Run>> {
        lock(&self.runs).get(&(tenant.clone(), generation.clone())).cloned()
    }

    pub fn begin(&self, tenant: &TenantId, generation: &GenerationId, fence: u64) -> Arc<Run> {
        let run = Arc::new(Run {
            fence,
            frames: Mutex::default(),
            length: watch::Sender::new(0),
            ended: watch::Sender::new(false),
        });
        lock(&self.runs).insert((tenant.clone(), generation.clone()), run.clone());
        run
    }

    /// Ends a run; a later attempt of the same generation stays.
    pub fn end(&self, tenant: &TenantId, generation: &GenerationId, run: &Run) {
        let place = (tenant.clone(), generation.clone());
        let mut runs = lock(&self.runs);
        if runs.get(&place).is_some_and(|found| found.fence == run.fence) {
            runs.remove(&place);
        }
        drop(runs);
        run.ended.send_replace(true);
        self.closed.notify_waiters();
    }
}

// === impl Run ===

impl Run {
    /// Shows one more frame to whoever follows.
    pub fn show(&self, frame: Frame) {
        let mut frames = lock(&self.frames);
        frames.push(frame);
        self.length.send_replace(frames.len());
    }

    /// The frame at a place, waiting for it; none once the run has ended before it.
    pub async fn frame(&self, at: usize) -> Option<Frame> {
        let mut length = self.length.subscribe();
        let mut ended = self.ended.subscribe();
        loop {
            if let Some(frame) = lock(&self.frames).get(at) {
                return Some(frame.clone());
            }
            if *ended.borrow_and_update() {
                // Whatever was shown before the end was shown before it was ended.
                return lock(&self.frames).get(at).cloned();
            }
            tokio::select! {
                changed = length.changed() => changed.ok()?,
                changed = ended.changed() => changed.ok()?,
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
