//! SessionService.

use host::{caller::caller, page};
use prost::Message;
use wire::ledger::v1::{self as pb, session_service_server::SessionService};

use super::{Handler, Reply, from_proto, replayable, status::status, to_proto};

const LIST: &str = "skald.ledger.v1.SessionService/ListSessions";

#[tonic::async_trait]
impl SessionService for Handler {
    async fn create_session(
        &self,
        request: tonic::Request<pb::CreateSessionRequest>,
    ) -> Reply<pb::CreateSessionResponse> {
        let caller = caller(&request)?.clone();
        let new = from_proto::new_session(&caller, request.into_inner())?;
        let (session, _, replayed) =
            self.ledger.create_session(&caller, new).await.map_err(status)?;
        let session = Some(to_proto::session(&session));
        Ok(replayable(pb::CreateSessionResponse { session }, replayed))
    }

    async fn get_session(
        &self,
        request: tonic::Request<pb::GetSessionRequest>,
    ) -> Reply<pb::GetSessionResponse> {
        let owner = caller(&request)?.principal.owner.clone();
        let session = from_proto::session_id(&request.into_inner().session_id)?;
        let session = self.ledger.session(&owner, &session).await.map_err(status)?;
        let session = Some(to_proto::session(&session));
        Ok(tonic::Response::new(pb::GetSessionResponse { session }))
    }

    async fn list_sessions(
        &self,
        request: tonic::Request<pb::ListSessionsRequest>,
    ) -> Reply<pb::ListSessionsResponse> {
        let owner = caller(&request)?.principal.owner.clone();
        let request = request.into_inner();
        let names = [LIST, owner.tenant.as_str(), owner.subject.as_str()];
        let listing = page::Listing(&names);
        let after = from_proto::session_cursor(listing.position(&request.page_token)?)?;
        let size = from_proto::page_size(request.page_size)?;
        let limit = u32::try_from(size + 1).unwrap_or(u32::MAX);
        let found = self.ledger.sessions(&owner, after.as_ref(), limit).await.map_err(status)?;

        let (mut filling, mut sessions) = (page::Filling::new(size), Vec::new());
        let mut next_page_token = String::new();
        for (at, view) in found.iter().enumerate() {
            let session = to_proto::session(view);
            if !filling.takes(session.encoded_len()) {
                next_page_token = listing.token(&to_proto::session_cursor(&found[at - 1]));
                break;
            }
            sessions.push(session);
        }
        Ok(tonic::Response::new(pb::ListSessionsResponse { sessions, next_page_token }))
    }
}
