//! What callers send, checked and turned into the ledger's own values; failures name the field.

use host::{
    caller::Caller,
    field::{self, known},
    idempotency::{Scope, request_hash},
    status::{invalid, over},
};
use kernel::{
    ChangesetId, Digest, EvaluationId, GenerationId, JobId, RequestId, SessionId, Timestamp,
    WorldId, limits,
};
use ledger_core::{
    Settings,
    command::{InvalidKey, InvalidText, Key, Text},
    decide::AuthoredTurn,
    event::{Effects, ProposedChangeset, Visibility},
    settings::{AssistantFirst, ModelChoice, OnOverflow, ProposalSettings},
};
use prompt::{
    ProfileMode,
    derive::{Author, TurnClass},
};
use tonic::Status;
use wire::{common::v1 as common_pb, ledger::v1 as pb, mesh::v1 as mesh_pb};

use crate::{
    attempt::Attempt,
    ledger::{AddContext, Finish, NewSession, Opening, SubmitTurn, WriteAuthoredTurn},
    store::{JobLease, SessionCursor},
};

type Checked<T> = Result<T, Status>;

pub(super) fn session_id(text: &str) -> Checked<SessionId> {
    field::id("session_id", SessionId::new(text))
}

pub(super) fn generation_id(text: &str) -> Checked<GenerationId> {
    field::id("generation_id", GenerationId::new(text))
}

pub(super) fn page_size(asked: u32) -> Checked<usize> {
    host::page::page_size(i32::try_from(asked).unwrap_or(i32::MAX))
}

pub(super) fn session_cursor(position: Option<String>) -> Checked<Option<SessionCursor>> {
    let cursor = position.map(|position| serde_json::from_str(&position));
    cursor.transpose().map_err(|_| invalid("page_token", "is not of this list"))
}

/// A position that is one number; the first page begins at 0.
pub(super) fn number_after(position: Option<String>) -> Checked<u64> {
    let number = position.map(|position| position.parse());
    let number = number.transpose().map_err(|_| invalid("page_token", "is not of this list"))?;
    Ok(number.unwrap_or(0))
}

fn attempt(
    caller: &Caller,
    method: &'static str,
    request_id: &str,
    request: Digest,
) -> Checked<(Attempt, Option<RequestId>)> {
    if request_id.is_empty() {
        return Ok((Attempt { scope: None, request }, None));
    }
    let id = field::id("request_id", RequestId::new(request_id))?;
    let scope = Scope::new(&caller.principal.owner, method, id.clone());
    Ok((Attempt { scope: Some(scope), request }, Some(id)))
}

fn required(request_id: Option<RequestId>) -> Checked<RequestId> {
    request_id.ok_or_else(|| invalid("request_id", "is required"))
}

pub(super) fn new_session(
    caller: &Caller,
    request: pb::CreateSessionRequest,
) -> Checked<NewSession> {
    let hash = request_hash(&request, |request| request.request_id.clear());
    let method = "skald.ledger.v1.SessionService/CreateSession";
    let (attempt, request_id) = attempt(caller, method, &request.request_id, hash)?;
    Ok(NewSession {
        attempt,
        request_id,
        title: title(request.title)?,
        settings: settings(request.settings.unwrap_or_default())?,
        selection: request.selection,
        opening: None,
    })
}

pub(super) fn new_session_with_opening(
    caller: &Caller,
    request: pb::CreateSessionWithOpeningRequest,
) -> Checked<NewSession> {
    let hash = request_hash(&request, |request| request.request_id.clear());
    let method = "skald.ledger.v1.AuthoredHistoryService/CreateSessionWithOpening";
    let (attempt, request_id) = attempt(caller, method, &request.request_id, hash)?;
    let opening = request.opening.ok_or_else(|| invalid("opening", "is required"))?;
    Ok(NewSession {
        attempt,
        request_id: Some(required(request_id)?),
        title: title(request.title)?,
        settings: settings(request.settings.unwrap_or_default())?,
        selection: request.selection,
        opening: Some(Opening(authored_turn("opening", opening)?)),
    })
}

fn title(title: String) -> Checked<String> {
    field::name("title", &title, limits::TITLE_CHARS_MAX)?;
    Ok(title)
}

fn settings(given: pb::SessionSettings) -> Checked<Settings> {
    let defaults = Settings::default();
    let overflow = known("settings.on_overflow", given.on_overflow)?;
    let proposal = given.proposal.unwrap_or_default();
    Ok(Settings {
        model: given.model.map(|given| model("settings.model", given)).transpose()?,
        profile_mode: profile_mode(given.profile_mode)?,
        on_overflow: match overflow {
            pb::OverflowPolicy::Unspecified | pb::OverflowPolicy::Refuse => OnOverflow::Refuse,
            pb::OverflowPolicy::TrimOldest => OnOverflow::TrimOldest,
        },
        refresh_tokens: match given.refresh_tokens {
            0 => defaults.refresh_tokens,
            tokens => tokens,
        },
        proposal: ProposalSettings {
            agent: !proposal.agent_off,
            wait_ms: match proposal.wait_ms {
                0 => defaults.proposal.wait_ms,
                ms => i64::from(ms),
            },
            model: proposal.model.map(|m| model("settings.proposal.model", m)).transpose()?,
        },
        assistant_first: if given.refuse_assistant_first {
            AssistantFirst::Refuse
        } else {
            AssistantFirst::Normalize
        },
        ..defaults
    })
}

fn model(field: &str, given: pb::Model) -> Checked<ModelChoice> {
    if given.provider.is_empty() {
        return Err(invalid(format!("{field}.provider"), "is empty"));
    }
    let pb::Model { provider, name, window_tokens } = given;
    field::name(&format!("{field}.provider"), &provider, limits::MODEL_NAME_CHARS_MAX)?;
    field::name(&format!("{field}.name"), &name, limits::MODEL_NAME_CHARS_MAX)?;
    Ok(ModelChoice { provider, name, window_tokens })
}

fn profile_mode(given: i32) -> Checked<ProfileMode> {
    Ok(match known("settings.profile_mode", given)? {
        common_pb::ProfileMode::Unspecified | common_pb::ProfileMode::Journal => {
            ProfileMode::Journal
        }
        common_pb::ProfileMode::InChat => ProfileMode::InChat,
        common_pb::ProfileMode::Contract => ProfileMode::Contract,
    })
}

pub(super) fn submit_turn(caller: &Caller, request: pb::SubmitTurnRequest) -> Checked<SubmitTurn> {
    let hash = request_hash(&request, |request| request.request_id.clear());
    let method = "skald.ledger.v1.TurnService/SubmitTurn";
    let (attempt, request_id) = attempt(caller, method, &request.request_id, hash)?;
    let guidance = Some(request.guidance).filter(|guidance| !guidance.is_empty());
    Ok(SubmitTurn {
        attempt,
        request_id: required(request_id)?,
        session: session_id(&request.session_id)?,
        content: request.content.map(|content| text("content", content)).transpose()?,
        guidance: guidance.map(|guidance| text("guidance", guidance)).transpose()?,
        expected_head: Some(request.expected_head).filter(|head| *head > 0),
        sampling: request.sampling.map(sampling).transpose()?,
    })
}

fn sampling(given: pb::Sampling) -> Checked<pb::Sampling> {
    let up_to = |field: &str, value: Option<f64>, most: f64| match value {
        Some(value) if !(0.0..=most).contains(&value) => {
            let why = format!("is {value}, not a number from 0 to {most}");
            Err(invalid(format!("sampling.{field}"), why))
        }
        _ => Ok(()),
    };
    up_to("temperature", given.temperature, limits::TEMPERATURE_MAX)?;
    up_to("top_p", given.top_p, 1.0)?;
    let max_tokens = given.max_tokens.unwrap_or(1) as usize;
    if max_tokens == 0 {
        return Err(invalid("sampling.max_tokens", "is 0"));
    }
    field::at_most("sampling.max_tokens", max_tokens, "tokens", limits::REPLY_TOKENS_MAX)?;
    field::at_most("sampling.stop", given.stop.len(), "texts", limits::STOPS_MAX)?;
    for (index, stop) in given.stop.iter().enumerate() {
        let at = format!("sampling.stop[{index}]");
        if stop.is_empty() {
            return Err(invalid(at, "is empty"));
        }
        field::chars(&at, stop, limits::STOP_CHARS_MAX)?;
    }
    Ok(given)
}

fn text(field: &str, given: String) -> Checked<Text> {
    Text::new(given).map_err(|why| too_long(field, &why))
}

fn too_long(field: &str, why: &InvalidText) -> Status {
    match why {
        InvalidText::TooLong(bytes) => over(field, *bytes, "bytes", limits::TURN_BYTES_MAX),
        InvalidText::Empty => invalid(field, why.to_string()),
    }
}

pub(super) fn add_context(caller: &Caller, request: pb::AddContextRequest) -> Checked<AddContext> {
    let hash = request_hash(&request, |request| request.request_id.clear());
    let method = "skald.ledger.v1.ContextService/AddContext";
    let (attempt, request_id) = attempt(caller, method, &request.request_id, hash)?;
    let key = request.key.map(|key| Key::new(&key)).transpose();
    let key = key.map_err(|why| match why {
        InvalidKey::TooLong(chars) => over("key", chars, "characters", limits::KEY_CHARS_MAX),
        why => invalid("key", why.to_string()),
    })?;
    let content = match key {
        // A section may say nothing; a message may not.
        Some(_) => Text::or_empty(request.content).map_err(|why| too_long("content", &why))?,
        None => text("content", request.content)?,
    };
    Ok(AddContext {
        attempt,
        request_id: required(request_id)?,
        session: session_id(&request.session_id)?,
        key,
        content,
        expected_head: Some(request.expected_head).filter(|head| *head > 0),
    })
}

pub(super) fn write_authored(
    caller: &Caller,
    request: pb::WriteAuthoredTurnRequest,
) -> Checked<WriteAuthoredTurn> {
    // `when_busy` says how to wait, not what to write: a retry may change it.
    let hash = request_hash(&request, |request| {
        request.request_id.clear();
        request.when_busy = 0;
    });
    let method = "skald.ledger.v1.AuthoredHistoryService/WriteAuthoredTurn";
    let (attempt, request_id) = attempt(caller, method, &request.request_id, hash)?;
    let busy: pb::WhenBusy = known("when_busy", request.when_busy)?;
    let turn = request.turn.ok_or_else(|| invalid("turn", "is required"))?;
    Ok(WriteAuthoredTurn {
        attempt,
        request_id: required(request_id)?,
        session: session_id(&request.session_id)?,
        turn: authored_turn("turn", turn)?,
        wait: busy == pb::WhenBusy::Wait,
    })
}

fn authored_turn(field: &str, given: pb::AuthoredTurn) -> Checked<AuthoredTurn> {
    let within = |name: &str| format!("{field}.{name}");
    let author = match known(&within("author"), given.author)? {
        common_pb::Author::User => Author::User,
        common_pb::Author::Assistant => Author::Assistant,
        common_pb::Author::System => Author::System,
        common_pb::Author::Unspecified => return Err(invalid(within("author"), "is required")),
    };
    let class = match known(&within("turn_class"), given.turn_class)? {
        pb::TurnClass::AssistantOutput => TurnClass::AssistantOutput,
        pb::TurnClass::Narration => TurnClass::Narration,
        pb::TurnClass::Instruction => TurnClass::Instruction,
        pb::TurnClass::Unspecified => match author {
            Author::System => TurnClass::Narration,
            Author::User | Author::Assistant => TurnClass::AssistantOutput,
        },
    };
    known::<pb::Effects>(&within("effects"), given.effects)?;
    field::name(&within("origin"), &given.origin, limits::ORIGIN_CHARS_MAX)?;
    let visibility =
        given
            .visibility
            .map_or(Visibility { model: true, user: true, memory_eligible: false }, |v| {
                Visibility { model: v.model, user: v.user, memory_eligible: v.memory_eligible }
            });
    Ok(AuthoredTurn {
        author,
        class,
        text: text(&within("content"), given.content)?,
        effects: Effects::None,
        visibility,
        claimed_at: given
            .claimed_time
            .map(|at| timestamp(within("claimed_time"), at))
            .transpose()?,
        origin: given.origin,
        provider_wants_user_first: false,
    })
}

fn timestamp(field: String, given: prost_types::Timestamp) -> Checked<Timestamp> {
    let within_years = (-62_135_596_800..=253_402_300_799).contains(&given.seconds);
    if !within_years || !(0..1_000_000_000).contains(&given.nanos) {
        return Err(invalid(field, "is not a time of the years 1 to 9999"));
    }
    let micros = given.seconds * 1_000_000 + i64::from(given.nanos / 1_000);
    Ok(Timestamp::from_micros(micros))
}

pub(super) fn finish(request: mesh_pb::CompleteWorkRequest) -> Checked<(JobLease, Finish)> {
    let job = JobId::new(&request.job_id).map_err(|why| invalid("job_id", why.to_string()))?;
    let lease = JobLease { job, fence: request.fence };
    if request.hand_back {
        return Ok((lease, Finish::HandedBack));
    }
    if !request.failure.is_empty() || request.retry {
        return Ok((lease, Finish::Failed { why: request.failure, retry: request.retry }));
    }
    let evaluation = Some(request.evaluation_id).filter(|id| !id.is_empty());
    let evaluation = evaluation.map(EvaluationId::new).transpose();
    let evaluation = evaluation.map_err(|why| invalid("evaluation_id", why.to_string()))?;
    let changesets = request.changesets.into_iter().enumerate().map(|(index, staged)| {
        let within = |name: &str| format!("changesets[{index}].{name}");
        Ok(ProposedChangeset {
            changeset: ChangesetId::new(&staged.changeset_id)
                .map_err(|why| invalid(within("changeset_id"), why.to_string()))?,
            world: WorldId::new(&staged.world_id)
                .map_err(|why| invalid(within("world_id"), why.to_string()))?,
            world_name: staged.world_name,
            operations: staged.operation_count,
            summary: staged.summary,
        })
    });
    Ok((lease, Finish::Staged { evaluation, changesets: changesets.collect::<Checked<_>>()? }))
}
