//! The loader's RPCs: each reads its request, calls its use case, and answers.

use std::sync::Arc;

use futures::stream;
use host::{
    answer::replayed,
    caller::Caller,
    gate::Services,
    page::{Listing, page_size},
};
use kernel::limits::CHUNK_BYTES;
use tonic::{Response, Status};
use wire::{
    loader::v1::{
        character_service_server::CharacterServiceServer,
        preset_service_server::PresetServiceServer, profile_service_server::ProfileServiceServer,
        rp_policy_service_server::RpPolicyServiceServer,
        selection_service_server::SelectionServiceServer,
        template_service_server::TemplateServiceServer, user_service_server::UserServiceServer,
        world_deletion_service_server::WorldDeletionServiceServer,
    },
    mesh::v1::compile_service_server::CompileServiceServer,
};

use self::status::status;
use crate::{
    Loader,
    store::{After, Kind, Summary},
};

pub mod to_proto;

mod characters;
mod compiler;
mod deletions;
mod from_proto;
mod presets;
mod profiles;
mod rp_policy;
mod selections;
mod status;
mod templates;
mod users;

/// All services of the loader over one set of use cases.
#[derive(Clone)]
struct Grpc(Arc<Loader>);

/// Answers that are there already.
type Answers<T> = stream::Iter<std::vec::IntoIter<Result<T, Status>>>;

/// One page of a list.
struct Page {
    items: Vec<Summary>,
    /// Empty on the last page.
    next: String,
}

pub fn mount(loader: Arc<Loader>, services: Services) -> Services {
    let grpc = Grpc(loader);
    services
        .mount(PresetServiceServer::new(grpc.clone()))
        .mount(CharacterServiceServer::new(grpc.clone()))
        .mount(UserServiceServer::new(grpc.clone()))
        .mount(SelectionServiceServer::new(grpc.clone()))
        .mount(TemplateServiceServer::new(grpc.clone()))
        .mount(RpPolicyServiceServer::new(grpc.clone()))
        .mount(WorldDeletionServiceServer::new(grpc.clone()))
        .mount(ProfileServiceServer::new(grpc.clone()))
        .mount(CompileServiceServer::new(grpc))
}

// === impl Grpc ===

impl Grpc {
    async fn page(
        &self,
        caller: &Caller,
        kind: Kind,
        size: u32,
        token: &str,
    ) -> Result<Page, Status> {
        let owner = &caller.principal.owner;
        let filter = [kind.name(), owner.tenant.as_str(), owner.subject.as_str()];
        let listing = Listing(&filter);
        let begin = listing.position(token)?;
        let after = begin.map(|position| after(&position)).unwrap_or_default();
        let size = page_size(i32::try_from(size).unwrap_or(i32::MAX))?;
        let (items, more) = self.0.list(caller, kind, &after, size).await.map_err(status)?;
        let last = items.last().filter(|_| more);
        let next = last.map(|last| listing.token(&position(&last.id, &last.name)));
        Ok(Page { items, next: next.unwrap_or_default() })
    }
}

/// A page's position: the last item's id and name.
fn position(id: &str, name: &str) -> String {
    format!("{id}\n{name}")
}

fn after(position: &str) -> After {
    let (id, name) = position.split_once('\n').unwrap_or((position, ""));
    After { name: name.to_owned(), id: id.to_owned() }
}

/// An answer that says when it is an earlier one's.
fn said<T>(answer: T, again: bool) -> Response<T> {
    let response = Response::new(answer);
    if again { replayed(response) } else { response }
}

/// A file in chunks.
fn file<T>(bytes: &[u8], answer: impl Fn(Vec<u8>) -> T) -> Response<Answers<T>> {
    let answers: Vec<_> =
        bytes.chunks(CHUNK_BYTES).map(|chunk| Ok(answer(chunk.to_vec()))).collect();
    Response::new(stream::iter(answers))
}

fn saturated(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
