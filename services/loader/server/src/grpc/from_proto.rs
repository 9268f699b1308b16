//! Requests become the loader's own values; what is malformed is named with its field.

use host::{
    caller::Caller,
    field::{self, known},
    idempotency::{Scope, request_hash},
    status::{invalid, over},
    upload::Upload,
};
use kernel::{
    CharacterId, Digest, InvalidId, PresetId, RequestId, SessionId, UserId, WorldId, limits,
};
use loader_core::{
    User,
    format::card::Container,
    selection::{
        Activation, AuthorsNote, NotePosition, Options, Rp, RpSource, Sandbox, Selection, Worlds,
    },
};
use prompt::{ProfileMode, Role};
use tonic::Status;
use wire::{common::v1 as common, loader::v1 as pb, lorebook::v1::WorldView};

pub use host::upload::{Part as UploadPart, file as upload};

pub mod edit;
pub mod job;

use super::status::user_status;
use crate::{
    exports::{CardExport, EmbeddedWorld},
    store::{Attempt, Holder, Origin},
    templates::TemplateSource,
};

pub fn id<T>(field: &str, text: &str, new: fn(&str) -> Result<T, InvalidId>) -> Result<T, Status> {
    field::id(field, new(text))
}

/// An id that may be left out.
pub fn optional_id<T>(
    field: &str,
    text: &str,
    new: fn(&str) -> Result<T, InvalidId>,
) -> Result<Option<T>, Status> {
    if text.is_empty() { Ok(None) } else { id(field, text, new).map(Some) }
}

/// The attempt that a request names; none without a request id.
pub fn attempt<M: prost::Message + Clone>(
    caller: &Caller,
    method: &'static str,
    request: &M,
    request_id: &str,
    clear: impl FnOnce(&mut M),
) -> Result<Option<Attempt>, Status> {
    let request_id = optional_id("request_id", request_id, |text| RequestId::new(text))?;
    Ok(request_id.map(|id| attempt_of(caller, method, id, request_hash(request, clear))))
}

/// The attempt of an upload.
pub fn upload_attempt(caller: &Caller, method: &'static str, upload: &Upload) -> Option<Attempt> {
    let id = upload.request_id.clone()?;
    Some(attempt_of(caller, method, id, upload.request_hash()))
}

fn attempt_of(caller: &Caller, method: &'static str, id: RequestId, request: Digest) -> Attempt {
    Attempt { scope: Scope::new(&caller.principal.owner, method, id), request }
}

pub fn template_name(name: &str) -> Result<String, Status> {
    if name.trim().is_empty() {
        return Err(invalid("name", "is empty"));
    }
    field::name("name", name, limits::RESOURCE_NAME_CHARS_MAX)?;
    Ok(name.to_owned())
}

pub fn template_source(
    source: Option<pb::create_template_request::Source>,
) -> Result<TemplateSource, Status> {
    use pb::create_template_request::Source;
    match source {
        None => Err(invalid("source", "is missing")),
        Some(Source::Selection(given)) => selection(Some(given)).map(TemplateSource::Given),
        Some(Source::SessionId(text)) => {
            id("session_id", &text, |id| SessionId::new(id)).map(TemplateSource::Session)
        }
    }
}

/// `None`: the shipped text.
pub fn rp_policy(request: &pb::SetRpPolicyRequest) -> Result<Option<&str>, Status> {
    let text = request.text.as_str();
    match request.shipped {
        true if text.is_empty() => return Ok(None),
        true => return Err(invalid("text", "is not empty, as it is for the shipped text")),
        false => {}
    }
    if text.contains('\0') {
        return Err(invalid("text", "holds U+0000"));
    }
    field::at_most("text", text.len(), "bytes", limits::RP_POLICY_BYTES_MAX)?;
    Ok(Some(text))
}

pub fn card_export(request: &pb::ExportCharacterRequest) -> Result<CardExport, Status> {
    let container = match known("format", request.format)? {
        pb::CardFormat::Unspecified => None,
        pb::CardFormat::Json => Some(Container::Json),
        pb::CardFormat::Png => Some(Container::Png),
        pb::CardFormat::Charx => Some(Container::Charx),
    };
    let view = match known("world_view", request.world_view)? {
        WorldView::Unspecified | WorldView::Authored => WorldView::Authored,
        WorldView::Effective => WorldView::Effective,
        WorldView::All => return Err(invalid("world_view", "is ALL, which no card holds")),
    };
    let world = optional_id("embed_world_id", &request.embed_world_id, |id| WorldId::new(id))?;
    if world.is_none() && request.world_view() != WorldView::Unspecified {
        return Err(invalid("world_view", "is set, but no embed_world_id"));
    }
    Ok(CardExport { container, world: world.map(|id| EmbeddedWorld { id, view }) })
}

pub fn user(request: &pb::CreateUserRequest) -> Result<User, Status> {
    User::new(request.name.clone(), request.description.clone())
        .map_err(|error| user_status("", error))
}

pub fn selection(selection: Option<pb::Selection>) -> Result<Selection, Status> {
    let selection = selection.ok_or_else(|| invalid("selection", "is missing"))?;
    Ok(Selection {
        preset: optional_id("selection.preset_id", &selection.preset_id, |id| PresetId::new(id))?,
        character: optional_id("selection.character_id", &selection.character_id, |id| {
            CharacterId::new(id)
        })?,
        user: optional_id("selection.user_id", &selection.user_id, |id| UserId::new(id))?,
        worlds: worlds("selection.world_ids", &selection.world_ids)?,
        options: options(selection.options.unwrap_or_default())?,
        rp: rp(selection.rp.unwrap_or_default())?,
    })
}

/// Where a new session's selection comes from: what was sent, else the parent, else the defaults.
pub fn origin(given: Option<pb::Selection>, parent_session_id: &str) -> Result<Origin, Status> {
    if given.is_some() {
        return selection(given).map(Origin::Given);
    }
    let parent = optional_id("parent_session_id", parent_session_id, |id| SessionId::new(id))?;
    Ok(parent.map_or(Origin::Defaults, Origin::Parent))
}

pub fn worlds(field: &str, ids: &[String]) -> Result<Worlds, Status> {
    let ids = ids
        .iter()
        .enumerate()
        .map(|(at, text)| id(&format!("{field}[{at}]"), text, |id| WorldId::new(id)));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    Worlds::new(ids).map_err(|error| over(field, error.0, "worlds", limits::WORLDS_PER_OWNER_MAX))
}

pub fn holder(owner: i32, owner_id: &str) -> Result<Holder, Status> {
    match known("owner", owner)? {
        pb::BindingOwner::User => id("owner_id", owner_id, |id| UserId::new(id)).map(Holder::User),
        pb::BindingOwner::Preset => {
            id("owner_id", owner_id, |id| PresetId::new(id)).map(Holder::Preset)
        }
        pb::BindingOwner::Character => {
            id("owner_id", owner_id, |id| CharacterId::new(id)).map(Holder::Character)
        }
        pb::BindingOwner::Global if owner_id.is_empty() => Ok(Holder::Global),
        pb::BindingOwner::Global => Err(invalid("owner_id", "is not empty, as it is for GLOBAL")),
        pb::BindingOwner::Unspecified => Err(invalid("owner", "is missing")),
    }
}

/// Empty: nothing to compare.
pub fn etag(etag: &str) -> Option<&str> {
    Some(etag).filter(|etag| !etag.is_empty())
}

/// Empty: nothing to compare. An etag that is none of ours equals no revision.
pub fn revision(etag: &str) -> Option<u64> {
    (!etag.is_empty()).then(|| etag.parse().unwrap_or(0))
}

pub fn profile_mode(mode: i32) -> Result<ProfileMode, Status> {
    Ok(match known("profile_mode", mode)? {
        common::ProfileMode::Unspecified | common::ProfileMode::Journal => ProfileMode::Journal,
        common::ProfileMode::InChat => ProfileMode::InChat,
        common::ProfileMode::Contract => ProfileMode::Contract,
    })
}

fn options(options: pb::SelectionOptions) -> Result<Options, Status> {
    Ok(Options {
        greeting_index: options.greeting_index,
        ignore_character_system_prompt: options.ignore_character_system_prompt,
        ignore_character_post_history: options.ignore_character_post_history,
        activation: activation(options.activation.unwrap_or_default())?,
        authors_note: options.authors_note.map(authors_note).transpose()?.flatten(),
    })
}

fn activation(settings: pb::ActivationSettings) -> Result<Activation, Status> {
    let at_most = |name: &str, value: Option<u32>, most: u32| match value {
        Some(value) if value > most => {
            let field = format!("selection.options.activation.{name}");
            Err(invalid(field, format!("is {value}, at most {most} is allowed")))
        }
        _ => Ok(value),
    };
    Ok(Activation {
        scan_depth: at_most("scan_depth", settings.scan_depth, limits::SCAN_DEPTH_MAX)?,
        budget_percent: at_most("budget_percent", settings.budget_percent, 100)?,
        budget_cap: settings.budget_cap,
        include_names: settings.include_names,
        recursive: settings.recursive,
        max_recursion_steps: settings.max_recursion_steps,
        case_sensitive: settings.case_sensitive,
        match_whole_words: settings.match_whole_words,
        use_group_scoring: settings.use_group_scoring,
        min_activations: settings.min_activations,
        min_activations_depth_max: settings.min_activations_depth_max,
        character_strategy: at_most("character_strategy", settings.character_strategy, 2)?,
        unicode_words: settings.unicode_words,
    })
}

/// A note without a text is none.
fn authors_note(note: pb::AuthorsNote) -> Result<Option<AuthorsNote>, Status> {
    const FIELD: &str = "selection.options.authors_note";
    let position = known(&format!("{FIELD}.position"), note.position)?;
    field::at_most(&format!("{FIELD}.text"), note.text.len(), "bytes", AuthorsNote::BYTES_MAX)?;
    if note.text.trim().is_empty() {
        return Ok(None);
    }
    let role = match note.role.as_str() {
        "" | "system" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return Err(invalid(format!("{FIELD}.role"), "is not system, user or assistant")),
    };
    let position = match position {
        pb::AuthorsNotePosition::Unspecified | pb::AuthorsNotePosition::InChat => {
            NotePosition::InChat
        }
        pb::AuthorsNotePosition::AfterMain => NotePosition::AfterMain,
        pb::AuthorsNotePosition::BeforeMain => NotePosition::BeforeMain,
    };
    Ok(Some(AuthorsNote {
        text: note.text,
        depth: note.depth.unwrap_or(AuthorsNote::DEPTH_DEFAULT),
        role,
        position,
        interval: note.interval.unwrap_or(AuthorsNote::INTERVAL_DEFAULT),
    }))
}

fn rp(rp: pb::RpSelection) -> Result<Rp, Status> {
    let source = match rp.source.as_str() {
        "" => None,
        "command" => Some(RpSource::Command),
        "character-follow" => Some(RpSource::CharacterFollow),
        _ => return Err(invalid("selection.rp.source", "is not command or character-follow")),
    };
    let sandbox_before = match rp.sandbox_before.as_str() {
        "" => None,
        "read-only" => Some(Sandbox::ReadOnly),
        "workspace-write" => Some(Sandbox::WorkspaceWrite),
        "danger-full-access" => Some(Sandbox::DangerFullAccess),
        _ => {
            let why = "is not read-only, workspace-write or danger-full-access";
            return Err(invalid("selection.rp.sandbox_before", why));
        }
    };
    let pb::RpSelection { active, follow_suppressed, .. } = rp;
    Ok(Rp { active, source, follow_suppressed, sandbox_before })
}
