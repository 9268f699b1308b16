//! A compiled profile becomes the stream that the ledger reads, or a preview without its texts.

use kernel::limits::DIAGNOSTICS_MAX;
use loader_core::{
    compile::Profile,
    diagnostic::{Code, Diagnostic},
    preset::PresetMode,
};
use prompt::{Placement, Segment, SegmentKind};
use wire::{
    common::v1 as common,
    loader::v1 as pb,
    mesh::v1::{self as mesh, compile_response::Part},
};

use super::left_out;
use crate::profiles::{Compiled, CompiledWorld};

/// Segments in their order, then the summary.
pub fn compiled(mut compiled: Compiled) -> Vec<mesh::CompileResponse> {
    let segments = std::mem::take(&mut compiled.profile.segments);
    let mut active: Vec<String> = compiled.profile.active_lore_keys().map(str::to_owned).collect();
    active.dedup();
    let parts = segments.into_iter().map(|segment| Part::Segment(self::segment(segment)));
    let parts = parts.chain([Part::Summary(summary(compiled, active))]);
    parts.map(|part| mesh::CompileResponse { part: Some(part) }).collect()
}

pub fn preview(compiled: Compiled) -> pb::PreviewProfileResponse {
    let Compiled { profile, lore_diagnostics, .. } = compiled;
    left_out::of_preview(pb::PreviewProfileResponse {
        segments: profile.segments.iter().map(segment_summary).collect(),
        fingerprint: profile.fingerprint.to_hex(),
        audit_json: profile.audit_json,
        call_config_json: json(&profile.call_config),
        diagnostics: diagnostics(profile.diagnostics, lore_diagnostics),
        left_out: Vec::new(),
    })
}

fn summary(compiled: Compiled, active_lore_keys: Vec<String>) -> mesh::ProfileSummary {
    let Compiled { profile, worlds, lore_diagnostics, timed_state_json, .. } = compiled;
    mesh::ProfileSummary {
        call_config_json: json(&profile.call_config),
        chat_format_json: chat_format(&profile),
        audit_json: profile.audit_json,
        fingerprint: profile.fingerprint.to_hex(),
        variables_json: json(&profile.variables),
        withdrawn_keys: profile.withdrawn,
        diagnostics: diagnostics(profile.diagnostics, lore_diagnostics),
        timed_state_json,
        active_lore_keys,
        worlds: worlds.into_iter().map(world).collect(),
        user_name: compiled.user_name,
        character_name: compiled.character_name,
    }
}

/// The history's format, and whether the preset replaces what callers added.
fn chat_format(profile: &Profile) -> String {
    let mut format = serde_json::to_value(&profile.chat).unwrap_or_default();
    format["replace"] = (profile.preset_mode == PresetMode::Replace).into();
    format.to_string()
}

fn world(world: CompiledWorld) -> mesh::CompiledWorld {
    let CompiledWorld { used, sources } = world;
    mesh::CompiledWorld {
        dynamic_enabled: used.dynamic_enabled && !used.embedded,
        world_id: used.world_id,
        name: used.name,
        content_revision: used.content_revision,
        binding_sources: sources.into_iter().map(str::to_owned).collect(),
    }
}

fn segment(segment: Segment) -> mesh::ProfileSegment {
    let (placement, depth) = placement(segment.placement);
    mesh::ProfileSegment {
        key: segment.key,
        kind: kind(segment.kind).to_owned(),
        placement: placement.to_owned(),
        depth,
        role: segment.role.name().to_owned(),
        name: segment.name.unwrap_or_default(),
        text: segment.text,
        source_hash: segment.source_hash.as_bytes().to_vec(),
        volatile: segment.volatile,
        dynamic: segment.dynamic,
        squash: segment.squash,
        quotes: segment.quotes,
    }
}

pub fn segment_summary(segment: &Segment) -> pb::SegmentSummary {
    let (placement, depth) = placement(segment.placement);
    pb::SegmentSummary {
        key: segment.key.clone(),
        kind: kind(segment.kind).to_owned(),
        placement: placement.to_owned(),
        depth,
        role: segment.role.name().to_owned(),
        bytes: segment.text.len() as u64,
        source_hash: segment.source_hash.to_hex(),
        volatile: segment.volatile,
    }
}

fn placement(placement: Placement) -> (&'static str, u32) {
    match placement {
        Placement::Before => ("before", 0),
        Placement::InChat { depth } => ("in_chat", depth),
        Placement::After => ("after", 0),
    }
}

/// The names that `SegmentKind` is stored under.
fn kind(kind: SegmentKind) -> &'static str {
    match kind {
        SegmentKind::Prompt => "prompt",
        SegmentKind::CharacterField => "character_field",
        SegmentKind::UserField => "user_field",
        SegmentKind::Lore => "lore",
        SegmentKind::AuthorNote => "author_note",
        SegmentKind::Example => "example",
        SegmentKind::Greeting => "greeting",
        SegmentKind::Control => "control",
        SegmentKind::RpPolicy => "rp_policy",
        SegmentKind::Profile => "profile",
    }
}

/// The profile's own, then the lorebook's; what goes beyond the limit is counted.
pub fn diagnostics(
    own: Vec<Diagnostic>,
    lorebook: Vec<common::Diagnostic>,
) -> Vec<common::Diagnostic> {
    let omitted = (own.len() + lorebook.len()).saturating_sub(DIAGNOSTICS_MAX);
    let all = own.into_iter().map(diagnostic).chain(lorebook);
    let mut listed: Vec<_> = all.take(DIAGNOSTICS_MAX).collect();
    if omitted > 0 {
        let message = format!("{omitted} more diagnostics are not listed");
        listed.push(super::omitted(Code::DiagnosticsOmitted, message));
    }
    listed
}

pub fn diagnostic(diagnostic: Diagnostic) -> common::Diagnostic {
    common::Diagnostic {
        code: diagnostic.code.name().to_owned(),
        severity: super::severity(diagnostic.code.severity()).into(),
        message: diagnostic.code.meaning().to_owned(),
        place: diagnostic.place,
        details: diagnostic.details.into_iter().collect(),
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
