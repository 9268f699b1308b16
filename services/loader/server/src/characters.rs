//! Characters: imported with the running copy of their book, read, listed, deleted.

use futures::stream;
use host::{caller::Caller, status::peer_unavailable, upload::Upload};
use kernel::{
    CharacterId, WorldId,
    limits::{BOOK_UNCLAIMED_MS, CHUNK_BYTES},
};
use loader_core::{
    Character,
    format::{
        Code, Report,
        card::{self, Container, ImportedCard},
    },
};
use wire::mesh::v1::{
    EmbeddedBookHeader, RegisterEmbeddedBookRequest, lore_service_client::LoreServiceClient,
    register_embedded_book_request::Part,
};

use crate::{
    Loader,
    error::Error,
    presets::{Imported, shown},
    store::{Attempt, CharacterRow, Kind, WriteError},
};

/// How often a book is registered for one write; each time but the last, another call has collected it.
pub const BOOK_ATTEMPTS: usize = 8;

impl Loader {
    /// The book is registered first: a card never points at a world that is not there.
    pub async fn import_character(
        &self,
        caller: &Caller,
        upload: Upload,
        attempt: Option<Attempt>,
    ) -> Result<Imported<CharacterRow>, Error> {
        let (upload, read) = tokio::task::spawn_blocking(move || {
            let read = card::read(&upload.bytes, upload.named());
            (upload, read)
        })
        .await?;
        let ImportedCard { character, container, document, report } = read?;
        if upload.validate_only {
            return Ok(Imported { row: None, report, already: false, replayed: false });
        }
        let id = attempt.as_ref().map(|attempt| attempt.derive(CharacterId::derived));
        let mut row = CharacterRow {
            id: id.unwrap_or_else(|| self.clock.fresh().into()),
            name: shown(&character.name),
            hash: kernel::digest(&upload.bytes),
            spec: spec_of(&report, &character),
            container,
            document,
            embedded_world: None,
            revision: 1,
            created_at: self.clock.now(),
        };
        let original = (container != Container::Json).then_some(&upload.bytes[..]);
        let owner = &caller.principal.owner;
        let before = report;
        for _ in 0..BOOK_ATTEMPTS {
            let mut report = before.clone();
            row.embedded_world = match self.store.character_by_hash(owner, &row.hash).await? {
                Some(known) => known.embedded_world,
                None => self.register_book(caller, &character, &mut report).await?,
            };
            let added = self.store.add_character(owner, &row, original, attempt.as_ref()).await;
            if let Some(done) = unless_collected(added)? {
                return Ok(Imported::of(done, report));
            }
        }
        Err(collected_again())
    }

    pub async fn character(
        &self,
        caller: &Caller,
        id: &CharacterId,
    ) -> Result<(CharacterRow, std::sync::Arc<Character>), Error> {
        let owner = &caller.principal.owner;
        let row = self.store.character(owner, id).await?;
        let row = row.ok_or_else(|| Error::not_found(Kind::Character.name(), id))?;
        row.check()?;
        let character = self.documents.character(owner, &row).await?;
        Ok((row, character))
    }

    /// The world that the card's book runs as; none if there is no book, or none that can run.
    pub async fn register_book(
        &self,
        caller: &Caller,
        character: &Character,
        report: &mut Report,
    ) -> Result<Option<WorldId>, Error> {
        let Some(book) = &character.book else { return Ok(None) };
        if report.has(Code::EmbeddedWorldBookInvalid) {
            return Ok(None);
        }
        let bytes = book.to_string().into_bytes();
        let (owner, content) = (&caller.principal.owner, kernel::digest(&bytes));
        let world = self.store.begin_book(owner, &content, BOOK_UNCLAIMED_MS).await?;
        let (character_name, world_id) = (shown(&character.name), world.to_string());
        let header = EmbeddedBookHeader { character_name, world_id };
        let chunks: Vec<_> =
            bytes.chunks(CHUNK_BYTES).map(|chunk| Part::Chunk(chunk.to_vec())).collect();
        let parts = std::iter::once(Part::Header(header)).chain(chunks);
        let requests = parts.map(|part| RegisterEmbeddedBookRequest { part: Some(part) });
        let mut lorebook = LoreServiceClient::new(self.lorebook.acting_for(caller));
        let answer = lorebook.register_embedded_book(stream::iter(requests)).await;
        let answer = answer.map_err(Error::peer)?.into_inner();
        for finding in answer.report.into_iter().flat_map(|report| report.findings) {
            let place = format!("data.character_book{}", finding.place.trim_start_matches('$'));
            report.add(
                Code::EmbeddedWorldBookFinding,
                place,
                format!("{}: {}", finding.code, finding.message),
            );
        }
        if answer.world_id.is_empty() {
            let message = "cannot run: it is kept in the card";
            report.add(Code::EmbeddedWorldBookInvalid, "data.character_book", message);
            return Ok(None);
        }
        if answer.world_id != world.as_str() {
            return Err(Error::PeerAnswer(format!("world_id is not {world}")));
        }
        Ok(Some(world))
    }
}

/// What a write answered, or none if the book's running copy was collected before it: another card of the
/// same book was deleted at that moment.
pub fn unless_collected<T>(written: Result<T, WriteError>) -> Result<Option<T>, Error> {
    match written {
        Err(WriteError::NotFound { kind: "world", .. }) => Ok(None),
        written => Ok(Some(written?)),
    }
}

/// The caller may try again.
pub fn collected_again() -> Error {
    Error::peer(peer_unavailable("the book's running copy was deleted again and again"))
}

/// As `Character.spec` shows it.
pub fn spec_of(report: &Report, character: &Character) -> String {
    if report.format == "pygmalion" {
        report.format.clone()
    } else {
        character.spec.name().to_owned()
    }
}
