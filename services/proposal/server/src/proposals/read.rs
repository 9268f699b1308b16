//! Changesets as they are shown: beside the world as it stands, so that nothing stale looks fresh.

use std::collections::HashMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use host::{caller::Caller, room::omission};
use kernel::{ChangeId, ChangesetId, SessionId, WorldId};
use proposal_core::{Changeset, Evaluation, Operation, Stage, diff, operation::Kind};
use tonic::Status;
use wire::{
    common::v1::Omission,
    lorebook::v1::{Change, RowChange},
    mesh::v1::OperationVerdict,
};

use super::{Proposals, Shown, ShownOperation};
use crate::{
    error::Error,
    lore::{Wanted, is_stale},
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
            let change = match applied_as(&changeset) {
                Some(change) => self.lore.change_head(caller, change).await?,
                None => None,
            };
            let revision = revisions.get(&changeset.world).copied();
            Ok(beside(changeset, revision, change.as_ref(), Vec::new()))
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

    /// An applied changeset stands beside the rows that it changed, any other beside the present ones.
    pub(super) async fn show(&self, caller: &Caller, changeset: Changeset) -> Result<Shown, Error> {
        if let Some(change) = self.change_of(caller, &changeset).await? {
            let operations = changed(&changeset, &change);
            return Ok(beside(changeset, None, Some(&change), operations));
        }
        let (revision, verdicts) = self.present(caller, &changeset).await?;
        let is_open = matches!(changeset.stage, Stage::Pending | Stage::Stale);
        let judged = changeset.operations.iter().zip(verdicts);
        let operations =
            judged.map(|(operation, verdict)| present(operation, verdict, is_open)).collect();
        Ok(beside(changeset, revision, None, operations))
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

    /// The world's revision and what lorebook says there, whatever revision the changeset was made for.
    async fn present(
        &self,
        caller: &Caller,
        changeset: &Changeset,
    ) -> Result<(Option<u64>, Vec<OperationVerdict>), Error> {
        for _ in 0..super::ATTEMPTS_MAX {
            let revisions = self.lore.revisions(caller, &[&changeset.world]).await?;
            let Some(&revision) = revisions.get(&changeset.world) else {
                return Ok((None, Vec::new()));
            };
            let wanted = Wanted {
                base_revision: revision,
                ..Wanted::of(changeset, changeset.next_change(), &changeset.operations)
            };
            match self.lore.verdicts(caller, &wanted).await {
                Ok(verdicts) => return Ok((Some(revision), verdicts)),
                Err(status) if is_stale(&status) => {}
                Err(status) => return Err(status.into()),
            }
        }
        Err(Error::Contended(changeset.id.clone()))
    }
}

fn applied_as(changeset: &Changeset) -> Option<&ChangeId> {
    let application = changeset.application.as_ref();
    application.filter(|_| changeset.stage == Stage::Applied).map(|begun| &begun.change)
}

fn beside(
    changeset: Changeset,
    revision: Option<u64>,
    change: Option<&Change>,
    operations: Vec<ShownOperation>,
) -> Shown {
    let stale = match (changeset.stage, revision) {
        (Stage::Pending, None) => Some(WORLD_GONE.to_owned()),
        (Stage::Pending, Some(now)) if now != changeset.base_revision => {
            Some(moved_on(changeset.base_revision, now))
        }
        _ => None,
    };
    let reverted = change.is_some_and(|change| !change.reverted_by_change_id.is_empty());
    Shown { changeset, stale, reverted, operations }
}

pub(super) fn moved_on(base: u64, now: u64) -> String {
    format!("the world has moved on from revision {base} to {now}")
}

fn present(operation: &Operation, verdict: OperationVerdict, is_open: bool) -> ShownOperation {
    let OperationVerdict { problem, current_name, current_content, mut left_out } = verdict;
    let proposed = match operation.kind {
        Kind::Create | Kind::Update | Kind::Replace => {
            operation.content.as_deref().unwrap_or(&current_content)
        }
        Kind::Suppress | Kind::Archive => "",
    };
    let diff = match left_out.iter().any(|omitted| omitted.field == "current_content") {
        true => {
            left_out.push(omission("diff", 0));
            String::new()
        }
        false => diff::unified(&current_content, proposed),
    };
    let problem = if is_open { problem } else { String::new() };
    ShownOperation { current_name, current_content, diff, problem, left_out }
}

/// Rows of a change beside the operations that made them; what was left out has none.
fn changed(changeset: &Changeset, change: &Change) -> Vec<ShownOperation> {
    let frozen = changeset.application.iter().flat_map(|application| &application.operations);
    let mut rows = frozen.zip(&change.rows).peekable();
    let shown = |operation: &Operation| {
        rows.next_if(|(frozen, _)| *frozen == operation)
            .map_or_else(ShownOperation::default, |(_, row)| changed_row(row))
    };
    changeset.operations.iter().map(shown).collect()
}

fn changed_row(row: &RowChange) -> ShownOperation {
    let (current_name, current_content) =
        row.before.as_ref().map(|row| (row.name.clone(), row.content.clone())).unwrap_or_default();
    let left_out = row.left_out.iter().filter_map(|omitted| match omitted.field.as_str() {
        "before" => Some(Omission { field: "current_content".to_owned(), ..omitted.clone() }),
        "content_diff" => Some(Omission { field: "diff".to_owned(), ..omitted.clone() }),
        _ => None,
    });
    ShownOperation {
        current_name,
        current_content,
        diff: row.content_diff.clone(),
        problem: String::new(),
        left_out: left_out.collect(),
    }
}
