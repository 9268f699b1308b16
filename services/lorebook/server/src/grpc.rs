//! The lorebook's RPCs: each reads its request, calls its use case, and answers.

use std::{pin::Pin, sync::Arc};

use futures::Stream;
use host::{answer::replayed, caller::caller, gate::Services, page::Filling};
use kernel::{Owner, limits};
use prost::Message as _;
use tonic::{Request, Response, Status};
use wire::{
    lorebook::v1::{
        self as pb, entry_service_server::EntryServiceServer,
        history_service_server::HistoryServiceServer, world_service_server::WorldServiceServer,
    },
    mesh::v1::lore_service_server::LoreServiceServer,
};

use self::status::status;
use crate::{Lorebook, store::Change};

mod entries;
mod from_proto;
mod history;
mod lore;
mod status;
mod to_proto;
mod worlds;

/// All services of the lorebook over one set of use cases.
#[derive(Clone)]
struct Grpc(Arc<Lorebook>);

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

pub fn mount(lorebook: Arc<Lorebook>, services: Services) -> Services {
    let grpc = Grpc(lorebook);
    services
        .mount(WorldServiceServer::new(grpc.clone()))
        .mount(EntryServiceServer::new(grpc.clone()))
        .mount(HistoryServiceServer::new(grpc.clone()))
        .mount(LoreServiceServer::new(grpc))
}

// === impl Grpc ===

impl Grpc {
    /// A change with as many of its rows as fit into one page.
    async fn first_page(&self, owner: &Owner, change: &Change) -> Result<pb::Change, Status> {
        Ok(self.told(owner, change, 0, limits::PAGE_SIZE_MAX).await?.0)
    }

    /// A change with a page of its rows, and where the next page begins.
    async fn told(
        &self,
        owner: &Owner,
        change: &Change,
        from: i64,
        size: usize,
    ) -> Result<(pb::Change, Option<usize>), Status> {
        let bases = self.0.overlaid(owner, change).await.map_err(status)?;
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let mut filling = Filling::new(size);
        let pairs = change.record.pairs.get(from..).unwrap_or_default();
        let rows: Vec<pb::RowChange> = pairs
            .iter()
            .enumerate()
            .map(|(at, pair)| to_proto::row(pair, change.record.rationales.get(from + at), &bases))
            .take_while(|row| filling.takes(row.encoded_len()))
            .collect();
        let next = (rows.len() < pairs.len()).then_some(from + rows.len());
        Ok((pb::Change { rows, ..to_proto::change(change) }, next))
    }
}

fn owner<T>(request: &Request<T>) -> Result<Owner, Status> {
    Ok(caller(request)?.principal.owner.clone())
}

fn said<T>(answer: T, again: bool) -> Response<T> {
    let response = Response::new(answer);
    if again { replayed(response) } else { response }
}
