//! The ledger's verbs, one file per noun: load, decide, store.

use std::{future::Future, sync::Arc};

use host::{caller::Caller, link::Peer, shutdown::Shutdown};
use kernel::Clock;
use ledger_core::{Actor, actor};
use model::Registry;
use tokio::sync::oneshot;
use tracing::Instrument as _;

use crate::{
    board::Board,
    error::{Error, Result},
    store::Store,
};

mod append;
mod authored;
mod context;
mod evaluation;
mod explain;
mod follow;
mod frames;
mod lines;
mod load;
mod queue;
mod record;
mod render;
mod requests;
mod run;
mod session;
mod submit;
mod sweep;
mod texts;
mod turns;
mod verify;

pub use authored::WriteAuthoredTurn;
pub use context::AddContext;
pub use frames::{Completed, Evaluation, Frame, FrameStream, Proposed, Sent};
pub use queue::{EvaluateTurn, Finish, Leased};
pub use record::{DiagnosticRecord, RequestRecord, WorldRecord};
pub use render::Origin;
pub use requests::{Replay, ShownBlock, ShownRequest};
pub use session::{NewSession, Opening, SessionView};
pub use submit::SubmitTurn;
pub use turns::{AlternativeView, Provenance, TurnView};
pub use verify::Verified;

/// The one writer of history.
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    models: Registry,
    loader: Peer,
    lines: lines::Lines,
    states: load::States,
    texts: texts::TextCache,
    marks: requests::Marks,
    board: Board,
    shutdown: Shutdown,
}

// === impl Ledger ===

impl Ledger {
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        models: Registry,
        loader: Peer,
        shutdown: Shutdown,
    ) -> Self {
        let inner = Inner {
            store,
            clock,
            models,
            loader,
            lines: lines::Lines::new(),
            states: load::States::new(),
            texts: texts::TextCache::new(),
            marks: requests::Marks::new(),
            board: Board::default(),
            shutdown,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Names of the configured providers.
    pub fn providers(&self) -> Vec<String> {
        self.inner.models.names().map(str::to_owned).collect()
    }

    fn store(&self) -> &dyn Store {
        &*self.inner.store
    }

    /// Runs steps of which the first must not stay without the last on a task of their own: a caller who
    /// leaves cuts nothing in two. An answer that nobody waits for any more is handed to `unheard`.
    async fn whole<T: Send + 'static, U: Future<Output = ()> + Send + 'static>(
        &self,
        steps: impl Future<Output = Result<T>> + Send + 'static,
        unheard: impl FnOnce(T) -> U + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let steps = async move {
            if let Err(Ok(left)) = answer.send(steps.await) {
                unheard(left).await;
            }
        };
        self.inner.shutdown.spawn(steps.in_current_span());
        let cut_off = || Error::Internal("a task ended without an answer".to_owned());
        answered.await.unwrap_or_else(|_| Err(cut_off()))
    }

    fn now(&self) -> kernel::Timestamp {
        self.inner.clock.now()
    }

    /// Fresh chance for one decision's salts.
    fn entropy(&self) -> [u8; 32] {
        let (one, two) = (self.inner.clock.fresh(), self.inner.clock.fresh());
        *kernel::digest_parts(&[one.as_bytes(), two.as_bytes()]).as_bytes()
    }
}

/// The stamped writer for a caller that claims to be nobody else.
fn actor_of(caller: &Caller) -> Actor {
    let tier = actor::tier_of(&caller.principal);
    let own = actor::gate(&caller.principal, None);
    own.unwrap_or_else(|_| Actor {
        tier,
        subject: caller.principal.owner.subject.clone(),
        claim: None,
    })
}
