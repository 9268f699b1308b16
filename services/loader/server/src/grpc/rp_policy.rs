//! The text that sessions are told in role-play.

use host::caller::caller;
use tonic::{Request, Response, Status};
use wire::loader::v1::{self as pb, rp_policy_service_server as policies};

use super::{
    Grpc,
    from_proto::{self, attempt, etag},
    said,
    status::status,
    to_proto,
};

#[tonic::async_trait]
impl policies::RpPolicyService for Grpc {
    async fn get_rp_policy(
        &self,
        request: Request<pb::GetRpPolicyRequest>,
    ) -> Result<Response<pb::GetRpPolicyResponse>, Status> {
        let (policy, text) = self.0.rp_policy(caller(&request)?).await.map_err(status)?;
        let (etag, shipped) = (policy.etag, policy.text.is_none());
        Ok(Response::new(pb::GetRpPolicyResponse { text, etag, shipped }))
    }

    async fn set_rp_policy(
        &self,
        request: Request<pb::SetRpPolicyRequest>,
    ) -> Result<Response<pb::SetRpPolicyResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.RpPolicyService/SetRpPolicy";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let text = from_proto::rp_policy(asked)?;
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let set = self.0.set_rp_policy(caller, text, etag(&asked.etag), attempt).await;
        let done = set.map_err(status)?;
        let answer = pb::SetRpPolicyResponse {
            etag: crate::store::etag(&text.iter().map(|text| text.as_bytes()).collect::<Vec<_>>()),
            effective: to_proto::effective(&done.value).into(),
            running_session_ids: to_proto::sessions(&done.value),
        };
        Ok(said(answer, done.replayed))
    }
}
