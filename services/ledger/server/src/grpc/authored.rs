//! AuthoredHistoryService: absent for tenants without the grant (the gate sees to it).

use host::caller::caller;
use wire::ledger::v1::{self as pb, authored_history_service_server::AuthoredHistoryService};

use super::{
    Handler, Reply, from_proto, replayable,
    status::{status, status_of},
    to_proto,
};

#[tonic::async_trait]
impl AuthoredHistoryService for Handler {
    async fn create_session_with_opening(
        &self,
        request: tonic::Request<pb::CreateSessionWithOpeningRequest>,
    ) -> Reply<pb::CreateSessionWithOpeningResponse> {
        let caller = caller(&request)?.clone();
        let new = from_proto::new_session_with_opening(&caller, request.into_inner())?;
        let created = self.ledger.create_session(&caller, new).await;
        let (session, opening, replayed) = created.map_err(|error| status_of("opening", error))?;
        let response = pb::CreateSessionWithOpeningResponse {
            session: Some(to_proto::session(&session)),
            opening: opening.as_ref().map(to_proto::turn),
        };
        Ok(replayable(response, replayed))
    }

    async fn write_authored_turn(
        &self,
        request: tonic::Request<pb::WriteAuthoredTurnRequest>,
    ) -> Reply<pb::WriteAuthoredTurnResponse> {
        let caller = caller(&request)?.clone();
        let write = from_proto::write_authored(&caller, request.into_inner())?;
        let (turn, replayed) = self.ledger.write_authored(&caller, write).await.map_err(status)?;
        let response =
            pb::WriteAuthoredTurnResponse { turn: Some(to_proto::turn(&turn)), replayed };
        Ok(replayable(response, replayed))
    }
}
