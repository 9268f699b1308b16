//! Applying, a saga with one commit point: lorebook's. Whoever finds it half done may go on with it.
//!
//! 1. Lorebook validates; what no longer holds is refused here, and the changeset stays PENDING.
//! 2. The operations are frozen under a change id of this attempt: APPLYING.
//! 3. Lorebook applies the change under that id, once, however often it is asked.
//! 4. The outcome is stored: APPLIED; or, once lorebook has closed the id so that it can never apply, STALE or
//!    PENDING again. While lorebook's answer is unknown, it stays APPLYING for a retry or the sweep.

use std::{sync::Arc, time::Duration};

use host::{
    caller::Caller,
    idempotency::{Answer, Scope},
    shutdown::Shutdown,
};
use kernel::{ChangesetId, Principal, limits};
use proposal_core::{Application, Changeset, LeftOut, Stage};
use tonic::{Code, Status};
use wire::lorebook::v1::Change;

use super::{
    ATTEMPTS_MAX, Answered, Call, Proposals, Shown, check_etag,
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
        for _ in 0..ATTEMPTS_MAX {
            let replayed = self.answered(call).await?.is_some();
            let found = self.load(call.caller, id).await?;
            if replayed {
                return self.answer_applied(call.caller, found, true).await;
            }
            let is_mine = |changeset: &Changeset| {
                let application = changeset.application.as_ref();
                application.is_some_and(|began| began.request_id == *call.scope.request_id())
            };
            let may_resume =
                found.stage == Stage::Applying && (is_mine(&found) || self.is_abandoned(&found));
            let begun = match may_resume {
                true => Some(found),
                false => {
                    check_etag(&found, etag)?;
                    self.begin(call, &found, allow_partial).await?
                }
            };
            let Some(begun) = begun else { continue };
            let mine = is_mine(&begun);
            let ended = self.finish(call.caller, &begun).await;
            match ended {
                Ok(applied) if mine => {
                    return self.answer_applied(call.caller, applied, false).await;
                }
                Err(error) if mine || error.may_pass() => return Err(error),
                // Another's application has come to its end; now it is this call's turn.
                Ok(_) | Err(_) => {}
            }
        }
        Err(Error::Contended(id.clone()))
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
        let revisions = self.lore.revisions(call.caller, &[&found.world]).await?;
        let revision = revisions.get(&found.world).copied();
        if revision != Some(found.base_revision) {
            return match self.expire(found, revision).await {
                // What moved the world may be another application of this very changeset.
                Err(Error::Contended(_)) => Ok(None),
                told => Err(told?),
            };
        }
        let change = found.next_change();
        let wanted = Wanted::of(found, change.clone(), &found.operations);
        let verdicts = self.lore.verdicts(call.caller, &wanted).await?;
        let judged = found.operations.iter().zip(&verdicts);
        let (held, failed): (Vec<_>, Vec<_>) =
            judged.enumerate().partition(|(_, (_, verdict))| verdict.problem.is_empty());
        if !failed.is_empty() && (!allow_partial || held.is_empty()) {
            // What no longer holds may be what another decision just applied: then that is the answer.
            if self.load(call.caller, &found.id).await?.stage != Stage::Pending {
                return Ok(None);
            }
            let problems = failed.iter().map(|(at, (_, verdict))| (*at, verdict.problem.clone()));
            return Err(Error::OperationsInvalid(found.id.clone(), problems.collect()));
        }
        let left_out = failed.into_iter().map(|(_, (operation, verdict))| LeftOut {
            operation: operation.clone(),
            problem: verdict.problem.clone(),
        });
        let now = self.clock.now();
        let application = Application {
            change,
            operations: held.into_iter().map(|(_, (operation, _))| operation.clone()).collect(),
            left_out: left_out.collect(),
            request_id: call.scope.request_id().clone(),
            request: call.request,
            since: now,
        };
        let begun = late(found, found.begun(application))?;
        match self.store.replace(&begun, None, now).await? {
            Replaced::Done => Ok(Some(begun)),
            Replaced::Moved | Replaced::Answered => Ok(None),
        }
    }

    /// Steps 3 and 4, from wherever they were left; safe to do twice at the same time.
    async fn finish(&self, caller: &Caller, begun: &Changeset) -> Result<Changeset, Error> {
        let Some(application) = &begun.application else {
            return Err(Error::WrongStage(begun.id.clone(), begun.stage));
        };
        let wanted = Wanted::of(begun, application.change.clone(), &application.operations);
        let refusal = match self.lore.apply(caller, &wanted).await {
            Ok(_) => return self.record_applied(begun, application).await,
            Err(status) if is_open(&status) => return Err(status.into()),
            Err(status) => status,
        };
        match self.lore.close(caller, &application.change, &begun.world).await? {
            Some(_) => self.record_applied(begun, application).await,
            None => Err(self.refused(caller, begun, refusal).await?),
        }
    }

    async fn record_applied(
        &self,
        begun: &Changeset,
        application: &Application,
    ) -> Result<Changeset, Error> {
        let now = self.clock.now();
        let applied = late(begun, begun.applied(now))?;
        let scope = Scope::new(&begun.owner, method::APPLY, application.request_id.clone());
        let reference = begun.id.as_str().as_bytes().to_vec();
        let answer = Answer { request: application.request, reference };
        match self.store.replace(&applied, Some((&scope, &answer)), now).await? {
            Replaced::Done => Ok(applied),
            // Somebody else has recorded the same outcome.
            Replaced::Moved | Replaced::Answered => {
                let stored = self.store.changeset(&begun.owner, &begun.id).await?;
                stored.ok_or_else(|| Error::ChangesetNotFound(begun.id.clone()))
            }
        }
    }

    /// Lorebook will not make this change: the changeset becomes STALE where its world is not what it was,
    /// else it waits again. Gives what the caller is told.
    async fn refused(
        &self,
        caller: &Caller,
        begun: &Changeset,
        status: Status,
    ) -> Result<Error, Error> {
        if is_stale(&status) || status.code() == Code::NotFound {
            let revisions = self.lore.revisions(caller, &[&begun.world]).await?;
            return self.expire(begun, revisions.get(&begun.world).copied()).await;
        }
        self.settle(late(begun, begun.released())?, status.into()).await
    }

    /// The world is at another revision, or gone: STALE.
    async fn expire(&self, found: &Changeset, now: Option<u64>) -> Result<Error, Error> {
        let (world, base) = (found.world.clone(), found.base_revision);
        let (reason, told) = match now {
            Some(revision) => (moved_on(base, revision), Error::StaleRevision { world, base, now }),
            None => (WORLD_GONE.to_owned(), Error::WrongStage(found.id.clone(), Stage::Stale)),
        };
        self.settle(late(found, found.stale(reason, self.clock.now()))?, told).await
    }

    async fn settle(&self, next: Changeset, told: Error) -> Result<Error, Error> {
        match self.store.replace(&next, None, self.clock.now()).await? {
            Replaced::Done => Ok(told),
            // Another decision was stored meanwhile; that one stands.
            Replaced::Moved | Replaced::Answered => Err(Error::Contended(next.id)),
        }
    }

    async fn answer_applied(
        &self,
        caller: &Caller,
        applied: Changeset,
        replayed: bool,
    ) -> Result<Answered<(Shown, Option<Change>)>, Error> {
        let change = self.change_of(caller, &applied).await?;
        Ok(Answered { value: (self.show(caller, applied).await?, change), replayed })
    }
}
