//! Presets: imported, exported, read, listed, edited, deleted.

use host::caller::caller;
use kernel::{PresetId, limits};
use tonic::{Request, Response, Status, Streaming};
use wire::loader::v1::{self as pb, preset_service_server as presets};

use super::{
    Answers, Grpc, file,
    from_proto::{UploadPart, attempt, edit, id, revision, upload, upload_attempt},
    said, saturated,
    status::status,
    to_proto,
};
use crate::store::{Done, Edited, Kind};

#[tonic::async_trait]
impl presets::PresetService for Grpc {
    async fn import_preset(
        &self,
        request: Request<Streaming<pb::ImportPresetRequest>>,
    ) -> Result<Response<pb::ImportPresetResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.PresetService/ImportPreset";
        let caller = caller(&request)?.clone();
        let file = upload(request.into_inner(), limits::PRESET_BYTES_MAX, part).await?;
        let attempt = upload_attempt(&caller, METHOD, &file);
        let done = self.0.import_preset(&caller, file, attempt).await.map_err(status)?;
        let answer = pb::ImportPresetResponse {
            preset: done.row.as_ref().map(to_proto::preset_head),
            report: Some(to_proto::report(done.report)),
            already_imported: done.already,
        };
        Ok(said(answer, done.replayed))
    }

    async fn get_preset(
        &self,
        request: Request<pb::GetPresetRequest>,
    ) -> Result<Response<pb::GetPresetResponse>, Status> {
        let caller = caller(&request)?.clone();
        let id = id("preset_id", &request.get_ref().preset_id, |id| PresetId::new(id))?;
        let row = self.0.preset(&caller, &id).await.map_err(status)?;
        let model = self.0.documents.preset(&caller.principal.owner, &row).await.map_err(status)?;
        let preset = Some(to_proto::preset(row, &model));
        Ok(Response::new(pb::GetPresetResponse { preset }))
    }

    async fn list_presets(
        &self,
        request: Request<pb::ListPresetsRequest>,
    ) -> Result<Response<pb::ListPresetsResponse>, Status> {
        let pb::ListPresetsRequest { page_size, page_token } = request.get_ref().clone();
        let page = self.page(caller(&request)?, Kind::Preset, page_size, &page_token).await?;
        let presets = page.items.into_iter().map(to_proto::preset_summary).collect();
        let next_page_token = page.next;
        Ok(Response::new(pb::ListPresetsResponse { presets, next_page_token }))
    }

    type ExportPresetStream = Answers<pb::ExportPresetResponse>;

    async fn export_preset(
        &self,
        request: Request<pb::ExportPresetRequest>,
    ) -> Result<Response<Self::ExportPresetStream>, Status> {
        let id = id("preset_id", &request.get_ref().preset_id, |id| PresetId::new(id))?;
        let row = self.0.preset(caller(&request)?, &id).await.map_err(status)?;
        Ok(file(&row.document, |chunk| pb::ExportPresetResponse { chunk }))
    }

    async fn update_preset(
        &self,
        request: Request<pb::UpdatePresetRequest>,
    ) -> Result<Response<pb::UpdatePresetResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.PresetService/UpdatePreset";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let preset = asked.preset.clone().unwrap_or_default();
        let id = id("preset.preset_id", &preset.preset_id, |id| PresetId::new(id))?;
        let edit = edit::preset(&preset, asked.update_mask.as_ref())?;
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let terms = edit::terms(&preset.etag, asked.if_running, attempt)?;
        let updated = self.0.update_preset(caller, &id, edit, terms).await.map_err(status)?;
        let (Done { value: Edited { row, running }, replayed }, report) = updated;
        let model = self.0.documents.preset(&caller.principal.owner, &row).await.map_err(status)?;
        let answer = pb::UpdatePresetResponse {
            preset: Some(to_proto::preset(row, &model)),
            effective: to_proto::effective(&running).into(),
            running_session_ids: to_proto::sessions(&running),
            report: report.map(to_proto::report),
        };
        Ok(said(answer, replayed))
    }

    async fn delete_preset(
        &self,
        request: Request<pb::DeletePresetRequest>,
    ) -> Result<Response<pb::DeletePresetResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.PresetService/DeletePreset";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let id = id("preset_id", &asked.preset_id, |id| PresetId::new(id))?;
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let expected = revision(&asked.etag);
        let done = self.0.delete(caller, Kind::Preset, id.as_str(), expected, attempt).await;
        let done = done.map_err(status)?;
        let cleared = saturated(done.value);
        Ok(said(pb::DeletePresetResponse { cleared }, done.replayed))
    }
}

fn part(request: pb::ImportPresetRequest) -> Option<UploadPart> {
    use pb::import_preset_request::Part;
    request.part.map(|part| match part {
        Part::Header(header) => UploadPart::Header(header),
        Part::Chunk(chunk) => UploadPart::Chunk(chunk),
    })
}
