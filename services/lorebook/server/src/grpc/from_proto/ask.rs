//! An activation request, checked against its limits.

use std::collections::BTreeMap;

use host::{
    field::{at_most, known},
    status::invalid,
};
use kernel::{EntryId, Timestamp, WorldId, limits};
use lorebook_core::{
    GenerationType,
    activation::{
        CandidateOrder, CharacterContext, Defects, Message, Request, Settings, SourceKind,
        TextSources, TimedState,
    },
    matcher::WordBoundary,
};
use macros::Variables;
use serde::de::DeserializeOwned;
use tonic::Status;
use wire::{
    common::v1::{Author, ProfileMode},
    loader::v1::ActivationSettings,
    mesh::v1 as mesh,
};

use super::id;
use crate::activate::{Ask, MacroInputs, Speaker};

pub fn ask(request: mesh::ActivateRequest) -> Result<Ask, Status> {
    bounds(&request)?;
    let sources = request.sources.iter().enumerate().map(|(at, source)| {
        let kind = kind(known(&format!("sources[{at}].kind"), source.kind)?);
        Ok((id(&format!("sources[{at}].world_id"), &source.world_id, WorldId::new)?, kind))
    });
    let forced =
        request.forced_entry_ids.iter().map(|text| id("forced_entry_ids", text, EntryId::new));
    let live = request.live.iter().map(|entry| {
        let world = id("live.world_id", &entry.world_id, WorldId::new)?;
        Ok((world, id("live.entry_id", &entry.entry_id, EntryId::new)?))
    });
    let macros = request.macros.clone().unwrap_or_default();
    Ok(Ask {
        sources: sources.collect::<Result<_, Status>>()?,
        forced: forced.collect::<Result<_, Status>>()?,
        live: live.collect::<Result<_, Status>>()?,
        variables: json::<Variables>("variables_json", &request.variables_json)?,
        speakers: request.messages.iter().enumerate().map(speaker).collect::<Result<_, _>>()?,
        seed: request.seed.clone(),
        pick_seed: request.pick_seed,
        request: scan(request, &macros)?,
        macros: macro_inputs(macros),
    })
}

fn bounds(request: &mesh::ActivateRequest) -> Result<(), Status> {
    let chars: usize = request.messages.iter().map(|message| message.text.chars().count()).sum();
    let counts = [
        ("sources", request.sources.len(), "worlds", limits::WORLDS_PER_REQUEST_MAX),
        ("messages", request.messages.len(), "messages", limits::SCAN_MESSAGES_MAX),
        ("messages.text", chars, "characters", limits::SCAN_CHARS_MAX),
        ("forced_entry_ids", request.forced_entry_ids.len(), "ids", limits::RUNTIME_ENTRIES_MAX),
        ("live", request.live.len(), "entries", limits::RUNTIME_ENTRIES_MAX),
        ("injections", request.injections.len(), "texts", limits::SCAN_MESSAGES_MAX),
    ];
    counts.into_iter().try_for_each(|(field, found, unit, most)| at_most(field, found, unit, most))
}

fn scan(request: mesh::ActivateRequest, macros: &mesh::MacroContext) -> Result<Request, Status> {
    let mode = known("profile_mode", request.profile_mode)?;
    let generation = generation(known("generation_type", request.generation_type)?);
    let messages = request.messages.into_iter().map(|message| Message {
        name: named(message.name, message.author == Author::User as i32, macros),
        text: message.text,
    });
    let count = (request.message_count > 0).then_some(request.message_count);
    Ok(Request {
        messages: messages.collect(),
        message_count: count.map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
        sources: text_sources(request.scan_texts),
        extra_texts: request.injections,
        settings: settings(request.settings.unwrap_or_default(), mode),
        context_tokens: request.budget_base_tokens,
        timed: json::<TimedState>("timed_state_json", &request.timed_state_json)?,
        forced: Default::default(),
        generation,
        character: CharacterContext {
            avatar: macros.character_key.clone(),
            tags: Some(macros.character_tags.clone()),
        },
        dry_run: false,
        explain: request.explain_skipped,
        defects: Defects::default(),
    })
}

fn kind(kind: mesh::LoreSourceKind) -> SourceKind {
    match kind {
        mesh::LoreSourceKind::Chat => SourceKind::Session,
        mesh::LoreSourceKind::Persona => SourceKind::User,
        mesh::LoreSourceKind::Character => SourceKind::Character,
        mesh::LoreSourceKind::Global | mesh::LoreSourceKind::Unspecified => SourceKind::Global,
    }
}

fn speaker((at, message): (usize, &mesh::ActivationMessage)) -> Result<Speaker, Status> {
    let author: Author = known(&format!("messages[{at}].author"), message.author)?;
    Ok(Speaker { id: message.id.clone(), is_user: author == Author::User })
}

fn named(name: String, is_user: bool, macros: &mesh::MacroContext) -> String {
    match (name.is_empty(), is_user) {
        (false, _) => name,
        (true, true) => macros.user.clone(),
        (true, false) => macros.character.clone(),
    }
}

fn text_sources(mut texts: BTreeMap<String, String>) -> TextSources {
    let mut take = |name: &str| texts.remove(name).unwrap_or_default();
    TextSources {
        persona_description: take("persona_description"),
        character_description: take("character_description"),
        character_personality: take("character_personality"),
        character_depth_prompt: take("character_depth_prompt"),
        scenario: take("scenario"),
        creator_notes: take("creator_notes"),
    }
}

fn settings(asked: ActivationSettings, mode: ProfileMode) -> Settings {
    let plain = Settings::default();
    let order = match (mode, asked.character_strategy) {
        (ProfileMode::Contract, _) => CandidateOrder::PerWorld,
        (_, Some(0)) => CandidateOrder::Evenly,
        (_, Some(2)) => CandidateOrder::GlobalFirst,
        _ => CandidateOrder::CharacterFirst,
    };
    let unicode = asked.unicode_words.unwrap_or(false);
    Settings {
        scan_depth: asked.scan_depth.unwrap_or(plain.scan_depth),
        min_activations: asked.min_activations.unwrap_or(plain.min_activations),
        min_activations_depth_max: asked
            .min_activations_depth_max
            .unwrap_or(plain.min_activations_depth_max),
        budget_percent: asked.budget_percent.unwrap_or(plain.budget_percent),
        budget_cap: asked.budget_cap.unwrap_or(plain.budget_cap),
        include_names: asked.include_names.unwrap_or(plain.include_names),
        recursive: asked.recursive.unwrap_or(plain.recursive),
        case_sensitive: asked.case_sensitive.unwrap_or(plain.case_sensitive),
        match_whole_words: asked.match_whole_words.unwrap_or(plain.match_whole_words),
        word_boundary: if unicode { WordBoundary::Unicode } else { WordBoundary::Ascii },
        use_group_scoring: asked.use_group_scoring.unwrap_or(plain.use_group_scoring),
        order,
        max_recursion_steps: asked.max_recursion_steps.unwrap_or(plain.max_recursion_steps),
    }
}

fn generation(kind: mesh::GenerationType) -> GenerationType {
    match kind {
        mesh::GenerationType::Normal | mesh::GenerationType::Unspecified => GenerationType::Normal,
        mesh::GenerationType::Swipe => GenerationType::Swipe,
        mesh::GenerationType::Continue => GenerationType::Continue,
        mesh::GenerationType::Impersonate => GenerationType::Impersonate,
        mesh::GenerationType::Quiet => GenerationType::Quiet,
        mesh::GenerationType::Regenerate => GenerationType::Regenerate,
    }
}

fn macro_inputs(macros: mesh::MacroContext) -> MacroInputs {
    MacroInputs {
        user: macros.user,
        character: macros.character,
        fields: macros.fields.into_iter().collect(),
        now: Timestamp::from_micros(macros.now_us),
        model: macros.model,
        context_tokens: macros.context_tokens,
        reply_tokens: macros.reply_tokens,
    }
}

/// State as an earlier answer gave it; none is the beginning.
fn json<T: DeserializeOwned + Default>(field: &str, text: &str) -> Result<T, Status> {
    if text.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_str(text).map_err(|why| invalid(field, format!("is not usable: {why}")))
}
