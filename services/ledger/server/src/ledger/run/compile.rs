//! Asking the loader for the profile of one request.

use host::status::reason;
use kernel::{Digest, limits};
use ledger_core::{Body, State, event::Failure};
use prompt::{
    Placement, Role, Segment, SegmentKind,
    derive::{Author, Source},
    in_chat,
};
use tonic::{Code, Status};
use wire::{
    common::v1::{self as common_pb, Reason},
    ledger::v1 as pb,
    mesh::v1 as mesh_pb,
};

use super::{Reply, STORE_WAIT, STORE_WAIT_MAX, Stopped};
use crate::{
    error::{Error, Result},
    ledger::{load, record::DiagnosticRecord, texts::Found},
};

/// Texts of activation messages in one compile request, below the wire's message limit.
const ACTIVATION_BYTES_MAX: usize = limits::MESSAGE_BYTES_MAX * 3 / 4;

/// A compiled profile.
pub(super) struct Compiled {
    pub segments: Vec<Segment>,
    pub summary: mesh_pb::ProfileSummary,
    pub format: ChatFormat,
}

/// What the preset says about the history.
#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(super) struct ChatFormat {
    #[serde(flatten)]
    pub options: in_chat::Options,
    /// Leaves out sections that callers added.
    #[serde(default)]
    pub replace: bool,
}

/// Timed lore effects and variables, as the reply before carries them.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Carry {
    pub timed_state: String,
    pub variables: String,
}

// === impl Reply ===

impl Reply {
    /// Compiles on the session as it stands, and takes the loader's lease for this generation. A loader or a
    /// store that is away for a moment is asked again: compiling twice is compiling once.
    pub(super) async fn compile(&self, state: &State) -> std::result::Result<Compiled, Stopped> {
        let request = self.compile_request(state).await?;
        let mut wait = STORE_WAIT;
        let (parts, summary) = loop {
            match self.asked(request.clone()).await {
                Ok(answer) => break answer,
                Err(status) if status.code() == Code::Unavailable && wait <= STORE_WAIT_MAX => {
                    tracing::warn!(why = status.message(), "a generation waits for its profile");
                }
                Err(status) => return Err(Stopped::of(why(&status), status.message())),
            }
            tokio::time::sleep(wait).await;
            wait *= 2;
        };
        let segments = parts.into_iter().map(segment).collect::<std::result::Result<_, _>>();
        let segments = segments.map_err(|why| {
            Stopped::of(Failure::Compile, format!("the loader sent a segment {why}"))
        })?;
        let summary = summary.ok_or_else(|| {
            Stopped::of(Failure::Compile, "the loader's answer ended without a summary")
        })?;
        let format = match summary.chat_format_json.as_str() {
            "" => ChatFormat::default(),
            json => serde_json::from_str(json).map_err(|error| {
                Stopped::of(Failure::Compile, format!("the loader's chat format: {error}"))
            })?,
        };
        Ok(Compiled { segments, summary, format })
    }

    async fn asked(
        &self,
        request: mesh_pb::CompileRequest,
    ) -> std::result::Result<(Vec<mesh_pb::ProfileSegment>, Option<mesh_pb::ProfileSummary>), Status>
    {
        let link = self.ledger.inner.loader.acting_for(&self.background());
        let mut client = mesh_pb::compile_service_client::CompileServiceClient::new(link);
        let mut parts = client.compile(request).await?.into_inner();
        let (mut segments, mut summary) = (Vec::new(), None);
        while let Some(response) = parts.message().await? {
            match response.part {
                Some(mesh_pb::compile_response::Part::Segment(part)) => segments.push(part),
                Some(mesh_pb::compile_response::Part::Summary(part)) => summary = Some(part),
                None => {}
            }
        }
        Ok((segments, summary))
    }

    async fn compile_request(&self, state: &State) -> Result<mesh_pb::CompileRequest> {
        let spoken = state.spoken();
        let places = spoken.iter().filter_map(|said| said.text);
        let texts = self.ledger.texts(self.owner(), &self.session, places).await?;
        let carry = self.carry_before(state).await?;
        let settings = state.settings();
        let generation = &self.started.generation;
        let fence = self.started.fence.to_be_bytes();
        let seed = kernel::digest_parts(&[b"seed", generation.as_str().as_bytes(), &fence]);
        let live = state.live_profile_keys().into_iter().map(|live| mesh_pb::LiveKey {
            key: live.key.to_string(),
            source_hash: live.source_hash.map(|h| h.as_bytes().to_vec()).unwrap_or_default(),
        });
        Ok(mesh_pb::CompileRequest {
            session_id: self.session.to_string(),
            generation_id: generation.to_string(),
            generation_type: mesh_pb::GenerationType::Normal.into(),
            profile_mode: mode(settings.profile_mode).into(),
            messages: messages(&spoken, &texts),
            message_count: spoken_turns(state, self.started.slot),
            has_real_reply: state.has_reply(),
            has_authored_opening: state.has_authored_opening(),
            timed_state_json: carry.timed_state,
            variables_json: carry.variables,
            live_keys: live.collect(),
            seed: seed.as_bytes().to_vec(),
            model: settings.model.as_ref().map(|model| pb::Model {
                provider: model.provider.clone(),
                name: model.name.clone(),
                window_tokens: model.window_tokens,
            }),
            sampling: self.sampling.clone(),
            profile_bytes_max: 0,
            now_us: self.ledger.now().micros(),
            validate_only: false,
        })
    }

    /// What the newest reply on the selected path before this slot carries.
    async fn carry_before(&self, state: &State) -> Result<Carry> {
        let path = state.path_before(self.started.slot);
        let Some((_, completed)) = path.last() else { return Ok(Carry::default()) };
        let store = self.ledger.store();
        let records = store.events_at(self.owner(), &self.session, &[*completed]).await?;
        let Some(record) = records.into_iter().next() else { return Ok(Carry::default()) };
        match load::open(&self.session, record)?.body {
            Body::TurnCompleted(completed) => completed
                .carry
                .map_or(Ok(Carry::default()), serde_json::from_value)
                .map_err(|error| Error::Internal(format!("a reply's carry: {error}"))),
            _ => Ok(Carry::default()),
        }
    }
}

/// Turns said on the path before a slot, whether still in the context or not.
fn spoken_turns(state: &State, slot: u64) -> u64 {
    let said =
        state.turns().filter(|(seq, turn)| *seq < slot && !turn.retracted && turn.text().is_some());
    said.count() as u64
}

/// The newest messages, oldest first, within what the loader scans at the most and one message carries.
fn messages(
    spoken: &[ledger_core::state::Spoken],
    texts: &Found,
) -> Vec<mesh_pb::ActivationMessage> {
    let mut bytes_left = ACTIVATION_BYTES_MAX;
    let newest = spoken.iter().rev().filter(|said| said.turn.is_some());
    let newest = newest.take(limits::SCAN_MESSAGES_MAX).take_while(|said| {
        let bytes = texts.or_empty(said.text).len();
        let fits = bytes <= bytes_left;
        bytes_left = bytes_left.saturating_sub(bytes);
        fits
    });
    let said = newest.filter_map(|said| {
        let (_, turn) = said.turn.as_ref()?;
        Some(mesh_pb::ActivationMessage {
            id: turn.to_string(),
            author: match said.author {
                Author::User => common_pb::Author::User,
                Author::Assistant => common_pb::Author::Assistant,
                Author::System => common_pb::Author::System,
            }
            .into(),
            name: String::new(),
            text: texts.or_empty(said.text).to_owned(),
            source: match said.source {
                Source::Authored(_) => "authored",
                Source::Imported(_) => "imported",
                _ => "lived",
            }
            .to_owned(),
        })
    });
    let mut messages: Vec<mesh_pb::ActivationMessage> = said.collect();
    messages.reverse();
    messages
}

pub(super) fn diagnostics(given: &[common_pb::Diagnostic]) -> Vec<DiagnosticRecord> {
    let records = given.iter().map(|diagnostic| DiagnosticRecord {
        code: diagnostic.code.clone(),
        severity: diagnostic.severity,
        message: diagnostic.message.clone(),
        place: diagnostic.place.clone(),
        details: diagnostic.details.clone().into_iter().collect(),
    });
    records.collect()
}

fn mode(mode: prompt::ProfileMode) -> common_pb::ProfileMode {
    match mode {
        prompt::ProfileMode::Journal => common_pb::ProfileMode::Journal,
        prompt::ProfileMode::InChat => common_pb::ProfileMode::InChat,
        prompt::ProfileMode::Contract => common_pb::ProfileMode::Contract,
    }
}

/// Reads a segment; the error goes on after "the loader sent a segment".
/// What a refused compile says of the turn.
fn why(status: &Status) -> Failure {
    match (status.code(), reason(status)) {
        (Code::DataLoss, _) => Failure::Damaged,
        (_, Some(Reason::StoreUnavailable)) => Failure::Store,
        _ => Failure::Compile,
    }
}

fn segment(part: mesh_pb::ProfileSegment) -> std::result::Result<Segment, String> {
    Ok(Segment {
        kind: kind(&part.kind).ok_or_else(|| format!("of kind {:?}", part.kind))?,
        placement: match part.placement.as_str() {
            "before" => Placement::Before,
            "in_chat" => Placement::InChat { depth: part.depth },
            "after" => Placement::After,
            other => return Err(format!("placed {other:?}")),
        },
        role: role(&part.role).ok_or_else(|| format!("of role {:?}", part.role))?,
        name: Some(part.name).filter(|name| !name.is_empty()),
        source_hash: Digest::from_slice(&part.source_hash)
            .map_err(|_| "whose source hash is not 32 bytes".to_owned())?,
        key: part.key,
        text: part.text,
        volatile: part.volatile,
        dynamic: part.dynamic,
        squash: part.squash,
        quotes: part.quotes,
    })
}

fn kind(name: &str) -> Option<SegmentKind> {
    Some(match name {
        "prompt" => SegmentKind::Prompt,
        "character_field" => SegmentKind::CharacterField,
        "user_field" => SegmentKind::UserField,
        "lore" => SegmentKind::Lore,
        "author_note" => SegmentKind::AuthorNote,
        "example" => SegmentKind::Example,
        "greeting" => SegmentKind::Greeting,
        "control" => SegmentKind::Control,
        "rp_policy" => SegmentKind::RpPolicy,
        "profile" => SegmentKind::Profile,
        _ => return None,
    })
}

fn role(name: &str) -> Option<Role> {
    [Role::System, Role::Developer, Role::User, Role::Assistant]
        .into_iter()
        .find(|role| role.name() == name)
}
