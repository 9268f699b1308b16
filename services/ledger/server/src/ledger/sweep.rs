//! Finishing what a crash left: sessions that were being created when their process died.

use std::time::Duration;

use kernel::limits;

use super::Ledger;
use crate::error::Result;

/// How often the sweeper looks.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Pending sessions handled at a time.
const BATCH: u32 = 100;

// === impl Ledger ===

impl Ledger {
    /// Looks now and then, until the process ends.
    pub(crate) async fn sweep(self) {
        let mut ticks = tokio::time::interval(LOOK_EVERY);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.inner.shutdown.stopping() => return,
            }
            if let Err(error) = self.sweep_once().await {
                tracing::warn!(%error, "pending sessions could not be swept");
            }
        }
    }

    /// Nobody was told of a session that never became live, and a retry would create it under the same
    /// id: forgetting it loses nothing.
    async fn sweep_once(&self) -> Result<()> {
        let before = self.now().plus_ms(-limits::PENDING_SESSION_MS);
        for pending in self.store().pending_sessions(before, BATCH).await? {
            tracing::info!(session = %pending.session, "a half created session is forgotten");
            self.store().drop_pending(&pending.owner, &pending.session).await?;
        }
        Ok(())
    }
}
