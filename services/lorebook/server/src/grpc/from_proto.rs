//! Requests become values: every malformed field is refused by its name.

mod ask;
pub mod entry;

use std::collections::BTreeMap;

use host::{
    field::{self, known},
    idempotency::Scope,
    mask, page,
    status::invalid,
    upload::{self, Held, Part, Upload},
};
use kernel::{ChangeId, EntryId, InvalidId, Owner, RequestId, WorldId, digest_parts, limits};
use lorebook_core::{
    change::{Operation, Origin, Patch},
    export::{ExportFormat, View},
};
use prost::Message;
use serde_json::{Map, Value};
use tonic::{Status, Streaming};
use wire::{
    lorebook::v1 as pb,
    mesh::v1::{self as mesh, register_embedded_book_request::Part as BookPart},
};

pub use ask::ask;

use crate::{
    store::{HeadEdit, NewChange, ScanEdit},
    worlds::world_name,
};

pub fn id<T>(
    field: &str,
    text: &str,
    read: impl FnOnce(String) -> Result<T, InvalidId>,
) -> Result<T, Status> {
    field::id(field, read(text.to_owned()))
}

pub fn ids<T>(
    field: &str,
    texts: &[String],
    read: impl Fn(String) -> Result<T, InvalidId>,
) -> Result<Vec<T>, Status> {
    field::at_most(field, texts.len(), "ids", limits::WORLDS_PER_REQUEST_MAX)?;
    texts.iter().enumerate().map(|(at, text)| id(&format!("{field}[{at}]"), text, &read)).collect()
}

pub fn page_size(asked: u32) -> Result<usize, Status> {
    page::page_size(i32::try_from(asked).unwrap_or(i32::MAX))
}

/// `<id>/<name>`: an id holds no slash.
pub fn after(position: Option<String>) -> Result<Option<(String, WorldId)>, Status> {
    let Some(position) = position else { return Ok(None) };
    let (world, name) = position.split_once('/').unwrap_or((&position, ""));
    Ok(Some((name.to_owned(), id("page_token", world, WorldId::new)?)))
}

pub fn number(position: Option<String>) -> Result<Option<i64>, Status> {
    let read =
        |text: String| text.parse().map_err(|_| invalid("page_token", "is not of this list"));
    position.map(read).transpose()
}

/// The caller's name for this attempt; without one a repetition is another write.
pub fn scope(
    owner: &Owner,
    method: &'static str,
    request_id: &str,
) -> Result<Option<Scope>, Status> {
    if request_id.is_empty() {
        return Ok(None);
    }
    Ok(Some(Scope::new(owner, method, id("request_id", request_id, RequestId::new)?)))
}

/// A whole file, and the caller's name for this attempt.
pub async fn upload(
    owner: &Owner,
    parts: Streaming<pb::ImportWorldRequest>,
) -> Result<(Option<Scope>, Upload), Status> {
    use pb::import_world_request::Part as Sent;
    const METHOD: &str = "skald.lorebook.v1.WorldService/ImportWorld";
    let part = |message: pb::ImportWorldRequest| {
        message.part.map(|part| match part {
            Sent::Header(header) => Part::Header(header),
            Sent::Chunk(chunk) => Part::Chunk(chunk),
        })
    };
    let file = upload::file(parts, limits::IMPORT_BYTES_MAX, part).await?;
    let scope = file.request_id.clone().map(|id| Scope::new(owner, METHOD, id));
    Ok((scope, file))
}

/// The character's name and the bytes of its book.
pub async fn embedded(
    parts: Streaming<mesh::RegisterEmbeddedBookRequest>,
) -> Result<((WorldId, String), Held), Status> {
    let part = |message: mesh::RegisterEmbeddedBookRequest| {
        message.part.map(|part| match part {
            BookPart::Header(header) => Part::Header(header),
            BookPart::Chunk(chunk) => Part::Chunk(chunk),
        })
    };
    let names = |header: mesh::EmbeddedBookHeader| {
        let world = id("world_id", &header.world_id, WorldId::new)?;
        Ok((world, header.character_name))
    };
    upload::receive(parts, limits::IMPORT_BYTES_MAX, part, names).await
}

pub fn view(view: i32) -> Result<View, Status> {
    Ok(match known("view", view)? {
        pb::WorldView::Unspecified | pb::WorldView::Authored => View::Authored,
        pb::WorldView::Effective => View::Effective,
        pb::WorldView::All => View::All,
    })
}

pub fn format(format: i32) -> Result<ExportFormat, Status> {
    Ok(match known("format", format)? {
        pb::ExportFormat::Unspecified | pb::ExportFormat::WorldInfo => ExportFormat::WorldInfo,
        pb::ExportFormat::CharacterBookV2 => ExportFormat::CharacterBookV2,
        pb::ExportFormat::CharacterBookV3 => ExportFormat::CharacterBookV3,
        pb::ExportFormat::LorebookV3 => ExportFormat::LorebookV3,
    })
}

pub fn search_text(text: &str) -> Result<&str, Status> {
    field::chars("text", text, limits::DOCUMENT_KEY_CHARS_MAX)?;
    if text.is_empty() { Err(invalid("text", "is empty")) } else { Ok(text) }
}

pub fn head_edit(request: &pb::UpdateWorldRequest) -> Result<(WorldId, HeadEdit), Status> {
    const PATHS: [&str; 4] = ["name", "enabled", "dynamic_enabled", "scan"];
    let world = request.world.as_ref().ok_or_else(|| invalid("world", "is missing"))?;
    let paths = mask::paths("update_mask", request.update_mask.as_ref(), &PATHS)?;
    let asked = |path: &str| paths.contains(&path);
    let mut edit = HeadEdit { expected_version: version(&world.etag), ..HeadEdit::default() };
    if asked("name") {
        edit.name = Some(name("world.name", &world.name)?);
    }
    edit.enabled = asked("enabled").then_some(world.enabled);
    edit.dynamic_enabled = asked("dynamic_enabled").then_some(world.dynamic_enabled);
    edit.scan = asked("scan").then(|| scan(world.scan.unwrap_or_default()));
    Ok((id("world.world_id", &world.world_id, WorldId::new)?, edit))
}

pub fn new_head(request: &pb::CreateWorldRequest) -> Result<HeadEdit, Status> {
    Ok(HeadEdit {
        name: Some(name("name", &request.name)?),
        dynamic_enabled: Some(request.dynamic_enabled),
        scan: Some(scan(request.scan.unwrap_or_default())),
        ..HeadEdit::default()
    })
}

fn name(path: &str, name: &str) -> Result<String, Status> {
    field::name(path, name, limits::WORLD_NAME_CHARS_MAX)?;
    world_name(name).ok_or_else(|| invalid(path, "is empty"))
}

/// No etag asks for nothing; one that was never ours is of no version.
fn version(etag: &str) -> Option<u64> {
    (!etag.is_empty()).then(|| etag.parse().unwrap_or(u64::MAX))
}

fn scan(scan: pb::ScanSettings) -> ScanEdit {
    let pb::ScanSettings { scan_depth, token_budget, recursive, case_sensitive, match_whole_words } =
        scan;
    ScanEdit { scan_depth, token_budget, recursive, case_sensitive, match_whole_words }
}

pub fn change(request: &mesh::ApplyChangeRequest) -> Result<NewChange, Status> {
    let operations = request.operations.iter().enumerate().map(|(at, one)| operation(at, one));
    let rationales = request.operations.iter().enumerate().map(|(at, one)| {
        let field = format!("operations[{at}].rationale");
        bounded(&field, &one.rationale, limits::CHANGE_NOTE_CHARS_MAX)
    });
    let origin = match known("origin", request.origin)? {
        pb::ChangeOrigin::Agent => Origin::Agent,
        pb::ChangeOrigin::ReEvaluate => Origin::ReEvaluate,
        other @ (pb::ChangeOrigin::Unspecified
        | pb::ChangeOrigin::Undo
        | pb::ChangeOrigin::Reset
        | pb::ChangeOrigin::Manual) => {
            let why = format!("is {}, which is not applied from outside", other.as_str_name());
            return Err(invalid("origin", why));
        }
    };
    Ok(NewChange {
        id: id("change_id", &request.change_id, ChangeId::new)?,
        world: id("world_id", &request.world_id, WorldId::new)?,
        base_revision: request.base_revision,
        operations: operations.collect::<Result<_, _>>()?,
        rationales: rationales.collect::<Result<_, _>>()?,
        origin,
        summary: bounded("summary", &request.summary, limits::CHANGE_SUMMARY_CHARS_MAX)?,
        labels: labels(&request.labels)?,
        request: digest_parts(&[
            request.world_id.as_bytes(),
            &request.base_revision.to_be_bytes(),
            &encoded(&request.operations),
        ]),
    })
}

/// Operations with their borders: what another change under the same id is told by.
fn encoded(operations: &[pb::Operation]) -> Vec<u8> {
    operations.iter().flat_map(Message::encode_length_delimited_to_vec).collect()
}

fn operation(at: usize, operation: &pb::Operation) -> Result<Operation, Status> {
    use pb::OperationKind as Kind;
    let target = || {
        let field = format!("operations[{at}].target_entry_id");
        id(&field, &operation.target_entry_id, EntryId::new)
    };
    Ok(match known(&format!("operations[{at}].kind"), operation.kind)? {
        Kind::Create if operation.target_entry_id.is_empty() => {
            Operation::Create { fields: patch(at, operation)? }
        }
        Kind::Create => {
            let field = format!("operations[{at}].target_entry_id");
            return Err(invalid(field, "is given for a new entry"));
        }
        Kind::Update => Operation::Update { target: target()?, fields: patch(at, operation)? },
        Kind::Replace => Operation::Replace { target: target()?, fields: patch(at, operation)? },
        Kind::Suppress => Operation::Suppress { target: target()? },
        Kind::Archive => Operation::Archive { target: target()? },
        Kind::Unspecified => {
            return Err(invalid(format!("operations[{at}].kind"), "is not set"));
        }
    })
}

fn patch(at: usize, operation: &pb::Operation) -> Result<Patch, Status> {
    let mut fields = Map::new();
    if let Some(name) = &operation.name {
        fields.insert("comment".into(), Value::from(name.as_str()));
    }
    if let Some(content) = &operation.content {
        fields.insert("content".into(), Value::from(content.as_str()));
    }
    if let Some(constant) = operation.constant {
        fields.insert("constant".into(), Value::from(constant));
    }
    if operation.set_keywords || !operation.keywords.is_empty() {
        fields.insert("keys".into(), Value::from(operation.keywords.clone()));
    }
    Patch::new(fields).map_err(|why| invalid(format!("operations[{at}]"), why.to_string()))
}

fn labels(labels: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Status> {
    field::at_most("labels", labels.len(), "labels", limits::CHANGE_LABELS_MAX)?;
    let bounded = |text: &String| bounded("labels", text, limits::CHANGE_LABEL_CHARS_MAX);
    labels.iter().map(|(name, text)| Ok((bounded(name)?, bounded(text)?))).collect()
}

fn bounded(field: &str, text: &str, most: usize) -> Result<String, Status> {
    field::chars(field, text, most)?;
    Ok(text.to_owned())
}
