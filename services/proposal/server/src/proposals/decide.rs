//! The decisions that need nobody else's consent: edit, reject; and undo, which is lorebook's.

use futures::FutureExt as _;
use host::caller::Caller;
use kernel::{ChangesetId, RequestId, limits};
use proposal_core::{Changeset, Stage, operation, stage::WrongStage};
use tonic::{Code, Status};
use wire::lorebook::v1::Change;

use super::{Answered, Call, Edit, Proposals, Shown, check_etag};
use crate::{error::Error, store::Replaced};

impl Proposals {
    /// Stores other operations, even ones that do not hold; the answer says which do not.
    pub async fn update(
        &self,
        call: &Call<'_>,
        id: &ChangesetId,
        edit: &Edit,
        etag: &str,
    ) -> Result<Answered<Shown>, Error> {
        self.decide(call, id, |found| {
            check_etag(found, etag)?;
            check(edit)?;
            late(found, found.edited(edit.operations.clone(), edit.summary.clone()))
        })
        .await
    }

    pub async fn reject(
        &self,
        call: &Call<'_>,
        id: &ChangesetId,
    ) -> Result<Answered<Shown>, Error> {
        let now = self.clock.now();
        self.decide(call, id, |found| late(found, found.rejected(now))).await
    }

    /// Takes an applied changeset back. The retry of an undo reaches lorebook under the same id.
    pub async fn undo(
        &self,
        call: &Call<'_>,
        id: &ChangesetId,
    ) -> Result<Answered<(Shown, Option<Change>)>, Error> {
        if let Some(reference) = self.answered(call).await? {
            let shown = self.get(call.caller, id).await?;
            let change = kernel::ChangeId::new(&reference).ok();
            let change = match &change {
                Some(change) => self.lore.change(call.caller, change).await?,
                None => None,
            };
            return Ok(Answered { value: (shown, change), replayed: true });
        }
        let found = self.load(call.caller, id).await?;
        let application = match (&found.application, found.stage) {
            (Some(application), Stage::Applied) => application,
            _ => return Err(Error::WrongStage(id.clone(), found.stage)),
        };
        let once = RequestId::derived(&[id.as_str(), call.scope.request_id().as_str()]);
        let reverted = self.lore.revert(call.caller, &application.change, once.to_string()).await;
        let change = match reverted {
            Ok(change) => change,
            Err(status) => return Err(self.not_undone(call.caller, &found, status).await?),
        };
        let answer = call.answer(&change.change_id);
        // A concurrent attempt under the same id has stored the same answer.
        self.store.store_answer(&call.scope, &answer, self.clock.now()).await?;
        let shown = self.show(call.caller, found).await?;
        Ok(Answered { value: (shown, Some(change)), replayed: false })
    }

    /// Why lorebook does not take a change back, in the words of its changeset.
    async fn not_undone(
        &self,
        caller: &Caller,
        found: &Changeset,
        status: Status,
    ) -> Result<Error, Error> {
        if self.is_reverted(caller, found).await? {
            return Ok(Error::Reverted(found.id.clone()));
        }
        Ok(match status.code() {
            Code::NotFound => Error::HistoryGone(found.id.clone()),
            _ => status.into(),
        })
    }

    /// One decision, stored together with its answer.
    async fn decide(
        &self,
        call: &Call<'_>,
        id: &ChangesetId,
        decision: impl Fn(&Changeset) -> Result<Changeset, Error> + Send + Sync,
    ) -> Result<Answered<Shown>, Error> {
        let attempt = || self.try_decide(call, id, &decision).boxed();
        let Answered { value, replayed } = self.decided(call, id, attempt).await?;
        Ok(Answered { value: self.show(call.caller, value).await?, replayed })
    }

    /// One attempt. Nothing when another decision came first.
    async fn try_decide(
        &self,
        call: &Call<'_>,
        id: &ChangesetId,
        decision: &(impl Fn(&Changeset) -> Result<Changeset, Error> + Sync),
    ) -> Result<Option<Changeset>, Error> {
        let next = decision(&self.load(call.caller, id).await?)?;
        let answer = call.answer(id.as_str());
        let replaced =
            self.store.replace(&next, Some((&call.scope, &answer)), self.clock.now()).await?;
        Ok((replaced == Replaced::Done).then_some(next))
    }
}

/// A decision, or the stage that came before it.
pub(super) fn late<T>(found: &Changeset, decided: Result<T, WrongStage>) -> Result<T, Error> {
    decided.map_err(|wrong| Error::WrongStage(found.id.clone(), wrong.found))
}

fn check(edit: &Edit) -> Result<(), Error> {
    if edit.operations.is_empty() {
        return Err(Error::NoOperations);
    }
    operation::check_count(edit.operations.len()).map_err(Error::TooManyOperations)?;
    for (index, operation) in edit.operations.iter().enumerate() {
        operation.check_caps().map_err(|over| Error::OverCap { index, over })?;
    }
    let chars = edit.summary.as_ref().map_or(0, |summary| summary.chars().count());
    match chars > limits::CHANGE_NOTE_CHARS_MAX {
        true => Err(Error::SummaryTooLong { chars }),
        false => Ok(()),
    }
}
