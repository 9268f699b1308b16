//! Applying, a saga with one commit point: lorebook's. Whoever finds it half done may go on with it.
//!
//! 1. Lorebook validates; what no longer holds is refused here, and the changeset stays PENDING.
//! 2. The operations are frozen under a change id of this attempt: APPLYING.
//! 3. Lorebook applies the change under that id, once, however often it is asked.
//! 4. The outcome is stored: APPLIED; or, once lorebook has closed the id so that it can never apply, STALE or
//!    PENDING again. While lorebook's answer is unknown, it stays APPLYING for a retry or the sweep.

use std::{sync::Arc, time::Duration};

use futures::FutureExt as _;
use host::{
    caller::Caller,
    idempotency::{Answer, Scope},
    shutdown::Shutdown,
};
use kernel::{ChangesetId, Principal, limits};
use proposal_core::{Application, Changeset, Stage};
use tonic::{Code, Status};
use wire::lorebook::v1::Change;

use super::{
    Answered, Call, Proposals, Shown, check_etag,
    decide::late,
    method,
    read::{WORLD_GONE, moved_on},
};
use crate::{
    error::Error,
    lore::{Wanted, is_open, is_stale},
    store::Replaced,
};

/// How often unfinished applications are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// Applications taken up by one sweep.
const SWEEP_MAX: usize = 64;
/// Sweeps between two clearings of old answers: about an hour.
const SWEEPS_PER_CLEARING: u64 = 720;

impl Proposals {
    pub async fn apply(
        &self,
        call: &Call<'_>,
        id: &ChangesetId,
        allow_partial: bool,
        etag: &str,
    ) -> Result<Answered<(Shown, Option<Change>)>, Error> {
        let attempt = || self.try_apply(call, id, allow_partial, etag).boxed();
        let Answered { value: applied, replayed } = self.decided(call, id, attempt).await?;
        let change = self.change_of(call.caller, &applied).await?;
        Ok(Answered { value: (self.show(call.caller, applied).await?, change), replayed })
    }

    /// One attempt. Nothing when another decision came first.
    async fn try_apply(
        &self,
        call: &Call<'_>,
        id: &ChangesetId,
        allow_partial: bool,
        etag: &str,
    ) -> Result<Option<Changeset>, Error> {
        let found = self.load(call.caller, id).await?;
        let is_mine = found.application.as_ref().is_some_and(|began| call.has_begun(began));
        if found.stage == Stage::Applying && (is_mine || self.is_abandoned(&found)) {
            return match self.finish(call.caller, &found).await {
                // Another's application has come to its end; now it is this call's turn.
                Ok(_) if !is_mine => Ok(None),
                Err(error) if !is_mine && !error.may_pass() => Ok(None),
                ended => ended,
            };
        }
        check_etag(&found, etag)?;
        match self.begin(call, &found, allow_partial).await? {
            Some(begun) => self.finish(call.caller, &begun).await,
            None => Ok(None),
        }
    }

    /// Finishes what crashes left half done, and forgets old answers.
    pub async fn sweep(self: Arc<Self>, shutdown: Shutdown) {
        for sweep in 0_u64.. {
            if let Err(error) = self.sweep_once(sweep % SWEEPS_PER_CLEARING == 0).await {
                tracing::warn!(%error, "unfinished applications could not be looked for");
            }
            tokio::select! {
                () = shutdown.stopping() => return,
                () = tokio::time::sleep(SWEEP_EVERY) => {}
            }
        }
    }

    pub(super) async fn sweep_once(&self, clear: bool) -> Result<(), Error> {
        let now = self.clock.now();
        let abandoned = now.plus_ms(-limits::APPLY_ABANDONED_MS);
        for changeset in self.store.unfinished(abandoned, SWEEP_MAX).await? {
            let owner = &changeset.owner;
            let principal = Principal::new(owner.tenant.clone(), owner.subject.clone(), []);
            match self.finish(&Caller::of_job(principal), &changeset).await {
                Ok(_) => tracing::info!(changeset = %changeset.id, "an application was finished"),
                Err(error) => {
                    tracing::warn!(changeset = %changeset.id, %error, "an application did not succeed");
                }
            }
        }
        if clear {
            self.store.forget(now.plus_ms(-limits::ANSWER_KEPT_MS)).await?;
        }
        Ok(())
    }

    fn is_abandoned(&self, changeset: &Changeset) -> bool {
        let since = changeset.application.as_ref().map(|application| application.since);
        since.is_some_and(|since| since.plus_ms(limits::APPLY_ABANDONED_MS) < self.clock.now())
    }

    /// Steps 1 and 2. Nothing when another decision came first.
    async fn begin(
        &self,
        call: &Call<'_>,
        found: &Changeset,
        allow_partial: bool,
    ) -> Result<Option<Changeset>, Error> {
        if found.stage != Stage::Pending {
            return Err(Error::WrongStage(found.id.clone(), found.stage));
        }
        let (revision, operations) = self.present(call.caller, found).await?;
        if revision != Some(found.base_revision) {
            return self.expire(found, revision).await.map(|()| None);
        }
        let none_holds = operations.iter().all(|judged| !judged.holds());
        if none_holds || (!allow_partial && operations.iter().any(|judged| !judged.holds())) {
            let failed = operations.into_iter().enumerate().filter(|(_, judged)| !judged.holds());
            let problems = failed.map(|(at, judged)| (at, judged.problem)).collect();
            return Err(Error::OperationsInvalid(found.id.clone(), problems));
        }
        let now = self.clock.now();
        let application = Application {
            change: found.next_change(),
            operations,
            request_id: call.scope.request_id().clone(),
            request: call.request,
            since: now,
        };
        let begun = late(found, found.begun(application))?;
        Ok(match self.store.replace(&begun, None, now).await? {
            Replaced::Done => Some(begun),
            Replaced::Moved | Replaced::Answered => None,
        })
    }

    /// Steps 3 and 4, from wherever they were left; safe to do twice at the same time. Nothing when another
    /// decision was stored meanwhile.
    async fn finish(&self, caller: &Caller, begun: &Changeset) -> Result<Option<Changeset>, Error> {
        let Some(application) = &begun.application else {
            return Err(Error::WrongStage(begun.id.clone(), begun.stage));
        };
        let frozen = application.frozen();
        let wanted = Wanted::of(begun, application.change.clone(), &frozen);
        let refusal = match self.lore.apply(caller, &wanted).await {
            Ok(_) => return self.record_applied(begun, application).await,
            Err(status) if is_open(&status) => return Err(status.into()),
            Err(status) => status,
        };
        match self.lore.close(caller, &application.change, &begun.world).await? {
            Some(_) => self.record_applied(begun, application).await,
            None => self.refused(caller, begun, refusal).await.map(|()| None),
        }
    }

    async fn record_applied(
        &self,
        begun: &Changeset,
        application: &Application,
    ) -> Result<Option<Changeset>, Error> {
        let now = self.clock.now();
        let applied = late(begun, begun.applied(now))?;
        let scope = Scope::new(&begun.owner, method::APPLY, application.request_id.clone());
        let reference = begun.id.as_str().as_bytes().to_vec();
        let answer = Answer { request: application.request, reference };
        let mut replaced = self.store.replace(&applied, Some((&scope, &answer)), now).await?;
        if replaced == Replaced::Answered {
            // The request id has answered another request meanwhile; what was applied is recorded all the same.
            replaced = self.store.replace(&applied, None, now).await?;
        }
        Ok((replaced == Replaced::Done).then_some(applied))
    }

    /// Lorebook will not make this change: the changeset becomes STALE where its world is not what it was,
    /// else it waits again. Fails with what the caller is told; nothing when another decision was stored
    /// meanwhile.
    async fn refused(
        &self,
        caller: &Caller,
        begun: &Changeset,
        status: Status,
    ) -> Result<(), Error> {
        if is_stale(&status) || status.code() == Code::NotFound {
            let revisions = self.lore.revisions(caller, &[&begun.world]).await?;
            return self.expire(begun, revisions.get(&begun.world).copied()).await;
        }
        self.settle(late(begun, begun.released())?, status.into()).await
    }

    /// The world is at another revision, or gone: STALE. Fails as [`Proposals::refused`] does.
    async fn expire(&self, found: &Changeset, now: Option<u64>) -> Result<(), Error> {
        let (world, base) = (found.world.clone(), found.base_revision);
        let (reason, told) = match now {
            Some(revision) => (moved_on(base, revision), Error::StaleRevision { world, base, now }),
            None => (WORLD_GONE.to_owned(), Error::WrongStage(found.id.clone(), Stage::Stale)),
        };
        self.settle(late(found, found.stale(reason, self.clock.now()))?, told).await
    }

    async fn settle(&self, next: Changeset, told: Error) -> Result<(), Error> {
        match self.store.replace(&next, None, self.clock.now()).await? {
            Replaced::Done => Err(told),
            Replaced::Moved | Replaced::Answered => Ok(()),
        }
    }
}
