//! TurnService.

use futures::StreamExt;
use host::{caller::caller, page};
use prost::Message;
use wire::ledger::v1::{self as pb, turn_service_server::TurnService};

use super::{Handler, Reply, Streamed, from_proto, replayable, status::status, to_proto};

const LIST: &str = "skald.ledger.v1.TurnService/ListTurns";

#[tonic::async_trait]
impl TurnService for Handler {
    type SubmitTurnStream = Streamed<pb::SubmitTurnResponse>;

    async fn submit_turn(
        &self,
        request: tonic::Request<pb::SubmitTurnRequest>,
    ) -> Reply<Self::SubmitTurnStream> {
        let caller = caller(&request)?.clone();
        let submit = from_proto::submit_turn(&caller, request.into_inner())?;
        let (frames, replayed) = self.ledger.submit(&caller, submit).await.map_err(status)?;
        let frames = frames.map(|frame| {
            let frame = Some(to_proto::frame(&frame.map_err(status)?));
            Ok(pb::SubmitTurnResponse { frame })
        });
        Ok(replayable(Box::pin(frames), replayed))
    }

    async fn get_turn(
        &self,
        request: tonic::Request<pb::GetTurnRequest>,
    ) -> Reply<pb::GetTurnResponse> {
        let owner = caller(&request)?.principal.owner.clone();
        let request = request.into_inner();
        let session = from_proto::session_id(&request.session_id)?;
        let turn = self.ledger.turn(&owner, &session, request.seq).await.map_err(status)?;
        Ok(tonic::Response::new(pb::GetTurnResponse { turn: Some(to_proto::turn(&turn)) }))
    }

    async fn list_turns(
        &self,
        request: tonic::Request<pb::ListTurnsRequest>,
    ) -> Reply<pb::ListTurnsResponse> {
        let owner = caller(&request)?.principal.owner.clone();
        let request = request.into_inner();
        let session = from_proto::session_id(&request.session_id)?;
        let names = [LIST, owner.tenant.as_str(), owner.subject.as_str(), session.as_str()];
        let listing = page::Listing(&names);
        let from = from_proto::number_after(listing.position(&request.page_token)?)?;
        let size = from_proto::page_size(request.page_size)?;
        let found = self.ledger.turns(&owner, &session, from, size + 1).await.map_err(status)?;

        let (mut filling, mut turns) = (page::Filling::new(size), Vec::new());
        let mut next_page_token = String::new();
        for view in &found {
            let turn = to_proto::turn(view);
            if !filling.takes(turn.encoded_len()) {
                next_page_token = listing.token(&view.seq.to_string());
                break;
            }
            turns.push(turn);
        }
        Ok(tonic::Response::new(pb::ListTurnsResponse { turns, next_page_token }))
    }
}
