//! Reads the model's events as ours and replays them step by step.

use std::sync::Arc;

use kernel::{AlternativeId, GenerationId, Salt, SessionId, Subject, Timestamp, TurnId, digest};
use prompt::{
    ProfileMode, Role, SegmentKind,
    derive::{Author, Tier, TurnClass},
    item::ProfileMark,
    journal::RenderVersion,
    prefix::SharedPrefix,
};
use serde_json::Value;

use super::{super::State, anchored, layout};
use crate::{actor::Actor, event::*, state::Placed};

/// Replays one recorded session, comparing placements, causes and contexts.
#[track_caller]
pub(super) fn replay(index: usize, script: &Value) {
    let (mut state, mut log, mut context) = (State::default(), Vec::new(), Vec::new());
    for recorded in list(&script["events"]) {
        let place = format!("session {index}, event {} {recorded}", log.len() + 1);
        let body = body_of(&state, recorded);
        if let Body::ContextAdded(ContextAdded { keyed: Some(keyed), .. }) = &body {
            placed_alike(&state, keyed, &place);
        }
        if let Some(causes) = recorded.get("causes") {
            assert_eq!(causes_of(&state), causes_in(causes), "{place}");
        }
        let event = Event::seal(state.head, meta(&state, body.kind()), salt(), body);
        state.apply(&event).unwrap_or_else(|error| panic!("{place}: {error}"));
        log.push(event);
        assert!(anchored(&state.items), "{place}: a dangling anchor");
        if let Some(expected) = recorded.get("layout") {
            let kept = number(&expected[0]).expect("a count") as usize;
            context.truncate(kept);
            context.extend(list(expected)[1..].iter().map(text));
            assert_eq!(layout(&state, &log), context, "{place}");
        }
    }
    let expected: Vec<_> = list(&script["layout"]).iter().map(text).collect();
    assert_eq!(layout(&state, &log), expected, "session {index} at its end");
    for (seq, in_context) in script["context"].as_object().expect("turns") {
        let turn = state.turn(seq.parse().expect("a seq")).expect("the turn exists");
        assert_eq!(turn.in_context, in_context == &Value::Bool(true), "session {index} turn {seq}");
    }
}

fn placed_alike(state: &State, keyed: &Keyed, place: &str) {
    let decided = state.place(&keyed.key, keyed.profile.is_some());
    let recorded = match keyed.place {
        Place::Drop(at) => Place::Edit(at),
        place => place,
    };
    let recorded = Placed { place: recorded, supersedes: keyed.supersedes };
    assert_eq!(decided, recorded, "{place}");
}

fn causes_of(state: &State) -> Vec<(String, bool)> {
    let causes = state.causes.iter().map(|pending| {
        let name = format!("{:?}", pending.cause).to_uppercase();
        (name, pending.touched == super::super::Touched::Everything)
    });
    causes.collect()
}

fn causes_in(recorded: &Value) -> Vec<(String, bool)> {
    list(recorded).iter().map(|cause| (text(&cause[0]), cause[1] == Value::Bool(true))).collect()
}

fn body_of(state: &State, recorded: &Value) -> Body {
    let said = || text(&recorded["text"]);
    let seq = || number(&recorded["seq"]).expect("a seq");
    match text(&recorded["kind"]).as_str() {
        "turn-received" => {
            Body::TurnReceived(TurnReceived { seq: seq(), turn: turn(seq()), text: said() })
        }
        "turn-seeded" => seeded(seq(), recorded),
        "generation-started" => started(state, recorded),
        "context-added" => added(recorded),
        "tool-requested" => {
            Body::ToolRequested(ToolRequested { name: "tool".into(), text: said() })
        }
        "tool-settled" => {
            let run = number(&recorded["run"]).expect("a run");
            Body::ToolSettled(ToolSettled { run, ok: true, text: said() })
        }
        "llm-request-requested" => requested(state, recorded),
        "turn-completed" => completed(state, said()),
        "turn-failed" | "compaction-ended" => {
            let (generation, fence, seq) = running(state);
            let reason = Failure::Provider;
            Body::TurnFailed(TurnFailed {
                generation,
                fence,
                seq,
                reason,
                detail: None,
                partial: None,
            })
        }
        "turn-aborted" => {
            let (generation, fence, seq) = running(state);
            let reason = AbortReason::Caller;
            Body::TurnAborted(TurnAborted { generation, fence, seq, reason, partial: None })
        }
        "alternative-selected" => {
            let seq = number(&recorded["slot"]).expect("a slot");
            let alternative = alternative(state, seq, &recorded["alt"]).expect("it exists");
            Body::AlternativeSelected(AlternativeSelected { seq, alternative })
        }
        "turn-edited" => Body::TurnEdited(TurnEdited {
            seq: seq(),
            alternative: alternative(state, seq(), &recorded["alt"]),
            text: said(),
            summaries: summaries(recorded),
        }),
        "turn-retracted" => {
            Body::TurnRetracted(TurnRetracted { seq: seq(), summaries: summaries(recorded) })
        }
        "context-rewritten" => Body::ContextRewritten(ContextRewritten { op: rewrite(recorded) }),
        other => panic!("an unknown kind {other}"),
    }
}

fn seeded(seq: u64, recorded: &Value) -> Body {
    let said = text(&recorded["text"]);
    let (author, class) = match text(&recorded["role"]).as_str() {
        "assistant" => (Author::Assistant, TurnClass::AssistantOutput),
        "developer" => (Author::System, TurnClass::Narration),
        _ => {
            let (turn, author) = (turn(seq), Author::User);
            let imported =
                TurnImported { seq, turn, text: said, author, name: None, claimed_at: None };
            return Body::TurnImported(imported);
        }
    };
    let model = recorded["visible"] != Value::Bool(false);
    Body::TurnSeeded(TurnSeeded {
        seq,
        turn: turn(seq),
        text: said,
        author,
        class,
        effects: Effects::None,
        visibility: Visibility { model, user: true, memory_eligible: false },
        claimed_at: None,
        origin: String::new(),
        trust: Tier::Owner,
    })
}

fn started(state: &State, recorded: &Value) -> Body {
    let reply = number(&recorded["slot"]).map(|seq| ReplyTarget {
        seq,
        turn: turn(seq),
        opens: state.turn(seq).is_none(),
        own: number(&recorded["own"]),
    });
    Body::GenerationStarted(GenerationStarted {
        generation: id(GenerationId::new(format!("g{}", state.head.offset))),
        fence: number(&recorded["fence"]).expect("a fence"),
        reply,
        guidance: recorded["guid"].as_str().map(str::to_owned),
    })
}

fn added(recorded: &Value) -> Body {
    let content = Some(text(&recorded["text"]));
    if recorded["key"].is_null() {
        let tier = match text(&recorded["tier"]).as_str() {
            "platform" => Tier::Platform,
            "owner" => Tier::Owner,
            "agent" => Tier::Agent,
            _ => Tier::Worker,
        };
        return Body::ContextAdded(ContextAdded { content, tier, actor: "a".into(), keyed: None });
    }
    let at = || number(&recorded["place"][1]).expect("an offset");
    let place = match text(&recorded["place"][0]).as_str() {
        "edit" if recorded["drop"] == Value::Bool(true) => Place::Drop(at()),
        "edit" => Place::Edit(at()),
        "before" => Place::Before(at()),
        "lead" => Place::Lead,
        _ => Place::Tail,
    };
    let kind =
        if recorded["lore"] == Value::Bool(true) { SegmentKind::Lore } else { SegmentKind::Prompt };
    let profile = (text(&recorded["id"][0]) == "loader").then(|| ProfileMark {
        kind,
        role: Role::System,
        dynamic: false,
        sinks: false,
        source_hash: recorded["src"].as_str().map(|source| digest(source.as_bytes())),
    });
    let quotes =
        recorded.get("quotes").map(|quotes| list(quotes).iter().filter_map(number).collect());
    let keyed = Keyed {
        key: text(&recorded["key"]).into(),
        place,
        supersedes: number(&recorded["sup"]),
        owner: Tier::Owner,
        profile,
        quotes: quotes.unwrap_or_default(),
    };
    let content = content.filter(|_| recorded["wd"] != Value::Bool(true));
    Body::ContextAdded(ContextAdded {
        content,
        tier: Tier::Owner,
        actor: "a".into(),
        keyed: Some(keyed),
    })
}

fn requested(state: &State, recorded: &Value) -> Body {
    let guidance = state.generation().and_then(|generation| generation.guidance);
    let tail = recorded["extra"].as_str().map(|extra| match guidance {
        Some(at) if !extra.starts_with("INSTR") => StampTail::Guidance(at.offset),
        _ => StampTail::SummaryInstruction(extra.to_owned()),
    });
    Body::LlmRequestRequested(LlmRequestRequested {
        generation: id(GenerationId::new("g")),
        slot: number(&recorded["slot"]),
        mode: ProfileMode::Journal,
        model: None,
        versions: Versions { render: RenderVersion::V1, adapter: 1 },
        sent: digest(b""),
        call_config: Value::Null,
        active: keys(&recorded["active"]),
        tail,
        shared: SharedPrefix { blocks: 0, bytes: 0, complete: true },
        broken: None,
        normalizations: vec![],
    })
}

fn completed(state: &State, text: String) -> Body {
    let (generation, fence, seq) = running(state);
    Body::TurnCompleted(TurnCompleted {
        alternative: AlternativeId::derived(&[&state.head.offset.to_string()]),
        generation,
        fence,
        seq: seq.expect("a slot"),
        text,
        usage: Usage::default(),
        finish: None,
        carry: None,
    })
}

fn rewrite(recorded: &Value) -> Rewrite {
    let key = || Arc::from(text(&recorded["id"][1]));
    match text(&recorded["op"]).as_str() {
        "star" => Rewrite::DeleteAll,
        "replace" => Rewrite::Replace { key: key(), content: text(&recorded["text"]) },
        "delete" => Rewrite::DeleteKey { key: key() },
        _ => {
            let summary = recorded["text"].as_str().map(str::to_owned);
            let covers = list(&recorded["covers"]).iter().filter_map(number).collect();
            Rewrite::Range(RangeRewrite {
                before: number(&recorded["before"]).expect("a turn"),
                covers,
                summary,
                active: keys(&recorded["active"]),
                closes: None,
            })
        }
    }
}

// --- small readings ---

fn running(state: &State) -> (GenerationId, u64, Option<u64>) {
    let generation = state.generation().expect("a generation runs");
    (generation.id.clone(), generation.fence, generation.slot)
}

fn alternative(state: &State, seq: u64, at: &Value) -> Option<AlternativeId> {
    let at = usize::try_from(number(at)?).ok()?;
    Some(state.turn(seq)?.slot()?.alternatives.get(at)?.id.clone())
}

fn summaries(recorded: &Value) -> Vec<NewSummary> {
    let new = recorded.get("summary").map(|new| NewSummary {
        offset: number(&new["off"]).expect("an offset"),
        text: text(&new["text"]),
    });
    new.into_iter().collect()
}

fn keys(recorded: &Value) -> Vec<Arc<str>> {
    list(recorded).iter().map(|key| text(key).into()).collect()
}

fn turn(seq: u64) -> TurnId {
    TurnId::derived(&[&seq.to_string()])
}

fn meta(state: &State, kind: Kind) -> Meta {
    let subject = id(Subject::new("me"));
    Meta {
        session: id(SessionId::new("s")),
        offset: state.head.offset + 1,
        recorded_at: Timestamp::from_micros(0),
        actor: Actor { tier: Tier::Owner, subject, claim: None },
        kind,
        request_id: None,
    }
}

fn salt() -> Salt {
    Salt::from_bytes([7; 16])
}

fn id<T, E: std::fmt::Debug>(made: Result<T, E>) -> T {
    made.expect("a well-formed id")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64()
}
