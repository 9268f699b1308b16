//! Values become answers.

mod entry;
mod room;

use std::collections::{BTreeMap, HashMap};

use host::room::brief;
use kernel::{EntryId, Timestamp, WorldId};
use lorebook_core::{
    Entry, Layer,
    activation::{Activated, Reason, blocks},
    change::{FieldDiff, Origin, Pair, RowVerb, diff},
    import::{Finding, Report},
};
use prost_types::Timestamp as WireTime;
use tonic::Status;
use wire::{
    common::v1 as common,
    lorebook::v1 as pb,
    mesh::v1::{self as mesh, activate_response::Part},
};

pub use entry::{entry, position};

use crate::{
    activate::{Answer, Note},
    error::Error,
    history::Verdict,
    store::{Change, Listed},
};

pub fn world(listed: &Listed) -> pb::World {
    let world = &listed.world;
    pb::World {
        world_id: world.id.to_string(),
        name: world.name.clone(),
        enabled: world.enabled,
        dynamic_enabled: world.dynamic_enabled,
        content_revision: world.content_revision,
        etag: listed.version.to_string(),
        created_at: Some(time(listed.created_at)),
        scan: Some(pb::ScanSettings {
            scan_depth: world.settings.scan_depth,
            token_budget: world.settings.token_budget,
            recursive: world.settings.recursive_scanning,
            case_sensitive: world.settings.case_sensitive,
            match_whole_words: world.settings.match_whole_words,
        }),
        embedded: world.embedded,
        entry_count: listed.entries,
        dynamic_entry_count: listed.dynamic_entries,
    }
}

/// A change without its rows.
pub fn change(change: &Change) -> pb::Change {
    let record = &change.record;
    let id =
        |id: &Option<kernel::ChangeId>| id.as_ref().map(ToString::to_string).unwrap_or_default();
    pb::Change {
        change_id: record.id.to_string(),
        world_id: change.world.to_string(),
        origin: origin(record.origin).into(),
        summary: record.summary.clone(),
        base_revision: record.base_revision,
        applied_revision: record.applied_revision,
        applied_at: Some(time(record.applied_at)),
        reverts_change_id: id(&record.reverts),
        reverted_by_change_id: id(&record.reverted_by),
        revertible: record.reverted_by.is_none() && record.origin != Origin::Manual,
        labels: record.labels.clone(),
        rows: Vec::new(),
    }
}

/// One row; a new replacement is compared with the authored entry that it hides.
pub fn row(pair: &Pair, rationale: Option<&String>, bases: &[Entry]) -> pb::RowChange {
    let over = pair.after.as_ref().and_then(|after| after.supersedes_entry_id.as_ref());
    let base = over.and_then(|id| bases.iter().find(|base| base.id == *id));
    let told = diff(pair, base);
    room::row(pb::RowChange {
        before: pair.before.as_ref().map(entry),
        after: pair.after.as_ref().map(entry),
        verb: told.as_ref().map_or(pb::RowVerb::Unspecified, |row| verb(row.verb)).into(),
        fields: told.iter().flat_map(|row| &row.fields).filter_map(field_change).collect(),
        content_diff: told.map(|row| row.content).unwrap_or_default(),
        rationale: rationale.cloned().unwrap_or_default(),
        left_out: Vec::new(),
    })
}

/// The content has a diff of its own.
fn field_change(diff: &FieldDiff) -> Option<pb::FieldChange> {
    let field = match diff.field {
        "content" => return None,
        "comment" => "name",
        "selective_logic" => "secondary_logic",
        other => other,
    };
    let (before, after) = (diff.before.clone(), diff.after.clone());
    Some(pb::FieldChange { field: field.to_owned(), before, after })
}

fn verb(verb: RowVerb) -> pb::RowVerb {
    match verb {
        RowVerb::Added => pb::RowVerb::Added,
        RowVerb::Replaced => pb::RowVerb::Replaced,
        RowVerb::Suppressed => pb::RowVerb::Suppressed,
        RowVerb::Updated => pb::RowVerb::Updated,
        RowVerb::Archived => pb::RowVerb::Archived,
        RowVerb::Restored => pb::RowVerb::Restored,
        RowVerb::Deleted => pb::RowVerb::Deleted,
    }
}

fn origin(origin: Origin) -> pb::ChangeOrigin {
    match origin {
        Origin::Agent => pb::ChangeOrigin::Agent,
        Origin::ReEvaluate => pb::ChangeOrigin::ReEvaluate,
        Origin::Undo => pb::ChangeOrigin::Undo,
        Origin::Reset => pb::ChangeOrigin::Reset,
        Origin::Manual => pb::ChangeOrigin::Manual,
    }
}

pub fn verdicts(verdicts: Vec<Verdict>) -> Vec<mesh::OperationVerdict> {
    room::verdicts(verdicts.into_iter().map(verdict).collect())
}

fn verdict(verdict: Verdict) -> mesh::OperationVerdict {
    let (current_name, current_content) = verdict.current.unwrap_or_default();
    let problem = verdict.problem.map(|problem| problem.reason.to_string()).unwrap_or_default();
    mesh::OperationVerdict { problem, current_name, current_content, left_out: Vec::new() }
}

pub fn report(format: &str, entries: usize, report: Report) -> common::ImportReport {
    let omitted = report.omitted;
    let mut findings: Vec<common::Diagnostic> = report.findings.into_iter().map(finding).collect();
    if omitted > 0 {
        let message = format!("{omitted} more findings are not listed");
        let info = common::Severity::Info;
        findings.push(diagnostic("FINDINGS_OMITTED", info, "$".into(), message, BTreeMap::new()));
    }
    let counts = [("entries".to_owned(), entries as u64)].into();
    common::ImportReport { format: format.to_owned(), findings, counts }
}

fn finding(found: Finding) -> common::Diagnostic {
    let is_warning = found.code.is_warning();
    let severity = if is_warning { common::Severity::Warning } else { common::Severity::Info };
    let fields = found.fields.iter().filter(|(name, _)| !name.is_empty());
    let fields: Vec<String> = fields.map(|(name, count)| format!("{name} {count}")).collect();
    let mut details = BTreeMap::from([
        ("count".to_owned(), found.count().to_string()),
        ("places".to_owned(), found.places.join(", ")),
    ]);
    if !fields.is_empty() {
        details.insert("fields".to_owned(), fields.join(", "));
    }
    let message = match found.detail.as_str() {
        "" => found.code.meaning().to_owned(),
        detail => format!("{}: {detail}", found.code.meaning()),
    };
    let place = found.places.into_iter().next().unwrap_or_default();
    diagnostic(found.code.as_str(), severity, place, message, details)
}

/// The report of a book that cannot run.
pub fn unusable(why: &Error) -> common::ImportReport {
    let (error, message) = (common::Severity::Error, why.to_string());
    let place = "$".to_owned();
    let finding = diagnostic("EMBEDDED_WORLD_BOOK_INVALID", error, place, message, BTreeMap::new());
    common::ImportReport { findings: vec![finding], ..Default::default() }
}

fn diagnostic(
    code: &str,
    severity: common::Severity,
    place: String,
    message: String,
    details: BTreeMap<String, String>,
) -> common::Diagnostic {
    let (code, severity) = (code.to_owned(), severity.into());
    let (message, place) = (brief(message), brief(place));
    common::Diagnostic { code, severity, message, place, details }
}

/// The entries in activation order, then the summary.
pub fn activation(answer: Answer) -> Result<Vec<Part>, Status> {
    let Answer { activation, variables, worlds, hashes, notes, live } = answer;
    let ranks = ranks(&activation.entries);
    let mut parts: Vec<Part> = activation
        .entries
        .iter()
        .map(|fired| Part::Entry(activated(fired, &hashes, &ranks)))
        .collect();
    let own = activation.diagnostics.into_iter().map(|found| {
        let place = match (found.world, found.entry) {
            (Some(world), Some(entry)) => format!("world/{world}/entry/{entry}"),
            (Some(world), None) => format!("world/{world}"),
            (None, _) => String::new(),
        };
        let warning = common::Severity::Warning;
        diagnostic(found.code.as_str(), warning, place, found.detail, BTreeMap::new())
    });
    let skipped = activation.skipped.into_iter().map(|skipped| mesh::SkippedEntry {
        world_id: skipped.world.to_string(),
        entry_id: skipped.entry.to_string(),
        reason: skipped.reason.as_str().to_owned(),
    });
    let stats = activation.stats;
    let stats = [
        ("entries", u64::from(stats.candidates)),
        ("loops", stats.passes.into()),
        ("tokens", stats.used_tokens),
        ("budget", stats.budget_tokens),
        ("regex_steps_left", stats.regex_steps_left),
    ];
    parts.push(Part::Summary(mesh::ActivationSummary {
        worlds: worlds.iter().map(used).collect(),
        skipped: skipped.collect(),
        diagnostics: notes.into_iter().map(note).chain(own).collect(),
        timed_state_json: json(&activation.timed)?,
        variables_json: json(&variables)?,
        live: live.into_iter().map(live_entry).collect(),
        stats: stats.into_iter().map(|(name, figure)| (name.to_owned(), figure)).collect(),
    }));
    Ok(parts)
}

type EntryKey = (WorldId, EntryId);

/// Places in the order of the text, counted through all positions; what has no text comes last.
fn ranks(entries: &[Activated]) -> HashMap<EntryKey, u32> {
    let blocks = blocks(entries);
    let in_order = blocks.iter().flat_map(|block| &block.entries);
    in_order
        .zip(0..)
        .map(|(fired, rank)| ((fired.world.clone(), fired.entry.clone()), rank))
        .collect()
}

fn activated(
    fired: &Activated,
    hashes: &HashMap<EntryKey, kernel::Digest>,
    ranks: &HashMap<EntryKey, u32>,
) -> mesh::ActivatedEntry {
    let key = (fired.world.clone(), fired.entry.clone());
    mesh::ActivatedEntry {
        world_id: fired.world.to_string(),
        entry_id: fired.entry.to_string(),
        name: fired.name.clone(),
        content: fired.text.clone(),
        position: position(fired.position).into(),
        depth: fired.depth,
        role: fired.role.name().to_owned(),
        order: fired.order,
        outlet_name: fired.outlet.clone(),
        layer: layer(fired.layer).into(),
        reason: reason(fired.reason).to_owned(),
        matched_keys: fired.matched_keys.clone(),
        source_hash: hashes.get(&key).map(|hash| hash.as_bytes().to_vec()).unwrap_or_default(),
        volatile: fired.volatile,
        quotes: fired.quotes.clone(),
        text_rank: ranks.get(&key).copied().unwrap_or(u32::MAX),
    }
}

fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Decorator => "decorator",
        Reason::Forced => "forced",
        Reason::Constant => "constant",
        Reason::Sticky => "sticky",
        Reason::Key => "key",
    }
}

pub fn layer(layer: Layer) -> pb::Layer {
    match layer {
        Layer::Authored => pb::Layer::Authored,
        Layer::Dynamic => pb::Layer::Dynamic,
    }
}

fn used(listed: &Listed) -> mesh::WorldUsed {
    mesh::WorldUsed {
        world_id: listed.world.id.to_string(),
        name: listed.world.name.clone(),
        content_revision: listed.world.content_revision,
        dynamic_enabled: listed.world.dynamic_enabled,
        embedded: listed.world.embedded,
    }
}

fn note(note: Note) -> common::Diagnostic {
    let (warning, message) = (common::Severity::Warning, note.message.to_owned());
    diagnostic(note.code, warning, note.place, message, BTreeMap::new())
}

fn live_entry(((world, entry), hash): (EntryKey, Option<kernel::Digest>)) -> mesh::LiveEntry {
    let entry = mesh::EntryRef { world_id: world.to_string(), entry_id: entry.to_string() };
    mesh::LiveEntry {
        entry: Some(entry),
        in_effect: hash.is_some(),
        source_hash: hash.map(|hash| hash.as_bytes().to_vec()).unwrap_or_default(),
    }
}

fn json<T: serde::Serialize>(state: &T) -> Result<String, Status> {
    serde_json::to_string(state).map_err(|error| host::status::internal(&error))
}

fn time(at: Timestamp) -> WireTime {
    let micros = at.micros();
    let nanos = i32::try_from(micros.rem_euclid(1_000_000) * 1_000).unwrap_or(0);
    WireTime { seconds: micros.div_euclid(1_000_000), nanos }
}
