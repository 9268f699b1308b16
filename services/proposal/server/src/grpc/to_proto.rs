//! Values become messages.

mod room;

use host::room::omission;
use kernel::Timestamp;
use proposal_core::{
    Application, Changeset, Evaluation, Judged, Operation, Outcome, Source, Stage, operation::Kind,
};
use wire::{common::v1::Omission, lorebook::v1 as lore, proposal::v1 as pb};

use crate::proposals::Shown;

pub(crate) fn operation(operation: &Operation) -> lore::Operation {
    let kind = match operation.kind {
        Kind::Create => lore::OperationKind::Create,
        Kind::Update => lore::OperationKind::Update,
        Kind::Replace => lore::OperationKind::Replace,
        Kind::Suppress => lore::OperationKind::Suppress,
        Kind::Archive => lore::OperationKind::Archive,
    };
    lore::Operation {
        kind: kind.into(),
        target_entry_id: operation.target.as_ref().map_or(String::new(), ToString::to_string),
        name: operation.name.clone(),
        content: operation.content.clone(),
        constant: operation.constant,
        keywords: operation.keywords.clone().unwrap_or_default(),
        set_keywords: operation.keywords.is_some(),
        rationale: operation.rationale.clone(),
    }
}

/// Beside each operation what it meets, as far as one answer holds it.
pub(super) fn changeset(shown: &Shown) -> pb::Changeset {
    room::changeset(pb::Changeset { operations: proposed(shown), ..changeset_head(shown) })
}

/// Without what stands beside the operations.
pub(super) fn changeset_head(shown: &Shown) -> pb::Changeset {
    let changeset = &shown.changeset;
    let applied = changeset.application.as_ref().filter(|_| changeset.stage == Stage::Applied);
    pb::Changeset {
        changeset_id: changeset.id.to_string(),
        world_id: changeset.world.to_string(),
        world_name: changeset.world_name.clone(),
        state: state(shown).into(),
        base_revision: changeset.base_revision,
        summary: changeset.summary.clone(),
        operations: changeset.operations.iter().map(bare).collect(),
        source: Some(source(&changeset.source)),
        created_at: Some(timestamp(changeset.created_at)),
        decided_at: changeset.decided_at.map(timestamp),
        change_id: applied.map_or(String::new(), |application| application.change.to_string()),
        etag: changeset.version.to_string(),
        evaluation_id: changeset.evaluation.to_string(),
        stale_reason: shown.stale.clone().unwrap_or_else(|| changeset.stale_reason.clone()),
    }
}

fn bare(proposed: &Operation) -> pb::ProposedOperation {
    pb::ProposedOperation { operation: Some(operation(proposed)), ..Default::default() }
}

/// What `allow_partial` left out of an applied changeset; the changeset itself has each operation whole.
pub(super) fn left_out(changeset: &Changeset) -> Vec<pb::ProposedOperation> {
    let left_out = changeset.application.iter().flat_map(Application::left_out);
    left_out
        .map(|judged| pb::ProposedOperation {
            operation: Some(lore::Operation {
                content: None,
                keywords: Vec::new(),
                set_keywords: false,
                rationale: String::new(),
                ..operation(&judged.operation)
            }),
            problem: judged.problem.clone(),
            ..Default::default()
        })
        .collect()
}

/// A change of the History without its rows.
pub(super) fn change_head(change: lore::Change) -> lore::Change {
    lore::Change { rows: Vec::new(), ..change }
}

pub(super) fn evaluation(evaluation: &Evaluation, changesets: &[Changeset]) -> pb::Evaluation {
    let outcome = match evaluation.outcome {
        Outcome::Staged => pb::Outcome::Staged,
        Outcome::Nothing => pb::Outcome::Nothing,
        Outcome::AllRejected => pb::Outcome::AllRejected,
        Outcome::Failed => pb::Outcome::Failed,
        Outcome::NoWorld => pb::Outcome::NoWorld,
        Outcome::TurnMoved => pb::Outcome::TurnMoved,
    };
    let rejected = evaluation.rejected.iter().map(|rejected| pb::RejectedOperation {
        index: u32::try_from(rejected.index).unwrap_or(u32::MAX),
        reason: rejected.reason.clone(),
        operation_json: rejected.operation.clone(),
    });
    let tokens = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    room::evaluation(pb::Evaluation {
        evaluation_id: evaluation.id.to_string(),
        session_id: evaluation.turn.session.to_string(),
        turn_seq: evaluation.turn.turn_seq,
        alternative_id: evaluation.turn.alternative.to_string(),
        outcome: outcome.into(),
        reason: evaluation.reason.clone(),
        changeset_ids: changesets.iter().map(|changeset| changeset.id.to_string()).collect(),
        rejected: rejected.collect(),
        judged_at: Some(timestamp(evaluation.judged_at)),
        model: evaluation.model.clone(),
        prompt_tokens: tokens(evaluation.input_tokens),
        completion_tokens: tokens(evaluation.output_tokens),
        left_out: Vec::new(),
    })
}

/// A place in the list, for a page token.
pub(super) fn position(changeset: &Changeset) -> String {
    format!("{} {}", changeset.created_at.micros(), changeset.id)
}

fn state(shown: &Shown) -> pb::ChangesetState {
    match shown.changeset.stage {
        Stage::Pending if shown.stale.is_some() => pb::ChangesetState::Stale,
        Stage::Pending => pb::ChangesetState::Pending,
        Stage::Applying => pb::ChangesetState::Applying,
        Stage::Applied if shown.reverted => pb::ChangesetState::Reverted,
        Stage::Applied => pb::ChangesetState::Applied,
        Stage::Rejected => pb::ChangesetState::Rejected,
        Stage::Stale => pb::ChangesetState::Stale,
        Stage::Superseded => pb::ChangesetState::Superseded,
    }
}

fn proposed(shown: &Shown) -> Vec<pb::ProposedOperation> {
    match shown.operations.is_empty() {
        true => shown.changeset.operations.iter().map(bare).collect(),
        false => shown.operations.iter().map(judged).collect(),
    }
}

fn judged(judged: &Judged) -> pb::ProposedOperation {
    let diff = judged.diff();
    let told = judged.left_out.iter();
    let told = told.map(|text| Omission { field: text.field.clone(), bytes: text.bytes });
    pb::ProposedOperation {
        operation: Some(operation(&judged.operation)),
        current_name: judged.current_name.clone(),
        current_content: judged.current_content.clone(),
        problem: judged.problem.clone(),
        left_out: told.chain(diff.is_none().then(|| omission("diff", 0))).collect(),
        diff: diff.unwrap_or_default(),
    }
}

fn source(source: &Source) -> pb::Source {
    pb::Source {
        session_id: source.session.as_ref().map_or(String::new(), ToString::to_string),
        turn_seq: source.turn_seq.unwrap_or_default(),
        alternative_id: source.alternative.as_ref().map_or(String::new(), ToString::to_string),
        excerpt: source.excerpt.clone(),
        labels: source.labels.clone().into_iter().collect(),
    }
}

fn timestamp(at: Timestamp) -> prost_types::Timestamp {
    let micros = at.micros();
    prost_types::Timestamp {
        seconds: micros.div_euclid(1_000_000),
        nanos: i32::try_from(micros.rem_euclid(1_000_000) * 1_000).unwrap_or(0),
    }
}
