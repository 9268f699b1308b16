//! Lorebook as this service sees it: worlds to judge, changes to make and to take back.

use std::collections::{BTreeMap, HashMap};

use host::{caller::Caller, link::Peer, status};
use kernel::{ChangeId, WorldId, limits::WORLDS_PER_REQUEST_MAX};
use proposal_core::{Changeset, Operation, World};
use tonic::{Code, Status};
use wire::{
    common::v1::Reason,
    lorebook::v1::{
        self as lore, Change, GetChangeRequest, GetChangeResponse, GetWorldRequest,
        RevertChangeRequest, WorldView, get_world_response::Part,
        history_service_client::HistoryServiceClient, world_service_client::WorldServiceClient,
    },
    mesh::v1::{
        ApplyChangeRequest, BatchGetWorldsRequest, CloseChangeRequest, OperationVerdict,
        lore_service_client::LoreServiceClient,
    },
};

use crate::grpc::{from_proto, to_proto};

/// The link to lorebook. Every call acts for its caller.
#[derive(Clone)]
pub(crate) struct Lore(Peer);

/// One change to make, under an id of its own.
pub(crate) struct Wanted<'a> {
    pub change: ChangeId,
    pub world: &'a WorldId,
    pub base_revision: u64,
    pub operations: &'a [Operation],
    pub summary: &'a str,
    pub labels: &'a BTreeMap<String, String>,
}

// === impl Lore ===

impl Lore {
    pub fn new(peer: Peer) -> Self {
        Self(peer)
    }

    /// A world with all its rows, if it may be proposed on: there, enabled, opted in, not embedded.
    pub async fn opted_in(&self, caller: &Caller, id: &WorldId) -> Result<Option<World>, Status> {
        let request = GetWorldRequest { world_id: id.to_string(), view: WorldView::All.into() };
        let mut client = WorldServiceClient::new(self.0.acting_for(caller));
        let Some(answer) = found(client.get_world(request).await)? else { return Ok(None) };
        let mut parts = answer.into_inner();
        let Some(Part::World(head)) = parts.message().await?.and_then(|answer| answer.part) else {
            return Err(unreadable("a world without its head"));
        };
        if !head.enabled || !head.dynamic_enabled || head.embedded {
            return Ok(None);
        }
        let mut rows = Vec::new();
        while let Some(answer) = parts.message().await? {
            if let Some(Part::Entry(entry)) = answer.part {
                rows.push(from_proto::row(entry).ok_or_else(|| unreadable("an entry"))?);
            }
        }
        let (name, revision) = (head.name, head.content_revision);
        Ok(Some(World { id: id.clone(), name, revision, rows }))
    }

    /// The present revision of each world that is still there.
    pub async fn revisions(
        &self,
        caller: &Caller,
        ids: &[&WorldId],
    ) -> Result<HashMap<WorldId, u64>, Status> {
        let mut revisions = HashMap::new();
        for ids in ids.chunks(WORLDS_PER_REQUEST_MAX) {
            let world_ids = ids.iter().map(ToString::to_string).collect();
            let mut client = LoreServiceClient::new(self.0.acting_for(caller));
            let answer = client.batch_get_worlds(BatchGetWorldsRequest { world_ids }).await?;
            for world in answer.into_inner().worlds {
                let id = WorldId::new(&world.world_id).map_err(|_| unreadable("a world id"))?;
                revisions.insert(id, world.content_revision);
            }
        }
        Ok(revisions)
    }

    /// What lorebook would say to each operation, in order, whatever revision the world is at; nothing is stored.
    /// Nothing of a world that is gone.
    pub async fn verdicts(
        &self,
        caller: &Caller,
        wanted: &Wanted<'_>,
    ) -> Result<Option<Vec<OperationVerdict>>, Status> {
        let request = ApplyChangeRequest { validate_only: true, ..apply_request(wanted) };
        let mut client = LoreServiceClient::new(self.0.acting_for(caller));
        let Some(answer) = found(client.apply_change(request).await)? else { return Ok(None) };
        let verdicts = answer.into_inner().verdicts;
        match verdicts.len() == wanted.operations.len() {
            true => Ok(Some(verdicts)),
            false => Err(unreadable("verdicts of another number of operations")),
        }
    }

    /// Applies a change, or finds it applied: the same id gives the same change.
    pub async fn apply(&self, caller: &Caller, wanted: &Wanted<'_>) -> Result<Change, Status> {
        let mut client = LoreServiceClient::new(self.0.acting_for(caller));
        let answer = client.apply_change(apply_request(wanted)).await?.into_inner();
        answer.change.ok_or_else(|| unreadable("an applied change without the change"))
    }

    /// Makes sure that a change will never be applied; the change, if it was.
    pub async fn close(
        &self,
        caller: &Caller,
        change: &ChangeId,
        world: &WorldId,
    ) -> Result<Option<Change>, Status> {
        let request =
            CloseChangeRequest { change_id: change.to_string(), world_id: world.to_string() };
        let mut client = LoreServiceClient::new(self.0.acting_for(caller));
        let answer = found(client.close_change(request).await)?;
        Ok(answer.and_then(|answer| answer.into_inner().change))
    }

    /// A change of the History, if it is still there, with its first row at the most.
    pub async fn change_head(
        &self,
        caller: &Caller,
        change: &ChangeId,
    ) -> Result<Option<Change>, Status> {
        let answer = self.change_page(caller, change, 1, String::new()).await?;
        Ok(answer.and_then(|answer| answer.change))
    }

    /// A change of the History with all its rows, if it is still there.
    pub async fn change(
        &self,
        caller: &Caller,
        change: &ChangeId,
    ) -> Result<Option<Change>, Status> {
        let mut whole: Option<Change> = None;
        let mut page_token = String::new();
        loop {
            let answer = self.change_page(caller, change, 0, page_token).await?;
            let Some(answer) = answer else { return Ok(None) };
            let page = answer.change.ok_or_else(|| unreadable("a change without the change"))?;
            match &mut whole {
                None => whole = Some(page),
                Some(whole) => whole.rows.extend(page.rows),
            }
            page_token = answer.next_page_token;
            if page_token.is_empty() {
                return Ok(whole);
            }
        }
    }

    async fn change_page(
        &self,
        caller: &Caller,
        change: &ChangeId,
        page_size: u32,
        page_token: String,
    ) -> Result<Option<GetChangeResponse>, Status> {
        let request = GetChangeRequest { change_id: change.to_string(), page_size, page_token };
        let mut client = HistoryServiceClient::new(self.0.acting_for(caller));
        Ok(found(client.get_change(request).await)?.map(|answer| answer.into_inner()))
    }

    /// Takes a change back. The same request id gives the same answer.
    pub async fn revert(
        &self,
        caller: &Caller,
        change: &ChangeId,
        request_id: String,
    ) -> Result<Change, Status> {
        let request = RevertChangeRequest { change_id: change.to_string(), request_id };
        let mut client = HistoryServiceClient::new(self.0.acting_for(caller));
        let answer = client.revert_change(request).await?.into_inner();
        answer.change.ok_or_else(|| unreadable("a reverting change without the change"))
    }
}

// === impl Wanted ===

impl<'a> Wanted<'a> {
    /// These operations on the changeset's world, at the revision that it was made for.
    pub fn of(changeset: &'a Changeset, change: ChangeId, operations: &'a [Operation]) -> Self {
        Self {
            change,
            world: &changeset.world,
            base_revision: changeset.base_revision,
            operations,
            summary: &changeset.summary,
            labels: &changeset.source.labels,
        }
    }
}

fn apply_request(wanted: &Wanted<'_>) -> ApplyChangeRequest {
    ApplyChangeRequest {
        change_id: wanted.change.to_string(),
        world_id: wanted.world.to_string(),
        base_revision: wanted.base_revision,
        operations: wanted.operations.iter().map(to_proto::operation).collect(),
        origin: lore::ChangeOrigin::Agent.into(),
        summary: wanted.summary.to_owned(),
        labels: wanted.labels.clone().into_iter().collect(),
        validate_only: false,
    }
}

/// Absence as a value.
fn found<T>(answer: Result<T, Status>) -> Result<Option<T>, Status> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(status) if status.code() == Code::NotFound => Ok(None),
        Err(status) => Err(status),
    }
}

fn unreadable(what: &'static str) -> Status {
    #[derive(Debug, thiserror::Error)]
    #[error("lorebook answered {0}")]
    struct Unreadable(&'static str);
    status::internal(&Unreadable(what))
}

/// Whether lorebook refused because the world is at another revision.
pub(crate) fn is_stale(status: &Status) -> bool {
    status::reason(status) == Some(Reason::StaleRevision)
}

/// Whether nobody can tell from the answer if the change was made, or will be when it is asked for again.
pub(crate) fn is_open(status: &Status) -> bool {
    matches!(status.code(), Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled)
        || status::reason(status) == Some(Reason::Overloaded)
}
