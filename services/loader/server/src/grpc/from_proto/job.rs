//! Compile and preview requests become jobs.

use kernel::{Digest, Timestamp, limits::PROFILE_BYTES_MAX};
use loader_core::{
    compile::{GenerationType, Model},
    preset::Sampling,
};
use macros::Variables;
use tonic::Status;
use wire::{common::v1::Author, ledger::v1 as ledger, loader::v1 as pb, mesh::v1 as mesh};

use host::{
    field::known,
    status::{invalid, over},
};

use super::{id, profile_mode};
use crate::profiles::{ChatMessage, Job};

pub fn compile(request: mesh::CompileRequest) -> Result<Job, Status> {
    let generation_type = generation_type(request.generation_type)?;
    let mode = profile_mode(request.profile_mode)?;
    let seed = <[u8; 32]>::try_from(request.seed.as_slice())
        .map_err(|_| invalid("seed", format!("has {} bytes, not 32", request.seed.len())))?;
    Ok(Job {
        session: id("session_id", &request.session_id, |id| kernel::SessionId::new(id))?,
        generation: match request.validate_only {
            true => None,
            false => Some(id("generation_id", &request.generation_id, |id| {
                kernel::GenerationId::new(id)
            })?),
        },
        generation_type,
        mode,
        messages: request
            .messages
            .into_iter()
            .enumerate()
            .map(message)
            .collect::<Result<_, _>>()?,
        message_count: request.message_count,
        has_real_reply: request.has_real_reply,
        has_authored_opening: request.has_authored_opening,
        timed_state_json: request.timed_state_json,
        variables: variables(&request.variables_json)?,
        live: request.live_keys.into_iter().map(live).collect::<Result<_, _>>()?,
        seed,
        model: model(request.model.unwrap_or_default()),
        overrides: sampling(request.sampling.unwrap_or_default()),
        profile_bytes_max: profile_bytes_max(request.profile_bytes_max)?,
        now: Timestamp::from_micros(request.now_us),
    })
}

/// A preview draws the same chances every time.
pub fn preview(request: pb::PreviewProfileRequest, now: Timestamp) -> Result<Job, Status> {
    let mode = profile_mode(request.profile_mode)?;
    let session = id("session_id", &request.session_id, |id| kernel::SessionId::new(id))?;
    let messages = request.messages.into_iter().enumerate().map(preview_message);
    let messages = messages.collect::<Result<Vec<_>, _>>()?;
    let replied = messages.iter().any(|message| message.author == Author::Assistant);
    Ok(Job {
        seed: *kernel::digest(session.as_str().as_bytes()).as_bytes(),
        session,
        generation: None,
        generation_type: GenerationType::Normal,
        mode,
        message_count: messages.len() as u64,
        messages,
        has_real_reply: replied,
        has_authored_opening: false,
        timed_state_json: String::new(),
        variables: Variables::default(),
        live: Default::default(),
        model: Model::default(),
        overrides: Sampling::default(),
        profile_bytes_max: None,
        now,
    })
}

fn message((at, message): (usize, mesh::ActivationMessage)) -> Result<ChatMessage, Status> {
    let author = known(&format!("messages[{at}].author"), message.author)?;
    let mesh::ActivationMessage { id, name, text, .. } = message;
    Ok(ChatMessage { id, author, name, text })
}

fn preview_message((at, message): (usize, pb::PreviewMessage)) -> Result<ChatMessage, Status> {
    let author = known(&format!("messages[{at}].author"), message.author)?;
    let (id, name) = Default::default();
    Ok(ChatMessage { id, author, name, text: message.text })
}

fn live(key: mesh::LiveKey) -> Result<(String, Digest), Status> {
    let hash = Digest::from_slice(&key.source_hash)
        .map_err(|error| invalid("live_keys.source_hash", error.to_string()))?;
    Ok((key.key, hash))
}

fn variables(json: &str) -> Result<Variables, Status> {
    if json.is_empty() {
        return Ok(Variables::default());
    }
    serde_json::from_str(json)
        .map_err(|error| invalid("variables_json", format!("is not usable: {error}")))
}

fn model(model: ledger::Model) -> Model {
    Model { name: model.name, window_tokens: model.window_tokens }
}

fn sampling(sampling: ledger::Sampling) -> Sampling {
    Sampling {
        temperature: sampling.temperature,
        top_p: sampling.top_p,
        max_tokens: sampling.max_tokens,
        stop: sampling.stop,
        ..Sampling::default()
    }
}

/// 0 is the default.
fn profile_bytes_max(bytes: u64) -> Result<Option<usize>, Status> {
    match usize::try_from(bytes).unwrap_or(usize::MAX) {
        0 => Ok(None),
        bytes if bytes <= PROFILE_BYTES_MAX => Ok(Some(bytes)),
        bytes => Err(over("profile_bytes_max", bytes, "bytes", PROFILE_BYTES_MAX)),
    }
}

fn generation_type(kind: i32) -> Result<GenerationType, Status> {
    Ok(match known("generation_type", kind)? {
        mesh::GenerationType::Unspecified | mesh::GenerationType::Normal => GenerationType::Normal,
        mesh::GenerationType::Swipe => GenerationType::Swipe,
        mesh::GenerationType::Continue => GenerationType::Continue,
        mesh::GenerationType::Impersonate => GenerationType::Impersonate,
        mesh::GenerationType::Quiet => GenerationType::Quiet,
        mesh::GenerationType::Regenerate => GenerationType::Regenerate,
    })
}
