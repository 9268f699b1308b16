//! One payload of every kind with every field set, and the variants that differ in form.

use kernel::{Owner, Subject, TenantId, digest};
use prompt::{Role, SegmentKind, item::ProfileMark, journal::RenderVersion, prefix::SharedPrefix};
use serde_json::json;

use super::super::*;
use crate::settings::{EffectSettings, ModelChoice, ProposalSettings, Settings};

pub(super) fn all() -> Vec<(&'static str, Body)> {
    [sessions(), turns(), generations(), context(), takebacks(), effects()].concat()
}

fn id<T, E: std::fmt::Debug>(made: Result<T, E>) -> T {
    made.expect("a well-formed id")
}

fn settings() -> Settings {
    let model = ModelChoice { provider: "scripted".into(), name: "m".into(), window_tokens: 8_192 };
    Settings {
        title: Some("Night ferry".into()),
        model: Some(model.clone()),
        proposal: ProposalSettings { agent: true, wait_ms: 30_000, model: Some(model) },
        effects: EffectSettings { affect: true, memory: false },
        ..Settings::default()
    }
}

fn sessions() -> Vec<(&'static str, Body)> {
    let owner = Owner { tenant: id(TenantId::new("t")), subject: id(Subject::new("me")) };
    let parent = Parent { session: id(SessionId::new("s0")), relation: Relation::Forked, at: 12 };
    vec![
        (
            "session-created",
            Body::SessionCreated(SessionCreated {
                owner,
                settings: settings(),
                parent: Some(parent),
            }),
        ),
        ("session-updated", Body::SessionUpdated(SessionUpdated { settings: settings() })),
        ("session-deleted", Body::SessionDeleted(SessionDeleted {})),
    ]
}

fn turns() -> Vec<(&'static str, Body)> {
    let turn = id(kernel::TurnId::new("t1"));
    let claimed_at = Some(Timestamp::from_micros(1_796_016_926_000_001));
    let received =
        TurnReceived { seq: 1, turn: turn.clone(), text: "Hello \"there\" \u{1F600}\n".into() };
    let seeded = TurnSeeded {
        seq: 0,
        turn: turn.clone(),
        text: "The ferry leaves at night.".into(),
        author: prompt::derive::Author::Assistant,
        class: prompt::derive::TurnClass::AssistantOutput,
        effects: Effects::MemoryImport,
        visibility: Visibility { model: true, user: true, memory_eligible: true },
        claimed_at,
        origin: "card".into(),
        trust: prompt::derive::Tier::Owner,
    };
    let imported = TurnImported {
        seq: 2,
        turn,
        text: "I was here before.".into(),
        author: prompt::derive::Author::User,
        name: Some("Ada".into()),
        claimed_at,
    };
    vec![
        ("turn-received", Body::TurnReceived(received)),
        ("turn-seeded", Body::TurnSeeded(seeded)),
        ("turn-imported", Body::TurnImported(imported)),
    ]
}

fn generations() -> Vec<(&'static str, Body)> {
    let generation = id(kernel::GenerationId::new("g1"));
    let alternative = id(kernel::AlternativeId::new("a1"));
    let reply =
        ReplyTarget { seq: 2, turn: id(kernel::TurnId::new("t2")), opens: true, own: Some(1) };
    let started = GenerationStarted {
        generation: generation.clone(),
        fence: 1,
        reply: Some(reply),
        guidance: Some("be brief".into()),
    };
    let usage = Usage { input_tokens: 900, output_tokens: 40, cached_tokens: 850 };
    let completed = TurnCompleted {
        generation: generation.clone(),
        fence: 1,
        seq: 2,
        alternative,
        text: "Fine.".into(),
        usage,
        finish: Some("stop".into()),
        carry: Some(json!({"timed": {"e1": 3}, "variables": {"mood": 0.50}})),
    };
    let failed = TurnFailed {
        generation: generation.clone(),
        fence: 1,
        seq: Some(2),
        reason: Failure::Provider,
        detail: Some("503".into()),
        partial: Some("Fi".into()),
    };
    let aborted = TurnAborted {
        generation: generation.clone(),
        fence: 2,
        seq: Some(2),
        reason: AbortReason::Forked,
        partial: Some("F".into()),
    };
    let stamp = LlmRequestRequested {
        generation,
        slot: Some(2),
        mode: prompt::ProfileMode::Journal,
        model: settings().model,
        versions: Versions { render: RenderVersion::V1, adapter: 1 },
        sent: digest(b"sent"),
        call_config: json!({"temperature": 0.7, "max_tokens": 300}),
        active: vec!["lore:w:e".into()],
        tail: Some(StampTail::Guidance(7)),
        shared: SharedPrefix { blocks: 3, bytes: 120, complete: false },
        broken: Some(Break { cause: Cause::Guidance, block: 3 }),
        normalizations: vec!["user_first".into()],
    };
    let summary = LlmRequestRequested {
        slot: None,
        tail: Some(StampTail::SummaryInstruction("Sum up.".into())),
        ..stamp.clone()
    };
    vec![
        ("generation-started", Body::GenerationStarted(started)),
        ("llm-request-requested", Body::LlmRequestRequested(stamp)),
        ("llm-request-requested.summary", Body::LlmRequestRequested(summary)),
        ("turn-completed", Body::TurnCompleted(completed)),
        ("turn-failed", Body::TurnFailed(failed)),
        ("turn-aborted", Body::TurnAborted(aborted)),
    ]
}

fn context() -> Vec<(&'static str, Body)> {
    let tier = prompt::derive::Tier::Platform;
    let profile = ProfileMark {
        kind: SegmentKind::Lore,
        role: Role::System,
        dynamic: true,
        sinks: false,
        source_hash: Some(digest(b"source")),
    };
    let keyed = |place| Keyed {
        key: "lore:w:e".into(),
        place,
        supersedes: Some(4),
        owner: tier,
        profile: Some(profile.clone()),
        quotes: vec![1],
    };
    let added = |place| {
        let content = Some("The bridge is out.".to_owned());
        Body::ContextAdded(ContextAdded {
            content,
            tier,
            actor: "a".into(),
            keyed: Some(keyed(place)),
        })
    };
    let rewritten = |op| Body::ContextRewritten(ContextRewritten { op });
    let range = RangeRewrite {
        before: 9,
        summary: Some("They met.".into()),
        covers: vec![0, 1],
        active: vec!["lore:w:e".into()],
        closes: Some(id(kernel::GenerationId::new("g2"))),
    };
    vec![
        ("context-added.tail", added(Place::Tail)),
        ("context-added.lead", added(Place::Lead)),
        ("context-added.edit", added(Place::Edit(4))),
        ("context-added.drop", added(Place::Drop(4))),
        ("context-added.before", added(Place::Before(5))),
        (
            "context-rewritten.replace",
            rewritten(Rewrite::Replace { key: "k".into(), content: "c".into() }),
        ),
        ("context-rewritten.delete-key", rewritten(Rewrite::DeleteKey { key: "k".into() })),
        ("context-rewritten.delete-message", rewritten(Rewrite::DeleteMessage { offset: 3 })),
        ("context-rewritten.delete-all", rewritten(Rewrite::DeleteAll)),
        ("context-rewritten.range", rewritten(Rewrite::Range(range))),
    ]
}

fn takebacks() -> Vec<(&'static str, Body)> {
    let alternative = id(kernel::AlternativeId::new("a1"));
    let summaries = vec![NewSummary { offset: 40, text: "They met, once.".into() }];
    let edited = TurnEdited {
        seq: 2,
        alternative: Some(alternative.clone()),
        text: "Better.".into(),
        summaries: summaries.clone(),
    };
    vec![
        (
            "alternative-selected",
            Body::AlternativeSelected(AlternativeSelected { seq: 2, alternative }),
        ),
        ("turn-edited", Body::TurnEdited(edited)),
        ("turn-retracted", Body::TurnRetracted(TurnRetracted { seq: 2, summaries })),
    ]
}

fn effects() -> Vec<(&'static str, Body)> {
    let alternative = id(kernel::AlternativeId::new("a1"));
    let changeset = ProposedChangeset {
        changeset: id(kernel::ChangesetId::new("c1")),
        world: id(kernel::WorldId::new("w1")),
        world_name: "The coast".into(),
        operations: 2,
        summary: "The bridge".into(),
    };
    let proposed = WorldChangeProposed {
        seq: 2,
        alternative: alternative.clone(),
        evaluation: id(kernel::EvaluationId::new("e1")),
        changesets: vec![changeset],
    };
    let affect = Affect { pleasure: -250, arousal: 1_000, dominance: 0 };
    let appraised = AffectAppraised {
        seq: 2,
        alternative: alternative.clone(),
        appraisal: affect,
        state: Affect::default(),
    };
    let memory = MemoryWritten {
        seq: 2,
        alternative: Some(alternative),
        origin: MemoryOrigin::Lived,
        trust: prompt::derive::Tier::Owner,
    };
    vec![
        (
            "tool-requested",
            Body::ToolRequested(ToolRequested { name: "dice".into(), text: "2d6".into() }),
        ),
        ("tool-settled", Body::ToolSettled(ToolSettled { run: 8, ok: true, text: "7".into() })),
        ("world-change-proposed", Body::WorldChangeProposed(proposed)),
        ("affect-appraised", Body::AffectAppraised(appraised)),
        ("memory-written", Body::MemoryWritten(memory)),
    ]
}
