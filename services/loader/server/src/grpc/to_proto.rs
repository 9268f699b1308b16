//! The loader's values become answers.

use host::room::brief;
use kernel::{SessionId, Timestamp};
use loader_core::{
    Character, Preset,
    diagnostic::{Code, Severity},
    format::{Finding, Report},
    preset::Ordered,
    selection::{
        Activation, AuthorsNote, EffectiveWorld, NotePosition, Options, Rp, RpSource, Sandbox,
        Selection,
    },
};
use prompt::Role;
use wire::{common::v1 as common, loader::v1 as pb};

pub mod explanation;
mod left_out;
pub mod profile;

use crate::store::{CharacterRow, PresetRow, Summary, TemplateRow, UserRow};

pub fn timestamp(at: Timestamp) -> prost_types::Timestamp {
    let (seconds, micros) = (at.micros().div_euclid(1_000_000), at.micros().rem_euclid(1_000_000));
    prost_types::Timestamp { seconds, nanos: i32::try_from(micros * 1_000).unwrap_or(0) }
}

pub fn report(report: Report) -> common::ImportReport {
    let mut findings: Vec<_> = report.findings.into_iter().map(finding).collect();
    if report.omitted > 0 {
        let message = format!("{} more findings are not listed", report.omitted);
        findings.push(omitted(Code::FindingsOmitted, message));
    }
    common::ImportReport {
        format: report.format,
        findings,
        counts: report.counts.into_iter().collect(),
    }
}

fn finding(finding: Finding) -> common::Diagnostic {
    let fate = finding.code.fate().map(|fate| ("fate".to_owned(), fate.name().to_owned()));
    common::Diagnostic {
        code: finding.code.name().to_owned(),
        severity: severity(finding.code.severity()).into(),
        message: brief(finding.message),
        place: brief(finding.path),
        details: fate.into_iter().collect(),
    }
}

/// What stands behind a list that was cut.
fn omitted(code: Code, message: String) -> common::Diagnostic {
    common::Diagnostic {
        code: code.name().to_owned(),
        severity: severity(code.severity()).into(),
        message,
        ..Default::default()
    }
}

const fn severity(severity: Severity) -> common::Severity {
    match severity {
        Severity::Info => common::Severity::Info,
        Severity::Warning => common::Severity::Warning,
        Severity::Error => common::Severity::Error,
    }
}

pub fn preset(row: PresetRow, model: &Preset) -> pb::Preset {
    left_out::of_preset(pb::Preset {
        prompts: prompts(model),
        document_json: String::from_utf8_lossy(&row.document).into_owned(),
        ..preset_head(&row)
    })
}

/// Without what may be large.
pub fn preset_head(row: &PresetRow) -> pb::Preset {
    pb::Preset {
        preset_id: row.id.to_string(),
        name: row.name.clone(),
        etag: row.revision.to_string(),
        created_at: Some(timestamp(row.created_at)),
        content_hash: row.hash.to_hex(),
        ..Default::default()
    }
}

/// The prompts in their effective order: what no order names takes no part.
fn prompts(preset: &Preset) -> Vec<pb::PresetPrompt> {
    let placed = preset.ordered().filter_map(|(entry, found)| match found {
        Ordered::Prompt(prompt) => Some((entry, prompt)),
        Ordered::Again | Ordered::Unknown => None,
    });
    let shown = placed.map(|(entry, prompt)| pb::PresetPrompt {
        identifier: prompt.identifier.clone(),
        name: prompt.name.clone(),
        role: prompt.role.unwrap_or(Role::System).name().to_owned(),
        enabled: entry.enabled,
        marker: prompt.marker,
    });
    shown.collect()
}

pub fn character(row: CharacterRow, card: &Character) -> pb::Character {
    let greetings = std::iter::once(&card.first_message).chain(&card.alternate_greetings);
    left_out::of_character(pb::Character {
        description: card.description.clone(),
        personality: card.personality.clone(),
        scenario: card.scenario.clone(),
        greetings: greetings.cloned().collect(),
        system_prompt: card.system_prompt.clone(),
        post_history_instructions: card.post_history_instructions.clone(),
        creator_notes: card.creator_notes.clone(),
        tags: card.tags.clone(),
        document_json: String::from_utf8_lossy(&row.document).into_owned(),
        message_example: card.message_example.clone(),
        ..character_head(&row)
    })
}

/// Without what may be large.
pub fn character_head(row: &CharacterRow) -> pb::Character {
    pb::Character {
        character_id: row.id.to_string(),
        name: row.name.clone(),
        etag: row.revision.to_string(),
        created_at: Some(timestamp(row.created_at)),
        content_hash: row.hash.to_hex(),
        spec: row.spec.clone(),
        container: row.container.name().to_owned(),
        embedded_world_id: row.embedded_world.as_ref().map(ToString::to_string).unwrap_or_default(),
        ..Default::default()
    }
}

pub fn user(row: UserRow) -> pb::User {
    pb::User {
        user_id: row.id.to_string(),
        name: row.user.name().to_owned(),
        description: row.user.description().to_owned(),
        etag: row.revision.to_string(),
        created_at: Some(timestamp(row.created_at)),
    }
}

pub fn user_without_description(row: UserRow) -> pb::User {
    pb::User { description: String::new(), ..user(row) }
}

pub fn preset_summary(summary: Summary) -> pb::Preset {
    pb::Preset {
        preset_id: summary.id,
        name: summary.name,
        etag: summary.revision.to_string(),
        created_at: Some(timestamp(summary.created_at)),
        content_hash: summary.hash.map(|hash| hash.to_hex()).unwrap_or_default(),
        ..Default::default()
    }
}

pub fn character_summary(summary: Summary) -> pb::Character {
    let (spec, container) = summary.card.map(|(spec, c)| (spec, c.name())).unwrap_or_default();
    pb::Character {
        character_id: summary.id,
        name: summary.name,
        etag: summary.revision.to_string(),
        created_at: Some(timestamp(summary.created_at)),
        content_hash: summary.hash.map(|hash| hash.to_hex()).unwrap_or_default(),
        spec,
        container: container.to_owned(),
        ..Default::default()
    }
}

pub fn user_summary(summary: Summary) -> pb::User {
    pb::User {
        user_id: summary.id,
        name: summary.name,
        etag: summary.revision.to_string(),
        created_at: Some(timestamp(summary.created_at)),
        ..Default::default()
    }
}

pub fn selection(selection: Selection) -> pb::Selection {
    let Selection { preset, character, user, worlds, options: chosen, rp: overlay } = selection;
    pb::Selection {
        preset_id: preset.map(String::from).unwrap_or_default(),
        character_id: character.map(String::from).unwrap_or_default(),
        user_id: user.map(String::from).unwrap_or_default(),
        world_ids: world_ids(&worlds),
        options: Some(options(chosen)),
        rp: Some(rp(overlay)),
    }
}

pub fn template(row: TemplateRow) -> pb::Template {
    let selection = Some(selection(row.selection.clone()));
    pb::Template { selection, ..template_summary(row) }
}

pub fn template_summary(row: TemplateRow) -> pb::Template {
    pb::Template {
        template_id: row.id.to_string(),
        name: row.name,
        selection: None,
        created_at: Some(timestamp(row.created_at)),
    }
}

/// Sessions that run see an edit with their next turn.
pub fn effective(running: &[SessionId]) -> pb::Effective {
    if running.is_empty() { pb::Effective::Now } else { pb::Effective::NextTurn }
}

pub fn sessions(sessions: &[SessionId]) -> Vec<String> {
    sessions.iter().map(ToString::to_string).collect()
}

pub fn world_ids(worlds: &loader_core::selection::Worlds) -> Vec<String> {
    worlds.as_slice().iter().map(ToString::to_string).collect()
}

pub fn effective_world(world: EffectiveWorld) -> pb::EffectiveWorld {
    let binding_sources = world.sources.iter().map(|source| source.name().to_owned()).collect();
    pb::EffectiveWorld { world_id: world.id.to_string(), binding_sources }
}

fn options(options: Options) -> pb::SelectionOptions {
    pb::SelectionOptions {
        greeting_index: options.greeting_index,
        ignore_character_system_prompt: options.ignore_character_system_prompt,
        ignore_character_post_history: options.ignore_character_post_history,
        activation: Some(activation(&options.activation)),
        authors_note: options.authors_note.map(authors_note),
    }
}

pub fn activation(settings: &Activation) -> pb::ActivationSettings {
    pb::ActivationSettings {
        scan_depth: settings.scan_depth,
        budget_percent: settings.budget_percent,
        budget_cap: settings.budget_cap,
        include_names: settings.include_names,
        recursive: settings.recursive,
        max_recursion_steps: settings.max_recursion_steps,
        case_sensitive: settings.case_sensitive,
        match_whole_words: settings.match_whole_words,
        use_group_scoring: settings.use_group_scoring,
        min_activations: settings.min_activations,
        min_activations_depth_max: settings.min_activations_depth_max,
        character_strategy: settings.character_strategy,
        unicode_words: settings.unicode_words,
    }
}

fn authors_note(note: AuthorsNote) -> pb::AuthorsNote {
    let position = match note.position {
        NotePosition::InChat => pb::AuthorsNotePosition::InChat,
        NotePosition::AfterMain => pb::AuthorsNotePosition::AfterMain,
        NotePosition::BeforeMain => pb::AuthorsNotePosition::BeforeMain,
    };
    pb::AuthorsNote {
        text: note.text,
        depth: Some(note.depth),
        role: note.role.name().to_owned(),
        position: position.into(),
        interval: Some(note.interval),
    }
}

fn rp(rp: Rp) -> pb::RpSelection {
    let source = match rp.source {
        None => "",
        Some(RpSource::Command) => "command",
        Some(RpSource::CharacterFollow) => "character-follow",
    };
    let sandbox_before = match rp.sandbox_before {
        None => "",
        Some(Sandbox::ReadOnly) => "read-only",
        Some(Sandbox::WorkspaceWrite) => "workspace-write",
        Some(Sandbox::DangerFullAccess) => "danger-full-access",
    };
    pb::RpSelection {
        active: rp.active,
        source: source.to_owned(),
        follow_suppressed: rp.follow_suppressed,
        sandbox_before: sandbox_before.to_owned(),
    }
}
