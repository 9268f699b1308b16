//! Users: created, imported, exported, read, listed, edited, deleted.

use host::caller::caller;
use kernel::{UserId, limits};
use tonic::{Request, Response, Status, Streaming};
use wire::loader::v1::{self as pb, user_service_server as users};

use super::{
    Answers, Grpc, file,
    from_proto::{self, UploadPart, attempt, edit, id, revision, upload, upload_attempt},
    said, saturated,
    status::status,
    to_proto,
};
use crate::store::{Done, Edited, Kind};

#[tonic::async_trait]
impl users::UserService for Grpc {
    async fn create_user(
        &self,
        request: Request<pb::CreateUserRequest>,
    ) -> Result<Response<pb::CreateUserResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.UserService/CreateUser";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let user = from_proto::user(asked)?;
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let done = self.0.create_user(caller, user, attempt).await.map_err(status)?;
        let user = Some(to_proto::user(done.value));
        Ok(said(pb::CreateUserResponse { user }, done.replayed))
    }

    async fn import_users(
        &self,
        request: Request<Streaming<pb::ImportUsersRequest>>,
    ) -> Result<Response<pb::ImportUsersResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.UserService/ImportUsers";
        let caller = caller(&request)?.clone();
        let file = upload(request.into_inner(), limits::IMPORT_BYTES_MAX, part).await?;
        let attempt = upload_attempt(&caller, METHOD, &file);
        let done = self.0.import_users(&caller, file, attempt).await.map_err(status)?;
        let users = done.row.unwrap_or_default().into_iter();
        let answer = pb::ImportUsersResponse {
            users: users.map(to_proto::user_without_description).collect(),
            report: Some(to_proto::report(done.report)),
            already_imported: done.already,
        };
        Ok(said(answer, done.replayed))
    }

    async fn get_user(
        &self,
        request: Request<pb::GetUserRequest>,
    ) -> Result<Response<pb::GetUserResponse>, Status> {
        let id = id("user_id", &request.get_ref().user_id, |id| UserId::new(id))?;
        let row = self.0.user(caller(&request)?, &id).await.map_err(status)?;
        Ok(Response::new(pb::GetUserResponse { user: Some(to_proto::user(row)) }))
    }

    async fn list_users(
        &self,
        request: Request<pb::ListUsersRequest>,
    ) -> Result<Response<pb::ListUsersResponse>, Status> {
        let pb::ListUsersRequest { page_size, page_token } = request.get_ref().clone();
        let page = self.page(caller(&request)?, Kind::User, page_size, &page_token).await?;
        let users = page.items.into_iter().map(to_proto::user_summary).collect();
        Ok(Response::new(pb::ListUsersResponse { users, next_page_token: page.next }))
    }

    async fn update_user(
        &self,
        request: Request<pb::UpdateUserRequest>,
    ) -> Result<Response<pb::UpdateUserResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.UserService/UpdateUser";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let user = asked.user.clone().unwrap_or_default();
        let id = id("user.user_id", &user.user_id, |id| UserId::new(id))?;
        let edit = edit::user(&user, asked.update_mask.as_ref())?;
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let terms = edit::terms(&user.etag, asked.if_running, attempt)?;
        let updated = self.0.update_user(caller, &id, edit, terms).await.map_err(status)?;
        let Done { value: Edited { row, running }, replayed } = updated;
        let answer = pb::UpdateUserResponse {
            user: Some(to_proto::user(row)),
            effective: to_proto::effective(&running).into(),
            running_session_ids: to_proto::sessions(&running),
        };
        Ok(said(answer, replayed))
    }

    type ExportUserStream = Answers<pb::ExportUserResponse>;

    async fn export_user(
        &self,
        request: Request<pb::ExportUserRequest>,
    ) -> Result<Response<Self::ExportUserStream>, Status> {
        let id = id("user_id", &request.get_ref().user_id, |id| UserId::new(id))?;
        let user = self.0.export_user(caller(&request)?, &id).await.map_err(status)?;
        Ok(file(&user, |chunk| pb::ExportUserResponse { chunk }))
    }

    type ExportUsersStream = Answers<pb::ExportUsersResponse>;

    async fn export_users(
        &self,
        request: Request<pb::ExportUsersRequest>,
    ) -> Result<Response<Self::ExportUsersStream>, Status> {
        let users = self.0.export_users(caller(&request)?).await.map_err(status)?;
        Ok(file(&users, |chunk| pb::ExportUsersResponse { chunk }))
    }

    async fn delete_user(
        &self,
        request: Request<pb::DeleteUserRequest>,
    ) -> Result<Response<pb::DeleteUserResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.UserService/DeleteUser";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let id = id("user_id", &asked.user_id, |id| UserId::new(id))?;
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let expected = revision(&asked.etag);
        let done = self.0.delete(caller, Kind::User, id.as_str(), expected, attempt).await;
        let done = done.map_err(status)?;
        Ok(said(pb::DeleteUserResponse { cleared: saturated(done.value) }, done.replayed))
    }
}

fn part(request: pb::ImportUsersRequest) -> Option<UploadPart> {
    use pb::import_users_request::Part;
    request.part.map(|part| match part {
        Part::Header(header) => UploadPart::Header(header),
        Part::Chunk(chunk) => UploadPart::Chunk(chunk),
    })
}
