//! An entry on the wire.

use lorebook_core::{
    CharacterFilter, Entry, EntryBody, OverlayAction, Position, SelectiveLogic, edit,
};
use serde_json::{Map, Value};
use wire::lorebook::v1 as pb;

use super::layer;

pub fn entry(entry: &Entry) -> pb::Entry {
    let body = &entry.body;
    pb::Entry {
        entry_id: entry.id.to_string(),
        uid: entry.uid,
        name: body.comment.clone(),
        content: body.content.clone(),
        keys: body.keys.clone(),
        secondary_keys: body.secondary_keys.clone(),
        secondary_logic: logic(body.selective_logic).into(),
        selective: body.selective,
        constant: body.constant,
        vectorized: body.vectorized,
        enabled: body.enabled,
        order: body.order,
        position: position(body.position).into(),
        depth: body.depth,
        role: body.role.name().to_owned(),
        outlet_name: body.outlet_name.clone(),
        ignore_budget: body.ignore_budget,
        exclude_recursion: body.exclude_recursion,
        prevent_recursion: body.prevent_recursion,
        delay_until_recursion: body.delay_until_recursion,
        use_probability: body.use_probability,
        probability: body.probability,
        group: body.group.clone(),
        group_override: body.group_override,
        group_weight: body.group_weight,
        scan_depth: body.scan_depth,
        case_sensitive: body.case_sensitive,
        match_whole_words: body.match_whole_words,
        use_group_scoring: body.use_group_scoring,
        automation_id: body.automation_id.clone(),
        sticky: body.sticky,
        cooldown: body.cooldown,
        delay: body.delay,
        triggers: body.triggers.clone(),
        match_sources: match_sources(body),
        character_filter: body.character_filter.as_ref().map(filter),
        layer: layer(entry.layer).into(),
        overlay_action: overlay(entry.overlay_action).into(),
        supersedes_entry_id: entry
            .supersedes_entry_id
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        archived: entry.archived,
        locked: entry.locked,
        entry_revision: entry.entry_revision,
        display_index: body.display_index,
        extra_json: extra(body),
        etag: edit::etag(entry),
    }
}

pub fn position(position: Position) -> pb::EntryPosition {
    match position {
        Position::BeforeChar => pb::EntryPosition::BeforeCharacter,
        Position::AfterChar => pb::EntryPosition::AfterCharacter,
        Position::AnTop => pb::EntryPosition::AuthorsNoteTop,
        Position::AnBottom => pb::EntryPosition::AuthorsNoteBottom,
        Position::AtDepth => pb::EntryPosition::AtDepth,
        Position::EmTop => pb::EntryPosition::ExamplesTop,
        Position::EmBottom => pb::EntryPosition::ExamplesBottom,
        Position::Outlet => pb::EntryPosition::Outlet,
        Position::Unknown(_) => pb::EntryPosition::Unspecified,
    }
}

fn logic(logic: SelectiveLogic) -> pb::SecondaryLogic {
    match logic {
        SelectiveLogic::AndAny => pb::SecondaryLogic::AndAny,
        SelectiveLogic::NotAll => pb::SecondaryLogic::NotAll,
        SelectiveLogic::NotAny => pb::SecondaryLogic::NotAny,
        SelectiveLogic::AndAll => pb::SecondaryLogic::AndAll,
        SelectiveLogic::Unknown(_) => pb::SecondaryLogic::Unspecified,
    }
}

fn overlay(action: Option<OverlayAction>) -> pb::OverlayAction {
    match action {
        None => pb::OverlayAction::Unspecified,
        Some(OverlayAction::Add) => pb::OverlayAction::Add,
        Some(OverlayAction::Replace) => pb::OverlayAction::Replace,
        Some(OverlayAction::Suppress) => pb::OverlayAction::Suppress,
    }
}

fn match_sources(body: &EntryBody) -> Vec<String> {
    let sources = [
        (body.match_persona_description, "persona_description"),
        (body.match_character_description, "character_description"),
        (body.match_character_personality, "character_personality"),
        (body.match_character_depth_prompt, "character_depth_prompt"),
        (body.match_scenario, "scenario"),
        (body.match_creator_notes, "creator_notes"),
    ];
    sources.into_iter().filter(|(on, _)| *on).map(|(_, name)| name.to_owned()).collect()
}

fn filter(filter: &CharacterFilter) -> pb::CharacterFilter {
    pb::CharacterFilter {
        exclude: filter.is_exclude,
        names: filter.names.clone(),
        tags: filter.tags.clone(),
    }
}

/// Unknown members and the file's own `extensions`; empty if there are none.
fn extra(body: &EntryBody) -> String {
    let mut extra: Map<String, Value> = body.extra.clone();
    if !body.extensions.is_empty() {
        extra.insert("extensions".into(), Value::Object(body.extensions.clone()));
    }
    if extra.is_empty() { String::new() } else { Value::Object(extra).to_string() }
}
