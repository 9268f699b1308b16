//! A number that an enum does not know is refused by its field, wherever in a request it stands.

use std::collections::BTreeMap;

use prost::{
    Message as _,
    encoding::{WireType, encode_key, encode_varint},
};
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FieldMask, FileDescriptorSet, MethodDescriptorProto,
    field_descriptor_proto::Type,
};
use tests::{observed::observe, prelude::*, world::ADA};

use common::Author;

/// A number that no enum of ours has.
const UNKNOWN: u64 = 99;

/// Where an enum stands: field by field from the request down.
type Path<'d> = Vec<&'d FieldDescriptorProto>;

/// Every message of the wire by its full name, with a leading dot.
type Messages<'d> = BTreeMap<String, &'d DescriptorProto>;

/// What a request must hold for its enums to be looked at.
fn base(method: &str) -> Vec<u8> {
    let id = || "x".to_owned();
    match method {
        "CreateEntry" | "UpdateEntry" | "BatchEditEntries" => {
            lorebook::CreateEntryRequest { world_id: id(), ..Default::default() }.encode_to_vec()
        }
        "UpdateChangeset" => {
            proposal::UpdateChangesetRequest { changeset_id: id(), ..Default::default() }
                .encode_to_vec()
        }
        "SetSelection" => {
            loader::SetSelectionRequest { session_id: id(), ..Default::default() }.encode_to_vec()
        }
        "PreviewProfile" => {
            loader::PreviewProfileRequest { session_id: id(), ..Default::default() }.encode_to_vec()
        }
        "ExplainProfile" => {
            loader::ExplainProfileRequest { session_id: id(), ..Default::default() }.encode_to_vec()
        }
        "ExportCharacter" => {
            loader::ExportCharacterRequest { character_id: id(), ..Default::default() }
                .encode_to_vec()
        }
        "CreateTemplate" => {
            loader::CreateTemplateRequest { name: id(), ..Default::default() }.encode_to_vec()
        }
        "UpdateCharacter" => {
            let character = loader::Character { character_id: id(), ..Default::default() };
            let (character, update_mask) = (Some(character), Some(mask("tags")));
            loader::UpdateCharacterRequest { character, update_mask, ..Default::default() }
                .encode_to_vec()
        }
        "UpdatePreset" => {
            let preset = loader::Preset { preset_id: id(), ..Default::default() };
            let (preset, update_mask) = (Some(preset), Some(mask("document_json")));
            loader::UpdatePresetRequest { preset, update_mask, ..Default::default() }
                .encode_to_vec()
        }
        "UpdateUser" => {
            let user = loader::User { user_id: id(), ..Default::default() };
            let (user, update_mask) = (Some(user), Some(mask("description")));
            loader::UpdateUserRequest { user, update_mask, ..Default::default() }.encode_to_vec()
        }
        "WriteAuthoredTurn" => {
            let turn = Some(job::authored("Hello."));
            let ids = (id(), id());
            ledger::WriteAuthoredTurnRequest {
                session_id: ids.0,
                request_id: ids.1,
                turn,
                ..Default::default()
            }
            .encode_to_vec()
        }
        "CreateSessionWithOpening" => {
            let opening = Some(job::authored("Hello."));
            ledger::CreateSessionWithOpeningRequest {
                request_id: id(),
                opening,
                ..Default::default()
            }
            .encode_to_vec()
        }
        _ => Vec::new(),
    }
}

fn mask(path: &str) -> FieldMask {
    FieldMask { paths: vec![path.to_owned()] }
}

/// Every path from a message to an enum; a message that holds itself is entered once.
fn enums<'d>(messages: &Messages<'d>, name: &str, above: &mut Path<'d>, found: &mut Vec<Path<'d>>) {
    for field in &messages[name].field {
        let is_entered = above.iter().any(|outer| outer.type_name() == field.type_name());
        above.push(field);
        match field.r#type() {
            Type::Enum => found.push(above.clone()),
            Type::Message if !is_entered && messages.contains_key(field.type_name()) => {
                enums(messages, field.type_name(), above, found);
            }
            _ => {}
        }
        above.pop();
    }
}

/// The request's bytes with the unknown number at the path: what comes later is merged into what is there.
fn with_unknown(base: Vec<u8>, path: &[&FieldDescriptorProto]) -> Vec<u8> {
    let mut inner = Vec::new();
    encode_varint(UNKNOWN, &mut inner);
    let mut kind = WireType::Varint;
    for field in path.iter().rev() {
        let mut outer = Vec::new();
        encode_key(field.number().unsigned_abs(), kind, &mut outer);
        if kind == WireType::LengthDelimited {
            encode_varint(inner.len() as u64, &mut outer);
        }
        outer.extend(inner);
        (inner, kind) = (outer, WireType::LengthDelimited);
    }
    [base, inner].concat()
}

/// Public methods that take one message, with their services.
fn methods(set: &FileDescriptorSet) -> Vec<(String, &MethodDescriptorProto)> {
    let files = set.file.iter().filter(|file| {
        file.package().starts_with("skald.") && !file.package().starts_with("skald.mesh.")
    });
    let services = files.flat_map(|file| {
        file.service
            .iter()
            .map(|service| (format!("{}.{}", file.package(), service.name()), service))
    });
    services
        .flat_map(|(name, service)| {
            service.method.iter().map(move |method| (format!("/{name}/{}", method.name()), method))
        })
        .filter(|(_, method)| !method.client_streaming())
        .collect()
}

#[tokio::test]
async fn every_enum_of_every_request_refuses_a_number_that_it_does_not_know() {
    assert!(Author::try_from(i32::try_from(UNKNOWN).expect("small")).is_err());
    let (world, _url) = Plan::new().with_tokens().near_on_a_port().await;
    let set = FileDescriptorSet::decode(wire::DESCRIPTORS).expect("descriptors");
    let messages: Messages = set
        .file
        .iter()
        .flat_map(|file| {
            let name =
                |message: &DescriptorProto| format!(".{}.{}", file.package(), message.name());
            file.message_type.iter().map(move |message| (name(message), message))
        })
        .collect();
    let (mut tried, mut taken) = (0, Vec::new());
    for (path, method) in methods(&set) {
        let mut found = Vec::new();
        enums(&messages, method.input_type(), &mut Vec::new(), &mut found);
        for at in found {
            let request = with_unknown(base(method.name()), &at);
            let answer = observe(&world.links().ledger, ADA, &path, &request).await;
            let field = at.last().expect("a field").name();
            let told = answer.shown(ADA);
            tried += 1;
            if answer.code() != "3" || !told.contains(&format!("{field} is {UNKNOWN}")) {
                taken.push(format!("{path} {field}: {told}"));
            }
        }
    }
    assert_eq!(taken, [""; 0]);
    assert!(tried > 20, "{tried} enums were found");
}
