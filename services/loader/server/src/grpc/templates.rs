//! Templates: made, read, previewed, applied, deleted.

use host::{
    caller::caller,
    page::{Listing, page_size},
};
use kernel::{SessionId, TemplateId};
use tonic::{Request, Response, Status};
use wire::loader::v1::{self as pb, template_service_server as templates};

use super::{
    Grpc, after,
    from_proto::{self, attempt, id, revision},
    position, said,
    status::status,
    to_proto,
};
use crate::{store::Done, templates::Application};

#[tonic::async_trait]
impl templates::TemplateService for Grpc {
    async fn create_template(
        &self,
        request: Request<pb::CreateTemplateRequest>,
    ) -> Result<Response<pb::CreateTemplateResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.TemplateService/CreateTemplate";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let name = from_proto::template_name(&asked.name)?;
        let source = from_proto::template_source(asked.source.clone())?;
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let done = self.0.create_template(caller, name, source, attempt).await.map_err(status)?;
        let template = Some(to_proto::template(done.value));
        Ok(said(pb::CreateTemplateResponse { template }, done.replayed))
    }

    async fn get_template(
        &self,
        request: Request<pb::GetTemplateRequest>,
    ) -> Result<Response<pb::GetTemplateResponse>, Status> {
        let id = id("template_id", &request.get_ref().template_id, |id| TemplateId::new(id))?;
        let row = self.0.template(caller(&request)?, &id).await.map_err(status)?;
        let template = Some(to_proto::template(row));
        Ok(Response::new(pb::GetTemplateResponse { template }))
    }

    async fn list_templates(
        &self,
        request: Request<pb::ListTemplatesRequest>,
    ) -> Result<Response<pb::ListTemplatesResponse>, Status> {
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let owner = &caller.principal.owner;
        let filter = ["template", owner.tenant.as_str(), owner.subject.as_str()];
        let listing = Listing(&filter);
        let after = listing.position(&asked.page_token)?.map(|position| after(&position));
        let size = page_size(i32::try_from(asked.page_size).unwrap_or(i32::MAX))?;
        let page = self.0.templates(caller, &after.unwrap_or_default(), size).await;
        let (rows, more) = page.map_err(status)?;
        let last = rows.last().filter(|_| more);
        let next = last.map(|row| listing.token(&position(row.id.as_str(), &row.name)));
        let templates = rows.into_iter().map(to_proto::template_summary).collect();
        let next_page_token = next.unwrap_or_default();
        Ok(Response::new(pb::ListTemplatesResponse { templates, next_page_token }))
    }

    async fn preview_template(
        &self,
        request: Request<pb::PreviewTemplateRequest>,
    ) -> Result<Response<pb::PreviewTemplateResponse>, Status> {
        let caller = caller(&request)?;
        let id = id("template_id", &request.get_ref().template_id, |id| TemplateId::new(id))?;
        let selection = self.0.template(caller, &id).await.map_err(status)?.selection;
        let dangling = self.0.dangling(caller, &selection).await.map_err(status)?;
        Ok(Response::new(pb::PreviewTemplateResponse {
            selection: Some(to_proto::selection(selection)),
            diagnostics: dangling.into_iter().map(to_proto::profile::diagnostic).collect(),
        }))
    }

    async fn apply_template(
        &self,
        request: Request<pb::ApplyTemplateRequest>,
    ) -> Result<Response<pb::ApplyTemplateResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.TemplateService/ApplyTemplate";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let application = Application {
            template: id("template_id", &asked.template_id, |id| TemplateId::new(id))?,
            session: id("session_id", &asked.session_id, |id| SessionId::new(id))?,
            expected_revision: revision(&asked.etag),
        };
        if asked.validate_only {
            let checked = self.0.check_application(caller, application).await.map_err(status)?;
            let selection = Some(to_proto::selection(checked));
            let answer = pb::ApplyTemplateResponse { selection, etag: String::new() };
            return Ok(Response::new(answer));
        }
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let done = self.0.apply_template(caller, application, attempt).await.map_err(status)?;
        let Done { value, replayed } = done;
        let selection = Some(to_proto::selection(value.selection));
        let etag = value.revision.to_string();
        Ok(said(pb::ApplyTemplateResponse { selection, etag }, replayed))
    }

    async fn delete_template(
        &self,
        request: Request<pb::DeleteTemplateRequest>,
    ) -> Result<Response<pb::DeleteTemplateResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.TemplateService/DeleteTemplate";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let id = id("template_id", &asked.template_id, |id| TemplateId::new(id))?;
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let done = self.0.delete_template(caller, &id, attempt).await.map_err(status)?;
        Ok(said(pb::DeleteTemplateResponse {}, done.replayed))
    }
}
