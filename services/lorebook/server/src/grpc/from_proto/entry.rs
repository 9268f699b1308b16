//! Entries and edits of them, field by field as their masks name them.

use std::collections::HashSet;

use host::{
    field::{self, finite, known, output_only},
    mask,
    status::invalid,
};
use kernel::{EntryId, limits};
use lorebook_core::{
    CharacterFilter, EntryBody, EntryRole, GenerationType, Position, SelectiveLogic, change::Patch,
    edit::Edit, keys_text,
};
use prost_types::FieldMask;
use tonic::Status;
use wire::lorebook::v1::{self as pb, entry_edit::Edit as Step};

use super::id;

/// A path of the wire's entry and the stored fields behind it.
type Path = (&'static str, &'static [&'static str]);

/// Where an entry lies in its request.
struct Place(String);

const PATHS: [Path; 36] = [
    ("name", &["comment"]),
    ("content", &["content"]),
    ("keys", &["keys"]),
    ("secondary_keys", &["secondary_keys"]),
    ("secondary_logic", &["selective_logic"]),
    ("selective", &["selective"]),
    ("constant", &["constant"]),
    ("vectorized", &["vectorized"]),
    ("enabled", &["enabled"]),
    ("order", &["order"]),
    ("position", &["position"]),
    ("depth", &["depth"]),
    ("role", &["role"]),
    ("outlet_name", &["outlet_name"]),
    ("ignore_budget", &["ignore_budget"]),
    ("exclude_recursion", &["exclude_recursion"]),
    ("prevent_recursion", &["prevent_recursion"]),
    ("delay_until_recursion", &["delay_until_recursion"]),
    ("use_probability", &["use_probability"]),
    ("probability", &["probability"]),
    ("group", &["group"]),
    ("group_override", &["group_override"]),
    ("group_weight", &["group_weight"]),
    ("scan_depth", &["scan_depth"]),
    ("case_sensitive", &["case_sensitive"]),
    ("match_whole_words", &["match_whole_words"]),
    ("use_group_scoring", &["use_group_scoring"]),
    ("automation_id", &["automation_id"]),
    ("sticky", &["sticky"]),
    ("cooldown", &["cooldown"]),
    ("delay", &["delay"]),
    ("triggers", &["triggers"]),
    ("match_sources", &MATCH_FIELDS),
    ("character_filter", &["character_filter"]),
    ("locked", &[]),
    ("display_index", &["display_index"]),
];

const MATCH_FIELDS: [&str; 6] = [
    "match_persona_description",
    "match_character_description",
    "match_character_personality",
    "match_character_depth_prompt",
    "match_scenario",
    "match_creator_notes",
];

/// `within` is where a field of the request lies: nothing, or the place of a batch's edit with its dot. The new row is
/// named once it is known which attempt makes it.
pub fn create(within: &str, request: &pb::CreateEntryRequest) -> Result<Edit, Status> {
    let entry = request.entry.as_ref();
    let entry = entry.ok_or_else(|| invalid(format!("{within}entry"), "is missing"))?;
    let place = Place(format!("{within}entry"));
    place.check(entry)?;
    place.check_output_only(entry)?;
    place.check_sources(entry)?;
    let mut paths = given(entry);
    if let Some(mask) = request.field_mask.as_ref().filter(|mask| !mask.paths.is_empty()) {
        paths.extend(named(&format!("{within}field_mask"), Some(mask))?);
    }
    let fields = place.patch(entry, &paths, &request.keys_text)?;
    let body = Box::new(fields.apply(&EntryBody::default()));
    Ok(Edit::Create { id: EntryId::derived(&[]), body, locked: entry.locked })
}

/// As [`create`]; what the mask does not name changes nothing.
pub fn update(within: &str, request: &pb::UpdateEntryRequest) -> Result<Edit, Status> {
    let entry = request.entry.as_ref();
    let entry = entry.ok_or_else(|| invalid(format!("{within}entry"), "is missing"))?;
    let place = Place(format!("{within}entry"));
    place.check(entry)?;
    let mask = request.update_mask.as_ref().filter(|mask| !mask.paths.is_empty());
    let paths = match mask {
        None if !request.keys_text.is_empty() => Vec::new(),
        mask => named(&format!("{within}update_mask"), mask)?,
    };
    Ok(Edit::Update {
        id: id(&place.of("entry_id"), &entry.entry_id, EntryId::new)?,
        expected_etag: etag(&entry.etag),
        fields: place.patch(entry, &paths, &request.keys_text)?,
        locked: paths.contains(&"locked").then_some(entry.locked),
    })
}

/// As [`create`].
pub fn delete(within: &str, request: &pb::DeleteEntryRequest) -> Result<Edit, Status> {
    let id = id(&format!("{within}entry_id"), &request.entry_id, EntryId::new)?;
    Ok(Edit::Delete { id, expected_etag: etag(&request.etag) })
}

pub fn reorder(request: &pb::ReorderEntriesRequest) -> Result<Edit, Status> {
    field::at_most("entry_ids", request.entry_ids.len(), "ids", limits::BOOK_ENTRIES_MAX)?;
    let (mut ids, mut seen) = (Vec::new(), HashSet::new());
    for (at, text) in request.entry_ids.iter().enumerate() {
        let place = format!("entry_ids[{at}]");
        ids.push(id(&place, text, EntryId::new)?);
        if !seen.insert(text) {
            return Err(invalid(place, "stands there twice"));
        }
    }
    Ok(Edit::Reorder { ids })
}

pub fn batch(request: &pb::BatchEditEntriesRequest) -> Result<Vec<Edit>, Status> {
    field::at_most("edits", request.edits.len(), "edits", limits::EDITS_MAX)?;
    let edit = |(at, edit): (usize, &pb::EntryEdit)| match &edit.edit {
        Some(Step::Create(request)) => {
            let within = format!("edits[{at}].create.");
            alone(&within, &request.world_id, &request.request_id)?;
            create(&within, request)
        }
        Some(Step::Update(request)) => {
            let within = format!("edits[{at}].update.");
            alone(&within, &request.world_id, &request.request_id)?;
            update(&within, request)
        }
        Some(Step::Delete(request)) => {
            let within = format!("edits[{at}].delete.");
            alone(&within, &request.world_id, &request.request_id)?;
            delete(&within, request)
        }
        None => Err(invalid(format!("edits[{at}]"), "is empty")),
    };
    request.edits.iter().enumerate().map(edit).collect()
}

/// An edit of a batch has neither a world nor a request id of its own.
fn alone(within: &str, world_id: &str, request_id: &str) -> Result<(), Status> {
    let set = [("world_id", world_id), ("request_id", request_id)];
    match set.into_iter().find(|(_, text)| !text.is_empty()) {
        None => Ok(()),
        Some((name, _)) => {
            Err(invalid(format!("{within}{name}"), "is set, where the batch's own holds for all"))
        }
    }
}

fn named(field: &str, mask: Option<&FieldMask>) -> Result<Vec<&'static str>, Status> {
    static NAMES: [&str; PATHS.len()] = {
        let mut names = [""; PATHS.len()];
        let mut at = 0;
        while at < PATHS.len() {
            names[at] = PATHS[at].0;
            at += 1;
        }
        names
    };
    mask::paths(field, mask, &NAMES)
}

/// Paths whose value is not the wire's zero: what a caller without a mask means.
fn given(entry: &pb::Entry) -> Vec<&'static str> {
    let zero = body(&pb::Entry::default());
    let set = body(entry);
    let differs = |name: &&str| {
        lorebook_core::fields::by_name(name).is_some_and(|field| !field.equal(&zero, &set))
    };
    let given = PATHS.iter().filter(|(_, fields)| fields.iter().any(differs));
    let mut given: Vec<_> = given.map(|(path, _)| *path).collect();
    // Zero here is a value that the wire writes in words.
    given.retain(|path| !matches!(*path, "role" | "position" | "secondary_logic"));
    if !entry.role.is_empty() {
        given.push("role");
    }
    if entry.position != 0 {
        given.push("position");
    }
    if entry.secondary_logic != 0 {
        given.push("secondary_logic");
    }
    given
}

// === impl Place ===

impl Place {
    fn of(&self, name: &str) -> String {
        format!("{}.{name}", self.0)
    }

    fn patch(&self, entry: &pb::Entry, paths: &[&str], typed_keys: &str) -> Result<Patch, Status> {
        self.check_asked(entry, paths)?;
        let mut body = body(entry);
        let mut fields: Vec<&str> = PATHS
            .iter()
            .filter(|(path, _)| paths.contains(path))
            .flat_map(|(_, fields)| fields.iter().copied())
            .collect();
        if !typed_keys.is_empty() {
            body.keys = keys_text::split(typed_keys);
            fields.push("keys");
        }
        Patch::of(&body, &fields).map_err(|why| invalid(&self.0, why.to_string()))
    }

    /// What no entry of the wire may hold, asked for or not.
    fn check(&self, entry: &pb::Entry) -> Result<(), Status> {
        known::<pb::EntryPosition>(&self.of("position"), entry.position)?;
        known::<pb::SecondaryLogic>(&self.of("secondary_logic"), entry.secondary_logic)?;
        known::<pb::Layer>(&self.of("layer"), entry.layer)?;
        known::<pb::OverlayAction>(&self.of("overlay_action"), entry.overlay_action)?;
        for (name, number) in [
            ("probability", entry.probability),
            ("order", entry.order),
            ("group_weight", entry.group_weight),
        ] {
            finite(&self.of(name), number)?;
        }
        if role(&entry.role).is_none() {
            let why = format!("is {:?}, not system, user or assistant", entry.role);
            return Err(invalid(self.of("role"), why));
        }
        Ok(())
    }

    fn check_output_only(&self, entry: &pb::Entry) -> Result<(), Status> {
        let set = [
            ("entry_id", !entry.entry_id.is_empty()),
            ("uid", entry.uid != 0),
            ("layer", entry.layer != 0),
            ("overlay_action", entry.overlay_action != 0),
            ("supersedes_entry_id", !entry.supersedes_entry_id.is_empty()),
            ("archived", entry.archived),
            ("entry_revision", entry.entry_revision != 0),
            ("extra_json", !entry.extra_json.is_empty()),
            ("etag", !entry.etag.is_empty()),
        ];
        set.into_iter().try_for_each(|(name, is_set)| output_only(&self.of(name), is_set))
    }

    fn check_asked(&self, entry: &pb::Entry, paths: &[&str]) -> Result<(), Status> {
        if paths.contains(&"position") && entry.position() == pb::EntryPosition::Unspecified {
            return Err(invalid(self.of("position"), "is not set"));
        }
        if paths.contains(&"probability") && !(0.0..=100.0).contains(&entry.probability) {
            return Err(invalid(self.of("probability"), "is not between 0 and 100"));
        }
        if paths.contains(&"match_sources") {
            self.check_sources(entry)?;
        }
        if paths.contains(&"triggers") {
            self.check_triggers(entry)?;
        }
        Ok(())
    }

    fn check_triggers(&self, entry: &pb::Entry) -> Result<(), Status> {
        let is_kind = |name: &String| GenerationType::from_name(name).is_some();
        match entry.triggers.iter().position(|name| !is_kind(name)) {
            None => Ok(()),
            Some(at) => {
                let why = format!("is {:?}, which is no kind of generation", entry.triggers[at]);
                Err(invalid(self.of(&format!("triggers[{at}]")), why))
            }
        }
    }

    fn check_sources(&self, entry: &pb::Entry) -> Result<(), Status> {
        let is_source = |name: &String| MATCH_FIELDS.contains(&format!("match_{name}").as_str());
        match entry.match_sources.iter().position(|name| !is_source(name)) {
            None => Ok(()),
            Some(at) => {
                let why = format!("is {:?}, which is no source", entry.match_sources[at]);
                Err(invalid(self.of(&format!("match_sources[{at}]")), why))
            }
        }
    }
}

/// A checked entry as it is stored.
fn body(entry: &pb::Entry) -> EntryBody {
    let matches = |name: &str| entry.match_sources.iter().any(|source| source == name);
    EntryBody {
        comment: entry.name.clone(),
        content: entry.content.clone(),
        keys: entry.keys.clone(),
        secondary_keys: entry.secondary_keys.clone(),
        selective: entry.selective,
        selective_logic: logic(entry.secondary_logic()),
        constant: entry.constant,
        vectorized: entry.vectorized,
        enabled: entry.enabled,
        order: entry.order,
        position: position(entry.position()),
        depth: entry.depth,
        role: role(&entry.role).unwrap_or_default(),
        outlet_name: entry.outlet_name.clone(),
        ignore_budget: entry.ignore_budget,
        exclude_recursion: entry.exclude_recursion,
        prevent_recursion: entry.prevent_recursion,
        delay_until_recursion: entry.delay_until_recursion,
        probability: entry.probability,
        use_probability: entry.use_probability,
        group: entry.group.clone(),
        group_override: entry.group_override,
        group_weight: entry.group_weight,
        use_group_scoring: entry.use_group_scoring,
        scan_depth: entry.scan_depth,
        case_sensitive: entry.case_sensitive,
        match_whole_words: entry.match_whole_words,
        match_persona_description: matches("persona_description"),
        match_character_description: matches("character_description"),
        match_character_personality: matches("character_personality"),
        match_character_depth_prompt: matches("character_depth_prompt"),
        match_scenario: matches("scenario"),
        match_creator_notes: matches("creator_notes"),
        sticky: entry.sticky,
        cooldown: entry.cooldown,
        delay: entry.delay,
        triggers: entry.triggers.clone(),
        character_filter: entry.character_filter.clone().map(filter),
        automation_id: entry.automation_id.clone(),
        display_index: entry.display_index,
        ..EntryBody::default()
    }
}

fn role(name: &str) -> Option<EntryRole> {
    match name {
        "" | "system" => Some(EntryRole::System),
        "user" => Some(EntryRole::User),
        "assistant" => Some(EntryRole::Assistant),
        _ => None,
    }
}

fn logic(logic: pb::SecondaryLogic) -> SelectiveLogic {
    match logic {
        pb::SecondaryLogic::Unspecified | pb::SecondaryLogic::AndAny => SelectiveLogic::AndAny,
        pb::SecondaryLogic::NotAll => SelectiveLogic::NotAll,
        pb::SecondaryLogic::NotAny => SelectiveLogic::NotAny,
        pb::SecondaryLogic::AndAll => SelectiveLogic::AndAll,
    }
}

fn position(position: pb::EntryPosition) -> Position {
    match position {
        pb::EntryPosition::Unspecified | pb::EntryPosition::BeforeCharacter => Position::BeforeChar,
        pb::EntryPosition::AfterCharacter => Position::AfterChar,
        pb::EntryPosition::AuthorsNoteTop => Position::AnTop,
        pb::EntryPosition::AuthorsNoteBottom => Position::AnBottom,
        pb::EntryPosition::AtDepth => Position::AtDepth,
        pb::EntryPosition::ExamplesTop => Position::EmTop,
        pb::EntryPosition::ExamplesBottom => Position::EmBottom,
        pb::EntryPosition::Outlet => Position::Outlet,
    }
}

fn filter(filter: pb::CharacterFilter) -> CharacterFilter {
    CharacterFilter { is_exclude: filter.exclude, names: filter.names, tags: filter.tags }
}

fn etag(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
