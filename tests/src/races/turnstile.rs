//! Lets one caller go on at a time, and which one is decided by dice.

use std::{collections::BTreeMap, sync::Mutex};

use tokio::sync::{Notify, oneshot};

use super::Dice;

tokio::task_local! {
    /// Who calls, in the tasks of a run; what is called outside of one waits for nobody.
    pub static ACTOR: usize;
}

/// A gate before each step of the store.
#[derive(Debug, Default)]
pub struct Turnstile {
    state: Mutex<State>,
    quiet: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Callers that are neither waiting nor done.
    moving: usize,
    /// Who waits, before which step.
    waiting: BTreeMap<usize, Waiting>,
    steps: Vec<(usize, &'static str)>,
}

#[derive(Debug)]
struct Waiting {
    step: &'static str,
    go_on: oneshot::Sender<()>,
}

// === impl Turnstile ===

impl Turnstile {
    /// Counts the callers that will come; each leaves once.
    pub fn expect(&self, callers: usize) {
        self.state.lock().expect("not poisoned").moving += callers;
    }

    /// Waits until it is this caller's turn.
    pub async fn step(&self, step: &'static str) {
        let Ok(actor) = ACTOR.try_with(|actor| *actor) else { return };
        let (go_on, turn) = oneshot::channel();
        {
            let mut state = self.state.lock().expect("not poisoned");
            state.waiting.insert(actor, Waiting { step, go_on });
            state.moving -= 1;
        }
        self.quiet.notify_one();
        // A turnstile that is gone keeps nobody.
        let _ = turn.await;
    }

    pub fn leave(&self) {
        self.state.lock().expect("not poisoned").moving -= 1;
        self.quiet.notify_one();
    }

    /// Lets callers through, one at a time, until all have left.
    pub async fn turn(&self, dice: &mut Dice) {
        loop {
            while self.state.lock().expect("not poisoned").moving > 0 {
                self.quiet.notified().await;
            }
            let mut state = self.state.lock().expect("not poisoned");
            let callers: Vec<usize> = state.waiting.keys().copied().collect();
            let Some(next) = dice.one_of(&callers).copied() else { return };
            let Some(waiting) = state.waiting.remove(&next) else { return };
            state.moving += 1;
            state.steps.push((next, waiting.step));
            let _ = waiting.go_on.send(());
        }
    }

    /// The steps since the last call, in their order.
    pub fn steps(&self) -> Vec<(usize, &'static str)> {
        std::mem::take(&mut self.state.lock().expect("not poisoned").steps)
    }
}
