//! Characters: imported, exported, read, listed, edited, deleted.

use host::caller::caller;
use kernel::{CharacterId, limits};
use tonic::{Request, Response, Status, Streaming};
use wire::loader::v1::{self as pb, character_service_server as characters};

use super::{
    Answers, Grpc, file,
    from_proto::{self, UploadPart, attempt, edit, id, revision, upload, upload_attempt},
    said, saturated,
    status::status,
    to_proto,
};
use crate::store::{Done, Edited, Kind};

#[tonic::async_trait]
impl characters::CharacterService for Grpc {
    async fn import_character(
        &self,
        request: Request<Streaming<pb::ImportCharacterRequest>>,
    ) -> Result<Response<pb::ImportCharacterResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.CharacterService/ImportCharacter";
        let caller = caller(&request)?.clone();
        let file = upload(request.into_inner(), limits::IMPORT_BYTES_MAX, part).await?;
        let attempt = upload_attempt(&caller, METHOD, &file);
        let done = self.0.import_character(&caller, file, attempt).await.map_err(status)?;
        let answer = pb::ImportCharacterResponse {
            character: done.row.as_ref().map(to_proto::character_head),
            report: Some(to_proto::report(done.report)),
            already_imported: done.already,
        };
        Ok(said(answer, done.replayed))
    }

    async fn get_character(
        &self,
        request: Request<pb::GetCharacterRequest>,
    ) -> Result<Response<pb::GetCharacterResponse>, Status> {
        let caller = caller(&request)?.clone();
        let id = id("character_id", &request.get_ref().character_id, |id| CharacterId::new(id))?;
        let (row, card) = self.0.character(&caller, &id).await.map_err(status)?;
        let character = Some(to_proto::character(row, &card));
        Ok(Response::new(pb::GetCharacterResponse { character }))
    }

    async fn list_characters(
        &self,
        request: Request<pb::ListCharactersRequest>,
    ) -> Result<Response<pb::ListCharactersResponse>, Status> {
        let pb::ListCharactersRequest { page_size, page_token } = request.get_ref().clone();
        let page = self.page(caller(&request)?, Kind::Character, page_size, &page_token).await?;
        let characters = page.items.into_iter().map(to_proto::character_summary).collect();
        let next_page_token = page.next;
        Ok(Response::new(pb::ListCharactersResponse { characters, next_page_token }))
    }

    type ExportCharacterStream = Answers<pb::ExportCharacterResponse>;

    async fn export_character(
        &self,
        request: Request<pb::ExportCharacterRequest>,
    ) -> Result<Response<Self::ExportCharacterStream>, Status> {
        let asked = request.get_ref();
        let id = id("character_id", &asked.character_id, |id| CharacterId::new(id))?;
        let export = from_proto::card_export(asked)?;
        let card = self.0.export_character(caller(&request)?, &id, export).await;
        Ok(file(&card.map_err(status)?, |chunk| pb::ExportCharacterResponse { chunk }))
    }

    async fn update_character(
        &self,
        request: Request<pb::UpdateCharacterRequest>,
    ) -> Result<Response<pb::UpdateCharacterResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.CharacterService/UpdateCharacter";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let card = asked.character.clone().unwrap_or_default();
        let id = id("character.character_id", &card.character_id, |id| CharacterId::new(id))?;
        let edits = edit::character(&card, asked.update_mask.as_ref())?;
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let terms = edit::terms(&card.etag, asked.if_running, attempt)?;
        let updated = self.0.update_character(caller, &id, edits, terms).await.map_err(status)?;
        let Done { value: Edited { row, running }, replayed } = updated;
        let owner = &caller.principal.owner;
        let card = self.0.documents.character(owner, &row).await.map_err(status)?;
        let answer = pb::UpdateCharacterResponse {
            character: Some(to_proto::character(row, &card)),
            effective: to_proto::effective(&running).into(),
            running_session_ids: to_proto::sessions(&running),
        };
        Ok(said(answer, replayed))
    }

    async fn update_character_book(
        &self,
        request: Request<Streaming<pb::UpdateCharacterBookRequest>>,
    ) -> Result<Response<pb::UpdateCharacterBookResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.CharacterService/UpdateCharacterBook";
        let caller = caller(&request)?.clone();
        let (id, edit, terms) = edit::book(&caller, METHOD, request.into_inner()).await?;
        let updated = self.0.update_character_book(&caller, &id, edit, terms).await;
        let (done, report) = updated.map_err(status)?;
        let report = Some(to_proto::report(report));
        let Some(Done { value: Edited { row, running }, replayed }) = done else {
            let answer = pb::UpdateCharacterBookResponse { report, ..Default::default() };
            return Ok(Response::new(answer));
        };
        let owner = &caller.principal.owner;
        let card = self.0.documents.character(owner, &row).await.map_err(status)?;
        let answer = pb::UpdateCharacterBookResponse {
            character: Some(to_proto::character(row, &card)),
            effective: to_proto::effective(&running).into(),
            running_session_ids: to_proto::sessions(&running),
            report,
        };
        Ok(said(answer, replayed))
    }

    async fn delete_character(
        &self,
        request: Request<pb::DeleteCharacterRequest>,
    ) -> Result<Response<pb::DeleteCharacterResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.CharacterService/DeleteCharacter";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let id = id("character_id", &asked.character_id, |id| CharacterId::new(id))?;
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let expected = revision(&asked.etag);
        let done = self.0.delete(caller, Kind::Character, id.as_str(), expected, attempt).await;
        let done = done.map_err(status)?;
        let cleared = saturated(done.value);
        Ok(said(pb::DeleteCharacterResponse { cleared }, done.replayed))
    }
}

fn part(request: pb::ImportCharacterRequest) -> Option<UploadPart> {
    use pb::import_character_request::Part;
    request.part.map(|part| match part {
        Part::Header(header) => UploadPart::Header(header),
        Part::Chunk(chunk) => UploadPart::Chunk(chunk),
    })
}
