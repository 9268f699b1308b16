//! What the lorebook is asked, and how its answer enters the profile.

use std::collections::{BTreeMap, HashMap};

use host::caller::Caller;
use kernel::{Digest, EntryId, WorldId, limits::MESSAGE_BYTES_MAX};
use loader_core::{
    Character,
    compile::{
        GenerationType, Input, LoreEntry, LorePosition, Prepared, World, lore_key, reply_tokens,
        window_tokens,
    },
    selection::{BindingSource, EffectiveWorld, Selection},
};
use prompt::{ProfileMode, Role};
use prost::Message as _;
use wire::{
    common::v1 as common,
    lorebook::v1::{EntryPosition, Layer},
    mesh::v1::{self as mesh, activate_response::Part, lore_service_client::LoreServiceClient},
};

use super::{CompiledWorld, Job};
use crate::{Loader, error::Error, grpc::to_proto};

/// The base of the lore budget where neither model nor preset names a window: more than any
/// profile holds.
const WINDOW_UNKNOWN_TOKENS: u32 = 10_000_000;

/// The whole answer of an activation.
pub struct Activated {
    entries: Vec<mesh::ActivatedEntry>,
    summary: mesh::ActivationSummary,
}

/// The fields of `prepared` are expanded: the lorebook scans them and its macros quote them.
pub fn request(
    job: &Job,
    input: &Input,
    prepared: &Prepared,
    selection: &Selection,
    worlds: &[EffectiveWorld],
) -> mesh::ActivateRequest {
    mesh::ActivateRequest {
        sources: worlds.iter().map(source).collect(),
        messages: input.messages.iter().map(message).collect(),
        message_count: job.message_count,
        scan_texts: scan_texts(input, prepared),
        injections: Vec::new(),
        settings: Some(to_proto::activation(&selection.options.activation)),
        budget_base_tokens: budget_base(input),
        timed_state_json: job.timed_state_json.clone(),
        variables_json: serde_json::to_string(prepared.variables()).unwrap_or_default(),
        forced_entry_ids: Vec::new(),
        seed: job.seed.to_vec(),
        generation_type: generation_type(job.generation_type).into(),
        profile_mode: profile_mode(job.mode).into(),
        macros: Some(macro_context(input, prepared)),
        pick_seed: input.pick_seed,
        explain_skipped: false,
        live: job.live.keys().filter_map(|key| entry_ref(key)).collect(),
    }
}

/// Asks the lorebook; with no world in effect there is nothing to ask.
pub async fn activate(
    loader: &Loader,
    caller: &Caller,
    request: mesh::ActivateRequest,
) -> Result<Activated, Error> {
    let mut entries = Vec::new();
    if request.sources.is_empty() && request.live.is_empty() {
        let mesh::ActivateRequest { timed_state_json, variables_json, .. } = request;
        let summary =
            mesh::ActivationSummary { timed_state_json, variables_json, ..Default::default() };
        return Ok(Activated { entries, summary });
    }
    let bytes = request.encoded_len();
    if bytes > MESSAGE_BYTES_MAX {
        return Err(Error::ScanTooLarge { bytes });
    }
    let mut lorebook = LoreServiceClient::new(loader.lorebook.acting_for(caller));
    let mut answer = lorebook.activate(request).await.map_err(Error::peer)?.into_inner();
    while let Some(response) = answer.message().await.map_err(Error::peer)? {
        match response.part {
            Some(Part::Entry(entry)) => entries.push(entry),
            Some(Part::Summary(summary)) => return Ok(Activated { entries, summary }),
            None => {}
        }
    }
    Err(Error::PeerAnswer("an activation without its summary".to_owned()))
}

/// Puts what fired into the input. What is left of the summary is for the answer.
pub fn merge(
    input: &mut Input,
    activated: Activated,
    effective: Vec<EffectiveWorld>,
) -> Result<(Vec<CompiledWorld>, mesh::ActivationSummary), Error> {
    let Activated { entries, mut summary } = activated;
    input.lore = entries.into_iter().map(lore_entry).collect::<Result<_, _>>()?;
    if !summary.variables_json.is_empty() {
        input.variables = serde_json::from_str(&summary.variables_json).map_err(unusable)?;
    }
    for live in std::mem::take(&mut summary.live).into_iter().filter(|live| live.in_effect) {
        let entry = live.entry.unwrap_or_default();
        let key = lore_key(
            &world_id(&entry.world_id)?,
            &EntryId::new(&entry.entry_id).map_err(unusable)?,
        );
        input.live_lore.insert(key, Digest::from_slice(&live.source_hash).map_err(unusable)?);
    }
    let mut used: HashMap<String, mesh::WorldUsed> = std::mem::take(&mut summary.worlds)
        .into_iter()
        .map(|world| (world.world_id.clone(), world))
        .collect();
    let mut compiled = Vec::new();
    for EffectiveWorld { id, sources } in effective {
        let Some(world) = used.remove(id.as_str()) else { continue };
        let names = sources.iter().map(|source| source.name()).collect();
        let (name, content_revision) = (world.name.clone(), world.content_revision);
        input.worlds.push(World { id, name, content_revision, sources });
        compiled.push(CompiledWorld { used: world, sources: names });
    }
    Ok((compiled, summary))
}

/// For SillyTavern's candidate order a world counts by its first source.
fn source(world: &EffectiveWorld) -> mesh::LoreSource {
    let kind = match world.sources.first() {
        Some(BindingSource::Session) => mesh::LoreSourceKind::Chat,
        Some(BindingSource::User) => mesh::LoreSourceKind::Persona,
        Some(BindingSource::Character | BindingSource::Embedded) => mesh::LoreSourceKind::Character,
        Some(BindingSource::Preset | BindingSource::Global) | None => mesh::LoreSourceKind::Global,
    };
    mesh::LoreSource { world_id: world.id.to_string(), kind: kind.into() }
}

fn message(message: &loader_core::compile::Message) -> mesh::ActivationMessage {
    let author = if message.is_user { common::Author::User } else { common::Author::Assistant };
    mesh::ActivationMessage {
        id: message.id.clone(),
        author: author.into(),
        name: message.name.clone(),
        text: message.text.clone(),
        source: String::new(),
    }
}

/// Texts that entries may ask to scan, under the names that entries use.
fn scan_texts(input: &Input, prepared: &Prepared) -> BTreeMap<String, String> {
    let card = input.character.as_ref().map(|character| character.model.as_ref());
    named([
        ("persona_description", prepared.persona()),
        ("character_description", prepared.description()),
        ("character_personality", prepared.personality()),
        ("character_depth_prompt", prepared.depth_prompt()),
        ("scenario", prepared.scenario()),
        ("creator_notes", card.map_or("", |card| &card.creator_notes)),
    ])
}

fn macro_context(input: &Input, prepared: &Prepared) -> mesh::MacroContext {
    let card = input.character.as_ref().map(|character| character.model.as_ref());
    let of_card = |text: fn(&Character) -> &str| card.map_or("", text);
    mesh::MacroContext {
        user: input.user_name().to_owned(),
        character: input.character_name().to_owned(),
        fields: named([
            ("description", prepared.description()),
            ("personality", prepared.personality()),
            ("scenario", prepared.scenario()),
            ("persona", prepared.persona()),
            ("mesExamples", prepared.message_example()),
            ("charDepthPrompt", prepared.depth_prompt()),
            ("charPrompt", of_card(|card| &card.system_prompt)),
            ("charInstruction", of_card(|card| &card.post_history_instructions)),
            ("charVersion", of_card(|card| &card.character_version)),
            ("charFirstMessage", of_card(|card| &card.first_message)),
        ]),
        character_key: of_card(|card| &card.name).to_owned(),
        character_tags: card.map(|card| card.tags.clone()).unwrap_or_default(),
        now_us: input.now.micros(),
        model: input.model.name.clone(),
        context_tokens: window_tokens(input),
        reply_tokens: reply_tokens(input).unwrap_or(0),
    }
}

/// Texts that are not empty, by name.
fn named<const N: usize>(texts: [(&str, &str); N]) -> BTreeMap<String, String> {
    let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
    texts.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

fn budget_base(input: &Input) -> u32 {
    match window_tokens(input) {
        0 => WINDOW_UNKNOWN_TOKENS,
        window => window.saturating_sub(reply_tokens(input).unwrap_or(0)).max(1),
    }
}

/// `lore:<world>:<entry>`; ids that the lorebook makes hold no colon.
fn entry_ref(key: &str) -> Option<mesh::EntryRef> {
    let (world_id, entry_id) = key.strip_prefix("lore:")?.split_once(':')?;
    Some(mesh::EntryRef { world_id: world_id.to_owned(), entry_id: entry_id.to_owned() })
}

fn lore_entry(entry: mesh::ActivatedEntry) -> Result<LoreEntry, Error> {
    let (layer, position) = (entry.layer(), position(&entry));
    Ok(LoreEntry {
        world: world_id(&entry.world_id)?,
        entry: EntryId::new(&entry.entry_id).map_err(unusable)?,
        source_hash: Digest::from_slice(&entry.source_hash).map_err(unusable)?,
        position,
        content: entry.content,
        order: entry.order,
        text_rank: Some(entry.text_rank),
        dynamic: layer == Layer::Dynamic,
        volatile: entry.volatile,
        quotes: entry.quotes,
        reason: entry.reason,
    })
}

fn position(entry: &mesh::ActivatedEntry) -> LorePosition {
    match entry.position() {
        EntryPosition::Unspecified => LorePosition::Unknown,
        EntryPosition::BeforeCharacter => LorePosition::BeforeCharacter,
        EntryPosition::AfterCharacter => LorePosition::AfterCharacter,
        EntryPosition::AuthorsNoteTop => LorePosition::AuthorNoteTop,
        EntryPosition::AuthorsNoteBottom => LorePosition::AuthorNoteBottom,
        EntryPosition::AtDepth => {
            LorePosition::AtDepth { depth: entry.depth, role: role(&entry.role) }
        }
        EntryPosition::ExamplesTop => LorePosition::ExamplesTop,
        EntryPosition::ExamplesBottom => LorePosition::ExamplesBottom,
        EntryPosition::Outlet => LorePosition::Outlet { name: entry.outlet_name.clone() },
    }
}

fn role(name: &str) -> Role {
    match name {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => Role::System,
    }
}

fn world_id(text: &str) -> Result<WorldId, Error> {
    WorldId::new(text).map_err(unusable)
}

fn unusable(error: impl std::fmt::Display) -> Error {
    Error::PeerAnswer(error.to_string())
}

fn generation_type(kind: GenerationType) -> mesh::GenerationType {
    match kind {
        GenerationType::Normal => mesh::GenerationType::Normal,
        GenerationType::Swipe => mesh::GenerationType::Swipe,
        GenerationType::Continue => mesh::GenerationType::Continue,
        GenerationType::Impersonate => mesh::GenerationType::Impersonate,
        GenerationType::Quiet => mesh::GenerationType::Quiet,
        GenerationType::Regenerate => mesh::GenerationType::Regenerate,
    }
}

fn profile_mode(mode: ProfileMode) -> common::ProfileMode {
    match mode {
        ProfileMode::Journal => common::ProfileMode::Journal,
        ProfileMode::InChat => common::ProfileMode::InChat,
        ProfileMode::Contract => common::ProfileMode::Contract,
    }
}
