//! Edits: the paths of an update mask, and what they change.

use host::{caller::Caller, field::known, mask, status::invalid, upload};
use kernel::{CharacterId, RequestId, digest_parts, limits::DOCUMENT_BYTES_MAX};
use loader_core::format::card::{Edit, TextField};
use prost_types::FieldMask;
use tonic::{Status, Streaming};
use wire::loader::v1 as pb;

use super::{attempt_of, id, optional_id, revision};
use crate::edits::{BookEdit, PresetEdit, Terms, UserEdit};

pub fn terms(
    etag: &str,
    if_running: i32,
    attempt: Option<crate::store::Attempt>,
) -> Result<Terms, Status> {
    let reject_running = match known("if_running", if_running)? {
        pb::IfRunning::Unspecified | pb::IfRunning::Save => false,
        pb::IfRunning::Reject => true,
    };
    Ok(Terms { expected_revision: revision(etag), reject_running, attempt })
}

pub fn preset(preset: &pb::Preset, mask: Option<&FieldMask>) -> Result<PresetEdit, Status> {
    let paths = mask::paths("update_mask", mask, &["name", "document_json"])?;
    let name = || named("preset.name", &preset.name);
    Ok(PresetEdit {
        name: paths.contains(&"name").then(name).transpose()?,
        document: paths.contains(&"document_json").then(|| preset.document_json.clone()),
    })
}

pub fn user(user: &pb::User, mask: Option<&FieldMask>) -> Result<UserEdit, Status> {
    let paths = mask::paths("update_mask", mask, &["name", "description"])?;
    Ok(UserEdit {
        name: paths.contains(&"name").then(|| user.name.clone()),
        description: paths.contains(&"description").then(|| user.description.clone()),
    })
}

pub fn character(card: &pb::Character, mask: Option<&FieldMask>) -> Result<Vec<Edit>, Status> {
    let texts = [
        ("name", TextField::Name, &card.name),
        ("description", TextField::Description, &card.description),
        ("personality", TextField::Personality, &card.personality),
        ("scenario", TextField::Scenario, &card.scenario),
        ("message_example", TextField::MessageExample, &card.message_example),
        ("system_prompt", TextField::SystemPrompt, &card.system_prompt),
        (
            "post_history_instructions",
            TextField::PostHistoryInstructions,
            &card.post_history_instructions,
        ),
        ("creator_notes", TextField::CreatorNotes, &card.creator_notes),
    ];
    let fields: Vec<&str> =
        texts.iter().map(|(path, ..)| *path).chain(["greetings", "tags"]).collect();
    let paths = mask::paths("update_mask", mask, &fields)?;
    if paths.contains(&"name") {
        named("character.name", &card.name)?;
    }
    let asked = texts.into_iter().filter(|(path, ..)| paths.contains(path));
    let mut edits: Vec<_> = asked.map(|(_, field, text)| Edit::Text(field, text.clone())).collect();
    edits.extend(paths.contains(&"greetings").then(|| Edit::Greetings(card.greetings.clone())));
    edits.extend(paths.contains(&"tags").then(|| Edit::Tags(card.tags.clone())));
    Ok(edits)
}

/// A whole book; one that is too large is refused as soon as it is.
pub async fn book(
    caller: &Caller,
    method: &'static str,
    stream: Streaming<pb::UpdateCharacterBookRequest>,
) -> Result<(CharacterId, BookEdit, Terms), Status> {
    let ((character, request_id, header), bytes) =
        upload::receive(stream, DOCUMENT_BYTES_MAX, book_part, book_header).await?;
    if header.remove && !bytes.is_empty() {
        return Err(invalid("chunk", "follows a header that takes the book out"));
    }
    let flags = [header.remove, header.validate_only].map(u8::from);
    let parts = [header.character_id.as_bytes(), header.etag.as_bytes(), &flags, &bytes];
    let attempt = request_id.map(|id| attempt_of(caller, method, id, digest_parts(&parts)));
    let terms = terms(&header.etag, header.if_running, attempt)?;
    let book = (!header.remove).then(|| bytes.into_vec());
    Ok((character, BookEdit { book, validate_only: header.validate_only }, terms))
}

type ReadHeader = (CharacterId, Option<RequestId>, pb::BookHeader);

fn book_header(header: pb::BookHeader) -> Result<ReadHeader, Status> {
    let character = id("header.character_id", &header.character_id, |id| CharacterId::new(id))?;
    let request_id =
        optional_id("header.request_id", &header.request_id, |text| RequestId::new(text))?;
    Ok((character, request_id, header))
}

fn book_part(request: pb::UpdateCharacterBookRequest) -> Option<upload::Part<pb::BookHeader>> {
    use pb::update_character_book_request::Part;
    request.part.map(|part| match part {
        Part::Header(header) => upload::Part::Header(header),
        Part::Chunk(chunk) => upload::Part::Chunk(chunk),
    })
}

fn named(field: &str, name: &str) -> Result<String, Status> {
    if name.trim().is_empty() { Err(invalid(field, "is empty")) } else { Ok(name.to_owned()) }
}
