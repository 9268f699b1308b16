//! The wire's side of the service: each RPC reads its request, asks, and writes the answer.

pub(crate) mod from_proto;
mod status;
pub(crate) mod to_proto;

use std::sync::Arc;

use host::{
    answer::replayed,
    caller::caller,
    page::{Filling, Listing, page_size},
};
use prost::Message as _;
use tonic::{Request, Response, Status};
use wire::proposal::v1::{
    self as pb, changeset_service_server::ChangesetService,
    evaluation_service_server::EvaluationService,
};

use crate::proposals::{Answered, Proposals, method};

/// Handlers of both services.
#[derive(Clone)]
pub(crate) struct Handlers(Arc<Proposals>);

// === impl Handlers ===

impl Handlers {
    pub fn new(proposals: Arc<Proposals>) -> Self {
        Self(proposals)
    }
}

#[tonic::async_trait]
impl ChangesetService for Handlers {
    async fn list_changesets(
        &self,
        request: Request<pb::ListChangesetsRequest>,
    ) -> Result<Response<pb::ListChangesetsResponse>, Status> {
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let which = from_proto::which(asked)?;
        let size = page_size(i32::try_from(asked.page_size).unwrap_or(i32::MAX))?;
        let parts = from_proto::listing(caller, asked);
        let parts = parts.each_ref().map(String::as_str);
        let listing = Listing(&parts);
        let after = listing.position(&asked.page_token)?;
        let after = after.as_deref().map(from_proto::position).transpose()?;
        // One more than the page holds tells whether there is another page.
        let found = self.0.list(caller, &which, after.as_ref(), size + 1).await?;
        let mut filling = Filling::new(size);
        let all = found.iter().map(|shown| (shown, to_proto::changeset_head(shown)));
        let page: Vec<_> = all.take_while(|(_, item)| filling.takes(item.encoded_len())).collect();
        let more = page.last().filter(|_| page.len() < found.len());
        let next_page_token =
            more.map(|(last, _)| listing.token(&to_proto::position(&last.changeset)));
        Ok(Response::new(pb::ListChangesetsResponse {
            next_page_token: next_page_token.unwrap_or_default(),
            changesets: page.into_iter().map(|(_, item)| item).collect(),
        }))
    }

    async fn get_changeset(
        &self,
        request: Request<pb::GetChangesetRequest>,
    ) -> Result<Response<pb::GetChangesetResponse>, Status> {
        let id = from_proto::changeset_id(&request.get_ref().changeset_id)?;
        let shown = self.0.get(caller(&request)?, &id).await?;
        let changeset = Some(to_proto::changeset(&shown));
        Ok(Response::new(pb::GetChangesetResponse { changeset }))
    }

    async fn update_changeset(
        &self,
        request: Request<pb::UpdateChangesetRequest>,
    ) -> Result<Response<pb::UpdateChangesetResponse>, Status> {
        let (call, asked) = (self.call(method::UPDATE, &request)?, request.get_ref());
        let id = from_proto::changeset_id(&asked.changeset_id)?;
        let edit = from_proto::edit(asked)?;
        let answered = self.0.update(&call, &id, &edit, &asked.etag).await?;
        Ok(respond(answered, |shown| pb::UpdateChangesetResponse {
            changeset: Some(to_proto::changeset(&shown)),
        }))
    }

    async fn apply_changeset(
        &self,
        request: Request<pb::ApplyChangesetRequest>,
    ) -> Result<Response<pb::ApplyChangesetResponse>, Status> {
        let (call, asked) = (self.call(method::APPLY, &request)?, request.get_ref());
        let id = from_proto::changeset_id(&asked.changeset_id)?;
        let answered = self.0.apply(&call, &id, asked.allow_partial, &asked.etag).await?;
        Ok(respond(answered, |(shown, change)| pb::ApplyChangesetResponse {
            left_out: to_proto::left_out(&shown.changeset),
            changeset: Some(to_proto::changeset_head(&shown)),
            change: change.map(to_proto::change_head),
        }))
    }

    async fn reject_changeset(
        &self,
        request: Request<pb::RejectChangesetRequest>,
    ) -> Result<Response<pb::RejectChangesetResponse>, Status> {
        let call = self.call(method::REJECT, &request)?;
        let id = from_proto::changeset_id(&request.get_ref().changeset_id)?;
        let answered = self.0.reject(&call, &id).await?;
        Ok(respond(answered, |shown| pb::RejectChangesetResponse {
            changeset: Some(to_proto::changeset_head(&shown)),
        }))
    }

    async fn undo_changeset(
        &self,
        request: Request<pb::UndoChangesetRequest>,
    ) -> Result<Response<pb::UndoChangesetResponse>, Status> {
        let call = self.call(method::UNDO, &request)?;
        let id = from_proto::changeset_id(&request.get_ref().changeset_id)?;
        let answered = self.0.undo(&call, &id).await?;
        Ok(respond(answered, |(shown, change)| pb::UndoChangesetResponse {
            changeset: Some(to_proto::changeset_head(&shown)),
            change: change.map(to_proto::change_head),
        }))
    }
}

#[tonic::async_trait]
impl EvaluationService for Handlers {
    async fn get_evaluation(
        &self,
        request: Request<pb::GetEvaluationRequest>,
    ) -> Result<Response<pb::GetEvaluationResponse>, Status> {
        let asked = request.get_ref();
        let session = from_proto::session_id(&asked.session_id)?;
        let found = self.0.evaluation(caller(&request)?, &session, asked.turn_seq).await?;
        let evaluation = Some(to_proto::evaluation(&found.0, &found.1));
        Ok(Response::new(pb::GetEvaluationResponse { evaluation }))
    }
}

fn respond<T, M>(answered: Answered<T>, message: impl FnOnce(T) -> M) -> Response<M> {
    let response = Response::new(message(answered.value));
    if answered.replayed { replayed(response) } else { response }
}
