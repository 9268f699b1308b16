//! ContextService.

use futures::stream;
use host::{caller::caller, page};
use prost::Message;
use wire::ledger::v1::{self as pb, context_service_server::ContextService};

use super::{Handler, Reply, Streamed, from_proto, replayable, status::status, to_proto};

const LIST: &str = "skald.ledger.v1.ContextService/ListRequests";

#[tonic::async_trait]
impl ContextService for Handler {
    async fn add_context(
        &self,
        request: tonic::Request<pb::AddContextRequest>,
    ) -> Reply<pb::AddContextResponse> {
        let caller = caller(&request)?.clone();
        let add = from_proto::add_context(&caller, request.into_inner())?;
        let (added, replayed) = self.ledger.add_context(&caller, add).await.map_err(status)?;
        let response = pb::AddContextResponse { offset: added.offset, unchanged: added.unchanged };
        Ok(replayable(response, replayed))
    }

    type GetRequestStream = Streamed<pb::GetRequestResponse>;

    async fn get_request(
        &self,
        request: tonic::Request<pb::GetRequestRequest>,
    ) -> Reply<Self::GetRequestStream> {
        let owner = caller(&request)?.principal.owner.clone();
        let request = request.into_inner();
        let session = from_proto::session_id(&request.session_id)?;
        let shown = self.ledger.request(&owner, &session, request.offset).await.map_err(status)?;
        let parts = to_proto::request_parts(&shown).into_iter().map(Ok);
        Ok(tonic::Response::new(Box::pin(stream::iter(parts))))
    }

    async fn list_requests(
        &self,
        request: tonic::Request<pb::ListRequestsRequest>,
    ) -> Reply<pb::ListRequestsResponse> {
        let owner = caller(&request)?.principal.owner.clone();
        let request = request.into_inner();
        let session = from_proto::session_id(&request.session_id)?;
        let names = [LIST, owner.tenant.as_str(), owner.subject.as_str(), session.as_str()];
        let listing = page::Listing(&names);
        let after = from_proto::number_after(listing.position(&request.page_token)?)?;
        let size = from_proto::page_size(request.page_size)?;
        let limit = u32::try_from(size + 1).unwrap_or(u32::MAX);
        let found = self.ledger.requests(&owner, &session, after, limit).await.map_err(status)?;

        let (mut filling, mut requests) = (page::Filling::new(size), Vec::new());
        let (mut last, mut next_page_token) = (0, String::new());
        for shown in &found {
            let record = to_proto::request_record(shown);
            if !filling.takes(record.encoded_len()) {
                next_page_token = listing.token(&last.to_string());
                break;
            }
            last = shown.offset;
            requests.push(record);
        }
        Ok(tonic::Response::new(pb::ListRequestsResponse { requests, next_page_token }))
    }
}
