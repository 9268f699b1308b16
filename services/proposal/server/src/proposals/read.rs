//! Changesets as they are shown: beside the world as it stands, so that nothing stale looks fresh.

use std::collections::HashMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use host::caller::Caller;
use kernel::{ChangeId, ChangesetId, SessionId, WorldId};
use proposal_core::{Changeset, Evaluation, Judged, LeftOut, Operation, Stage};
use tonic::Status;
use wire::{lorebook::v1::Change, mesh::v1::OperationVerdict};

use super::{Proposals, Shown};
use crate::{
    error::Error,
    lore::Wanted,
    store::{Position, Which},
};

/// Why a changeset of a deleted world is STALE.
pub(super) const WORLD_GONE: &str = "the world is gone";

/// Changes of the History read at the same time for one list.
const READS_AT_ONCE: usize = 8;

impl Proposals {
    /// Without what stands beside the operations.
    pub async fn list(
        &self,
        caller: &Caller,
        which: &Which,
        after: Option<&Position>,
        limit: usize,
    ) -> Result<Vec<Shown>, Error> {
        let owner = &caller.principal.owner;
        let found = self.store.list(owner, which, after, limit).await?;
        let pending = found.iter().filter(|changeset| changeset.stage == Stage::Pending);
        let mut worlds: Vec<&WorldId> = pending.map(|changeset| &changeset.world).collect();
        worlds.sort();
        worlds.dedup();
        let revisions = match worlds.is_empty() {
            true => HashMap::new(),
            false => self.lore.revisions(caller, &worlds).await?,
        };
        let shown = stream::iter(found).map(|changeset| async {
            let reverted = self.is_reverted(caller, &changeset).await?;
            let revision = revisions.get(&changeset.world).copied();
            Ok(beside(changeset, revision, reverted, Vec::new()))
        });
        shown.buffered(READS_AT_ONCE).try_collect().await
    }

    pub async fn get(&self, caller: &Caller, id: &ChangesetId) -> Result<Shown, Error> {
        let changeset = self.load(caller, id).await?;
        self.show(caller, changeset).await
    }

    pub async fn evaluation(
        &self,
        caller: &Caller,
        session: &SessionId,
        turn_seq: u64,
    ) -> Result<(Evaluation, Vec<Changeset>), Error> {
        let owner = &caller.principal.owner;
        let found = self.store.newest_evaluation(owner, session, turn_seq).await?;
        let found = found.ok_or_else(|| Error::EvaluationNotFound(session.clone(), turn_seq))?;
        let changesets = self.store.changesets_of(owner, &found.id).await?;
        Ok((found, changesets))
    }

    /// An applied changeset stands beside what it met, any other beside the world as it is.
    pub(super) async fn show(&self, caller: &Caller, changeset: Changeset) -> Result<Shown, Error> {
        if let (Stage::Applied, Some(made)) = (changeset.stage, &changeset.application) {
            let operations = made.operations.clone();
            let reverted = self.is_reverted(caller, &changeset).await?;
            return Ok(Shown { changeset, stale: None, reverted, operations });
        }
        let is_open = matches!(changeset.stage, Stage::Pending | Stage::Stale);
        let (revision, mut operations) = self.present(caller, &changeset).await?;
        if !is_open {
            operations.iter_mut().for_each(|judged| judged.problem.clear());
        }
        Ok(beside(changeset, revision, false, operations))
    }

    /// The change in the world's History that an applied changeset has become.
    pub(super) async fn change_of(
        &self,
        caller: &Caller,
        changeset: &Changeset,
    ) -> Result<Option<Change>, Status> {
        match applied_as(changeset) {
            Some(change) => self.lore.change(caller, change).await,
            None => Ok(None),
        }
    }

    /// Whether the world's History has taken an applied changeset back.
    pub(super) async fn is_reverted(
        &self,
        caller: &Caller,
        changeset: &Changeset,
    ) -> Result<bool, Status> {
        let Some(change) = applied_as(changeset) else { return Ok(false) };
        let head = self.lore.change_head(caller, change).await?;
        Ok(head.is_some_and(|change| !change.reverted_by_change_id.is_empty()))
    }

    /// What lorebook says of a changeset's operations as the world is now, and its revision; nothing of a world
    /// that is gone.
    ///
    /// The revision is read last: where it is still the one that the operations were made for, it was so when
    /// they were judged.
    pub(super) async fn present(
        &self,
        caller: &Caller,
        changeset: &Changeset,
    ) -> Result<(Option<u64>, Vec<Judged>), Error> {
        let wanted = Wanted::of(changeset, changeset.next_change(), &changeset.operations);
        let Some(verdicts) = self.lore.verdicts(caller, &wanted).await? else {
            return Ok((None, Vec::new()));
        };
        let revisions = self.lore.revisions(caller, &[&changeset.world]).await?;
        let judged = changeset.operations.iter().zip(verdicts).map(judged);
        Ok((revisions.get(&changeset.world).copied(), judged.collect()))
    }
}

fn judged((operation, verdict): (&Operation, OperationVerdict)) -> Judged {
    let left_out = verdict.left_out.into_iter();
    Judged {
        operation: operation.clone(),
        current_name: verdict.current_name,
        current_content: verdict.current_content,
        problem: verdict.problem,
        left_out: left_out.map(|text| LeftOut { field: text.field, bytes: text.bytes }).collect(),
    }
}

fn applied_as(changeset: &Changeset) -> Option<&ChangeId> {
    let application = changeset.application.as_ref();
    application.filter(|_| changeset.stage == Stage::Applied).map(|begun| &begun.change)
}

fn beside(
    changeset: Changeset,
    revision: Option<u64>,
    reverted: bool,
    operations: Vec<Judged>,
) -> Shown {
    let stale = match (changeset.stage, revision) {
        (Stage::Pending, None) => Some(WORLD_GONE.to_owned()),
        (Stage::Pending, Some(now)) if now != changeset.base_revision => {
            Some(moved_on(changeset.base_revision, now))
        }
        _ => None,
    };
    Shown { changeset, stale, reverted, operations }
}

pub(super) fn moved_on(base: u64, now: u64) -> String {
    format!("the world has moved on from revision {base} to {now}")
}
