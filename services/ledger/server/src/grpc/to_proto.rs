//! The ledger's values as its callers see them; nothing here can fail.

use kernel::{Timestamp, limits};
use ledger_core::{
    Record, Settings,
    event::{Cause, Usage},
    settings::{AssistantFirst, ModelChoice, OnOverflow},
    state::Phase,
};
use prompt::{
    ProfileMode,
    derive::{Author, Tier, TurnClass},
    prefix::SharedPrefix,
};
use wire::{common::v1 as common_pb, ledger::v1 as pb, mesh::v1 as mesh_pb};

use crate::{
    ledger::{
        AlternativeView, DiagnosticRecord, Evaluation, Frame, Leased, Origin, Provenance, Replay,
        SessionView, ShownBlock, ShownRequest, TurnView, Verified,
    },
    store::SessionCursor,
};

pub(super) fn timestamp(at: Timestamp) -> prost_types::Timestamp {
    prost_types::Timestamp {
        seconds: at.micros().div_euclid(1_000_000),
        nanos: i32::try_from(at.micros().rem_euclid(1_000_000) * 1_000).unwrap_or(0),
    }
}

pub(super) fn session(view: &SessionView) -> pb::Session {
    pb::Session {
        session_id: view.session.to_string(),
        title: view.title.clone(),
        settings: Some(settings(&view.settings)),
        created_at: Some(timestamp(view.created_at)),
        head: view.head,
        turn_count: view.turn_count,
        active_generation_id: view
            .active_generation
            .as_ref()
            .map(|generation| generation.to_string())
            .unwrap_or_default(),
    }
}

/// Where the next page of sessions begins.
pub(super) fn session_cursor(view: &SessionView) -> String {
    let cursor =
        SessionCursor { created_at: view.created_at.micros(), session: view.session.to_string() };
    serde_json::to_string(&cursor).unwrap_or_default()
}

fn settings(settings: &Settings) -> pb::SessionSettings {
    pb::SessionSettings {
        model: settings.model.as_ref().map(model),
        profile_mode: profile_mode(settings.profile_mode).into(),
        on_overflow: match settings.on_overflow {
            OnOverflow::TrimOldest => pb::OverflowPolicy::TrimOldest,
            OnOverflow::Refuse | OnOverflow::Compact => pb::OverflowPolicy::Refuse,
        }
        .into(),
        refresh_tokens: settings.refresh_tokens,
        proposal: Some(pb::ProposalSettings {
            agent_off: !settings.proposal.agent,
            wait_ms: u32::try_from(settings.proposal.wait_ms).unwrap_or(u32::MAX),
            model: settings.proposal.model.as_ref().map(model),
        }),
        refuse_assistant_first: settings.assistant_first == AssistantFirst::Refuse,
    }
}

fn model(choice: &ModelChoice) -> pb::Model {
    pb::Model {
        provider: choice.provider.clone(),
        name: choice.name.clone(),
        window_tokens: choice.window_tokens,
    }
}

fn profile_mode(mode: ProfileMode) -> common_pb::ProfileMode {
    match mode {
        ProfileMode::Journal => common_pb::ProfileMode::Journal,
        ProfileMode::InChat => common_pb::ProfileMode::InChat,
        ProfileMode::Contract => common_pb::ProfileMode::Contract,
    }
}

fn author(author: Author) -> common_pb::Author {
    match author {
        Author::User => common_pb::Author::User,
        Author::Assistant => common_pb::Author::Assistant,
        Author::System => common_pb::Author::System,
    }
}

fn phase(phase: Phase) -> pb::Phase {
    match phase {
        Phase::Received => pb::Phase::Received,
        Phase::Seeded => pb::Phase::Seeded,
        Phase::Generating => pb::Phase::Generating,
        Phase::Completed => pb::Phase::Completed,
        Phase::Failed => pb::Phase::Failed,
        Phase::Aborted => pb::Phase::Aborted,
    }
}

fn usage(usage: Usage) -> pb::Usage {
    let tokens = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    pb::Usage {
        prompt_tokens: tokens(usage.input_tokens),
        completion_tokens: tokens(usage.output_tokens),
        cached_tokens: tokens(usage.cached_tokens),
    }
}

pub(super) fn turn(view: &TurnView) -> pb::Turn {
    pb::Turn {
        turn_id: view.turn.to_string(),
        session_id: view.session.to_string(),
        seq: view.seq,
        author: author(view.author).into(),
        phase: phase(view.phase).into(),
        content: view.content.clone(),
        turn_class: match view.class {
            None => pb::TurnClass::Unspecified,
            Some(TurnClass::AssistantOutput) => pb::TurnClass::AssistantOutput,
            Some(TurnClass::Narration) => pb::TurnClass::Narration,
            Some(TurnClass::Instruction) => pb::TurnClass::Instruction,
        }
        .into(),
        alternatives: view.alternatives.iter().map(alternative).collect(),
        selected_alternative_id: view.selected.as_ref().map(|s| s.to_string()).unwrap_or_default(),
        revision: view.revision,
        in_context: view.in_context,
        provenance: view.provenance.as_ref().map(provenance),
        recorded_at: Some(timestamp(view.recorded_at)),
        offset: view.offset,
    }
}

fn alternative(view: &AlternativeView) -> pb::Alternative {
    let failure = view.failure.as_ref().map(|(reason, detail)| match detail.as_str() {
        "" => reason.clone(),
        detail => format!("{reason}: {detail}"),
    });
    pb::Alternative {
        alternative_id: view.alternative.as_ref().map(|a| a.to_string()).unwrap_or_default(),
        phase: phase(view.phase).into(),
        content: view.content.clone(),
        usage: Some(usage(view.usage)),
        failure: failure.unwrap_or_default(),
        recorded_at: Some(timestamp(view.recorded_at)),
        finish_reason: view.finish.clone().unwrap_or_default(),
    }
}

fn provenance(given: &Provenance) -> pb::Provenance {
    pb::Provenance {
        write_actor: given.write_actor.clone(),
        claimed_author: author(given.claimed_author).into(),
        injected_at: Some(timestamp(given.injected_at)),
        claimed_time: given.claimed_at.map(timestamp),
        origin: given.origin.clone(),
        trust: tier(given.trust).to_owned(),
        visibility: Some(pb::Visibility {
            model: given.visibility.model,
            user: given.visibility.user,
            memory_eligible: given.visibility.memory_eligible,
        }),
    }
}

fn tier(tier: Tier) -> &'static str {
    tier.name()
}

pub(super) fn event(record: &Record) -> pb::Event {
    pb::Event {
        offset: record.meta.offset,
        recorded_at: Some(timestamp(record.meta.recorded_at)),
        kind: record.meta.kind.name().to_owned(),
        actor: record.meta.actor.label(),
        payload: record.kept.as_ref().map(|kept| kept.payload.clone()).unwrap_or_default(),
        commitment: record.commitment.as_bytes().to_vec(),
        chain: record.chain.as_bytes().to_vec(),
    }
}

pub(super) fn verified(found: Verified) -> pb::VerifySessionResponse {
    pb::VerifySessionResponse {
        head: found.head,
        first_bad_offset: found.first_bad.unwrap_or(0),
        requests_checked: found.requests,
        drifted_requests: found.drifted_requests,
        snapshot_drifted: found.snapshot_drifted,
    }
}

pub(super) fn frame(frame: &Frame) -> pb::TurnFrame {
    use pb::turn_frame::Frame as Pb;
    let frame = match frame {
        Frame::Started { generation, message, reply_seq } => Pb::TurnStarted(pb::TurnStarted {
            generation_id: generation.to_string(),
            message: message.as_deref().map(turn),
            reply_seq: *reply_seq,
        }),
        Frame::Profile { fingerprint, diagnostics } => Pb::Profile(pb::ProfileCompiled {
            fingerprint: fingerprint.clone(),
            diagnostics: diagnostics.iter().map(diagnostic).collect(),
        }),
        Frame::Sent(sent) => Pb::RequestSent(pb::RequestSent {
            offset: sent.offset,
            shared_prefix: Some(shared_prefix(sent.shared, sent.total_bytes, sent.broken)),
            normalizations: sent.normalizations.clone(),
        }),
        Frame::Delta { offset, text } => {
            Pb::Delta(pb::Delta { offset: *offset, text: text.clone() })
        }
        Frame::Completed(completed) => Pb::TurnCompleted(pb::TurnCompleted {
            turn: Some(turn(&completed.turn)),
            usage: Some(usage(completed.usage)),
        }),
        Frame::Proposed(proposed) => Pb::WorldChangeProposed(pb::WorldChangeProposed {
            changeset_id: proposed.changeset.clone(),
            world_id: proposed.world.clone(),
            world_name: proposed.world_name.clone(),
            summary: proposed.summary.clone(),
            operation_count: proposed.operations,
        }),
        Frame::Done(evaluation) => Pb::Done(pb::Done { evaluation: state(*evaluation).into() }),
        Frame::Ended { aborted, reason, message, turn: view } => {
            let ended = pb::TurnFailed {
                reason: reason.clone(),
                message: message.clone(),
                turn: Some(turn(view)),
            };
            if *aborted { Pb::Aborted(ended) } else { Pb::Failed(ended) }
        }
    };
    pb::TurnFrame { frame: Some(frame) }
}

fn state(evaluation: Evaluation) -> pb::EvaluationState {
    match evaluation {
        Evaluation::NotAsked => pb::EvaluationState::NotAsked,
        Evaluation::Finished => pb::EvaluationState::Finished,
        Evaluation::Pending => pb::EvaluationState::Pending,
        Evaluation::Failed => pb::EvaluationState::Failed,
    }
}

fn diagnostic(record: &DiagnosticRecord) -> common_pb::Diagnostic {
    common_pb::Diagnostic {
        code: record.code.clone(),
        severity: record.severity,
        message: record.message.clone(),
        place: record.place.clone(),
        details: record.details.clone().into_iter().collect(),
    }
}

fn shared_prefix(
    shared: SharedPrefix,
    total_bytes: u64,
    broken: Option<(Cause, u32)>,
) -> pb::SharedPrefix {
    pb::SharedPrefix {
        blocks: shared.blocks,
        bytes: shared.bytes,
        total_bytes,
        break_cause: broken
            .map_or(pb::BreakCause::Unspecified, |(cause, _)| break_cause(cause))
            .into(),
        first_differing_block: broken.map_or(0, |(_, block)| block),
    }
}

fn break_cause(cause: Cause) -> pb::BreakCause {
    match cause {
        Cause::Rewrite => pb::BreakCause::Rewrite,
        Cause::Edit => pb::BreakCause::Edit,
        Cause::Retract => pb::BreakCause::Retract,
        Cause::Select => pb::BreakCause::Select,
        Cause::Regenerate => pb::BreakCause::Regenerate,
        Cause::Compact => pb::BreakCause::Compact,
        Cause::Trim => pb::BreakCause::Trim,
        Cause::ModelChanged => pb::BreakCause::ModelChanged,
        Cause::ToolsChanged => pb::BreakCause::ToolsChanged,
        Cause::Mode => pb::BreakCause::Mode,
        Cause::Guidance => pb::BreakCause::Guidance,
        Cause::Unexplained => pb::BreakCause::Unexplained,
    }
}

pub(super) fn request_record(shown: &ShownRequest) -> pb::RequestRecord {
    let stamp = &shown.stamp;
    let broken = stamp.broken.map(|broken| (broken.cause, broken.block));
    pb::RequestRecord {
        offset: shown.offset,
        requested_at: Some(timestamp(shown.requested_at)),
        model: stamp.model.as_ref().map(model),
        profile_mode: profile_mode(stamp.mode).into(),
        render_version: stamp.versions.render.into(),
        adapter_version: stamp.versions.adapter,
        content_hash: stamp.sent.as_bytes().to_vec(),
        replay: match shown.replay {
            None => pb::ReplayState::Unspecified,
            Some(Replay::Exact) => pb::ReplayState::Exact,
            Some(Replay::RenderDrift) => pb::ReplayState::RenderDrift,
            Some(Replay::Reconstructed) => pb::ReplayState::Reconstructed,
        }
        .into(),
        shared_prefix: Some(shared_prefix(stamp.shared, shown.record.total_bytes, broken)),
        call_config_json: stamp.call_config.to_string(),
        audit_json: shown.record.audit.clone(),
        diagnostics: shown.record.diagnostics.iter().map(diagnostic).collect(),
        normalizations: stamp.normalizations.clone(),
        generation_id: stamp.generation.to_string(),
        reply_seq: stamp.slot.unwrap_or(0),
        block_count: u32::try_from(shown.blocks.len()).unwrap_or(u32::MAX),
    }
}

/// The record, then every block in parts that one message carries.
pub(super) fn request_parts(shown: &ShownRequest) -> Vec<pb::GetRequestResponse> {
    use pb::get_request_response::Part;
    let record = Part::Record(request_record(shown));
    let blocks = shown.blocks.iter().enumerate().flat_map(|(at, block)| block_parts(at, block));
    std::iter::once(record)
        .chain(blocks.map(Part::Block))
        .map(|part| pb::GetRequestResponse { part: Some(part) })
        .collect()
}

fn block_parts(at: usize, shown: &ShownBlock) -> Vec<pb::BlockPart> {
    let mut parts = Vec::new();
    let mut rest = shown.block.text.as_str();
    loop {
        let mut end = rest.len().min(limits::CHUNK_BYTES);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (text, after) = rest.split_at(end);
        rest = after;
        let more = !rest.is_empty();
        parts.push(pb::BlockPart {
            index: u32::try_from(at).unwrap_or(u32::MAX),
            role: shown.block.role.name().to_owned(),
            name: shown.block.name.clone().unwrap_or_default(),
            text: text.to_owned(),
            more,
            origins: if more { Vec::new() } else { shown.origins.iter().map(origin).collect() },
        });
        if !more {
            return parts;
        }
    }
}

fn origin(origin: &Origin) -> pb::Origin {
    pb::Origin {
        kind: origin.kind.to_owned(),
        offset: origin.offset,
        key: origin.key.clone(),
        reason: origin.reason.clone(),
    }
}

pub(super) fn job(leased: Leased) -> mesh_pb::Job {
    let work = leased.work;
    let worlds = work.worlds.into_iter().map(|world| mesh_pb::WorldAtRevision {
        world_id: world.world,
        name: world.name,
        content_revision: world.revision,
    });
    let labels = [("session", leased.title), ("user", work.user), ("character", work.character)];
    let evaluate = mesh_pb::EvaluateTurn {
        session_id: leased.session.to_string(),
        turn_seq: work.seq,
        turn_id: work.turn.to_string(),
        alternative_id: work.alternative.to_string(),
        attempt: work.attempt,
        turn_revision: work.revision,
        user_text: leased.user_text,
        reply_text: leased.reply_text,
        worlds: worlds.collect(),
        labels: labels.map(|(name, label)| (name.to_owned(), label)).into(),
        model: work.model.as_ref().map(model),
    };
    mesh_pb::Job {
        job_id: leased.lease.job.to_string(),
        fence: leased.lease.fence,
        attempt: leased.attempt,
        principal: Some(mesh_pb::Caller {
            tenant: leased.owner.tenant.to_string(),
            subject: leased.owner.subject.to_string(),
            scopes: work.scopes.iter().map(|scope| scope.name().to_owned()).collect(),
        }),
        work: Some(mesh_pb::job::Work::EvaluateTurn(evaluate)),
    }
}
