//! Messages become values; a field that is malformed is named.

use host::{
    caller::{Caller, caller},
    field::known,
    idempotency::{Scope, request_hash},
    status,
};
use kernel::{
    ChangesetId, EntryId, InvalidId, Principal, RequestId, Scope as TokenScope, SessionId, Subject,
    TenantId, Timestamp, WorldId,
};
use proposal_core::{Layer, Operation, Overlay, Row, operation::Kind};
use prost::Message;
use tonic::{Request, Status};
use wire::{
    lorebook::v1::{self as lore, OperationKind, OverlayAction},
    mesh::v1 as mesh,
    proposal::v1 as pb,
};

use super::Handlers;
use crate::{
    proposals::{Call, Edit},
    store::{Position, Which, WhichState},
};

/// A request that carries an id for its retries.
pub(super) trait Retryable: Message + Clone {
    fn request_id(&mut self) -> &mut String;
}

macro_rules! retryable {
    ($($message:ident)*) => {$(
        impl Retryable for pb::$message {
            fn request_id(&mut self) -> &mut String {
                &mut self.request_id
            }
        }
    )*};
}

retryable!(UpdateChangesetRequest ApplyChangesetRequest RejectChangesetRequest UndoChangesetRequest);

impl Handlers {
    /// Who calls, and under which request id; without one the call is its own only attempt.
    pub(super) fn call<'a, M: Retryable>(
        &self,
        method: &'static str,
        request: &'a Request<M>,
    ) -> Result<Call<'a>, Status> {
        let caller = caller(request)?;
        let given = request.get_ref().clone().request_id().clone();
        let request_id = match given.is_empty() {
            true => self.0.fresh_request_id(),
            false => id("request_id", RequestId::new(&given))?,
        };
        let hash = request_hash(request.get_ref(), |message| message.request_id().clear());
        let scope = Scope::new(&caller.principal.owner, method, request_id);
        Ok(Call { caller, scope, request: hash })
    }
}

pub(super) fn changeset_id(text: &str) -> Result<ChangesetId, Status> {
    id("changeset_id", ChangesetId::new(text))
}

pub(super) fn session_id(text: &str) -> Result<SessionId, Status> {
    id("session_id", SessionId::new(text))
}

pub(super) fn which(asked: &pb::ListChangesetsRequest) -> Result<Which, Status> {
    let state = match known("filter", asked.filter)? {
        pb::ChangesetFilter::Unspecified => WhichState::All,
        pb::ChangesetFilter::Open => WhichState::Open,
        pb::ChangesetFilter::History => WhichState::Decided,
    };
    let world = some(&asked.world_id).map(|text| id("world_id", WorldId::new(text))).transpose()?;
    let session = some(&asked.session_id).map(session_id).transpose()?;
    Ok(Which { state, world, session })
}

/// What binds a page token to its list.
pub(super) fn listing(caller: &Caller, asked: &pb::ListChangesetsRequest) -> [String; 6] {
    let owner = &caller.principal.owner;
    [
        "skald.proposal.v1.ChangesetService/ListChangesets".to_owned(),
        owner.tenant.to_string(),
        owner.subject.to_string(),
        asked.filter.to_string(),
        asked.world_id.clone(),
        asked.session_id.clone(),
    ]
}

/// The inverse of `to_proto::position`.
pub(super) fn position(text: &str) -> Result<Position, Status> {
    let altered = || status::invalid("page_token", "is not of this list");
    let (micros, id) = text.split_once(' ').ok_or_else(altered)?;
    let created_at = Timestamp::from_micros(micros.parse().map_err(|_| altered())?);
    Ok(Position { created_at, id: ChangesetId::new(id).map_err(|_| altered())? })
}

pub(super) fn edit(asked: &pb::UpdateChangesetRequest) -> Result<Edit, Status> {
    let operations = asked.operations.iter().enumerate().map(|(at, op)| operation(at, op));
    Ok(Edit { operations: operations.collect::<Result<_, _>>()?, summary: asked.summary.clone() })
}

fn operation(at: usize, op: &lore::Operation) -> Result<Operation, Status> {
    let field = |name: &str| format!("operations[{at}].{name}");
    let kind = match known(&field("kind"), op.kind)? {
        OperationKind::Unspecified => return Err(status::invalid(field("kind"), "is not set")),
        OperationKind::Create => Kind::Create,
        OperationKind::Update => Kind::Update,
        OperationKind::Replace => Kind::Replace,
        OperationKind::Suppress => Kind::Suppress,
        OperationKind::Archive => Kind::Archive,
    };
    let target = some(&op.target_entry_id)
        .map(|text| id(field("target_entry_id"), EntryId::new(text)))
        .transpose()?;
    match (kind, &target) {
        (Kind::Create, Some(_)) => {
            return Err(status::invalid(field("target_entry_id"), "is set for a create"));
        }
        (Kind::Create, None) | (_, Some(_)) => {}
        (_, None) => return Err(status::invalid(field("target_entry_id"), "is empty")),
    }
    Ok(Operation {
        kind,
        target,
        name: op.name.clone(),
        content: op.content.clone(),
        constant: op.constant,
        keywords: (op.set_keywords || !op.keywords.is_empty()).then(|| op.keywords.clone()),
        rationale: op.rationale.clone(),
    })
}

/// A row as lorebook gives it; nothing when it makes no sense.
pub(crate) fn row(entry: lore::Entry) -> Option<Row> {
    let supersedes = match entry.supersedes_entry_id.as_str() {
        "" => None,
        text => Some(EntryId::new(text).ok()?),
    };
    let layer = match (entry.layer(), entry.overlay_action()) {
        (lore::Layer::Authored, _) => Layer::Authored,
        (lore::Layer::Dynamic, OverlayAction::Replace) => {
            Layer::Dynamic(Overlay::Replace(supersedes))
        }
        (lore::Layer::Dynamic, OverlayAction::Suppress) => {
            Layer::Dynamic(Overlay::Suppress(supersedes))
        }
        (lore::Layer::Dynamic, OverlayAction::Add | OverlayAction::Unspecified) => {
            Layer::Dynamic(Overlay::Add)
        }
        (lore::Layer::Unspecified, _) => return None,
    };
    Some(Row {
        id: EntryId::new(&entry.entry_id).ok()?,
        layer,
        name: entry.name,
        content: entry.content,
        constant: entry.constant,
        keywords: entry.keys,
        enabled: entry.enabled,
        archived: entry.archived,
        locked: entry.locked,
    })
}

/// The principal that a job was queued with.
pub(crate) fn principal(queued: &mesh::Caller) -> Result<Principal, InvalidId> {
    let scopes = queued.scopes.iter().filter_map(|name| TokenScope::from_name(name));
    Ok(Principal::new(TenantId::new(&queued.tenant)?, Subject::new(&queued.subject)?, scopes))
}

fn id<T>(field: impl Into<String>, id: Result<T, InvalidId>) -> Result<T, Status> {
    host::field::id(&field.into(), id)
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
