//! Characters and users leave as files.

use host::caller::Caller;
use kernel::{CharacterId, Owner, UserId, WorldId, limits};
use loader_core::{
    Character,
    character::CardSpec,
    format::{
        Report,
        card::{self, Container, Edit},
        persona, read_json,
    },
};
use wire::lorebook::v1::{
    ExportFormat, ExportWorldRequest, WorldView, world_service_client::WorldServiceClient,
};

use crate::{
    Loader,
    error::Error,
    store::{After, CharacterRow, Kind, StoreError},
};

/// What kind of file a card leaves as.
#[derive(Debug, Clone)]
pub struct CardExport {
    /// `None`: the one that it came in.
    pub container: Option<Container>,
    /// Takes the place of the card's own book.
    pub world: Option<EmbeddedWorld>,
}

/// A world that travels in a card.
#[derive(Debug, Clone)]
pub struct EmbeddedWorld {
    pub id: WorldId,
    pub view: WorldView,
}

impl Loader {
    /// What was not edited leaves as it came, byte for byte.
    pub async fn export_character(
        &self,
        caller: &Caller,
        id: &CharacterId,
        export: CardExport,
    ) -> Result<Vec<u8>, Error> {
        let owner = &caller.principal.owner;
        let (row, character) = self.character(caller, id).await?;
        let container = export.container.unwrap_or(row.container);
        if container != Container::Json && container != row.container {
            return Err(Error::CardForm { asked: container, container: row.container });
        }
        let book = match export.world {
            Some(world) => Some(self.book(caller, world, character.spec).await?),
            None => None,
        };
        let unedited = row.revision == 1 && book.is_none();
        let original = match container {
            Container::Json => Vec::new(),
            Container::Png | Container::Charx => self.original(owner, &row).await?,
        };
        match container {
            Container::Json if unedited => Ok(row.document),
            Container::Png | Container::Charx if unedited => Ok(original),
            _ => rebuilt(row, container, original, book, &character).await,
        }
    }

    pub async fn export_user(&self, caller: &Caller, id: &UserId) -> Result<Vec<u8>, Error> {
        let row = self.user(caller, id).await?;
        Ok(persona::write_one(row.id.as_str(), &row.user))
    }

    /// All of an owner's users, as far as an import would read them again.
    pub async fn export_users(&self, caller: &Caller) -> Result<Vec<u8>, Error> {
        let owner = &caller.principal.owner;
        let (mut users, mut bytes, mut after) = (Vec::new(), 0, After::default());
        loop {
            let page = self.store.list(owner, Kind::User, &after, limits::PAGE_SIZE_MAX).await?;
            let Some(last) = page.last() else { break };
            after = After { name: last.name.clone(), id: last.id.clone() };
            for summary in page {
                let Ok(id) = UserId::new(&summary.id) else { continue };
                users.extend(self.store.user(owner, &id).await?);
                bytes += users.last().map_or(0, |row| row.user.description().len());
                if bytes > limits::IMPORT_BYTES_MAX {
                    return Err(Error::ExportTooLarge { bytes });
                }
            }
        }
        let default = self.store.defaults(owner).await?.selection.user;
        let all = users.iter().map(|row| (row.id.as_str(), &row.user));
        Ok(persona::write_all(all, default.as_ref().map(UserId::as_str)))
    }

    async fn original(&self, owner: &Owner, row: &CharacterRow) -> Result<Vec<u8>, Error> {
        let (kind, id) = (Kind::Character.name(), row.id.to_string());
        let problem = "the file that it came in is lost".to_owned();
        let original = self.store.original(owner, &row.id).await?;
        let original = original.ok_or(StoreError::Damaged { kind, id, problem })?;
        row.check_original(&original)?;
        Ok(original)
    }

    /// A world in the form that a card of this version holds.
    async fn book(
        &self,
        caller: &Caller,
        world: EmbeddedWorld,
        spec: CardSpec,
    ) -> Result<Vec<u8>, Error> {
        let format = match spec {
            CardSpec::V1 | CardSpec::V2 => ExportFormat::CharacterBookV2,
            CardSpec::V3 => ExportFormat::CharacterBookV3,
        };
        let request = ExportWorldRequest {
            world_id: world.id.to_string(),
            view: world.view.into(),
            format: format.into(),
        };
        let mut lorebook = WorldServiceClient::new(self.lorebook.acting_for(caller));
        let answer = lorebook.export_world(request).await.map_err(Error::peer)?;
        let (mut answer, mut book) = (answer.into_inner(), Vec::new());
        while let Some(part) = answer.message().await.map_err(Error::peer)? {
            book.extend(part.chunk);
            if book.len() > limits::DOCUMENT_BYTES_MAX {
                return Err(Error::ExportTooLarge { bytes: book.len() });
            }
        }
        Ok(book)
    }
}

/// The document with its book, put back into what it came in.
async fn rebuilt(
    row: CharacterRow,
    container: Container,
    original: Vec<u8>,
    book: Option<Vec<u8>>,
    character: &Character,
) -> Result<Vec<u8>, Error> {
    let spec = character.spec;
    let rebuild = move || {
        let document = match book {
            Some(book) => {
                let book = read_json(&book, &mut Report::default())?;
                card::edit(&row.document, vec![Edit::Book(Some(book))])?
            }
            None => row.document,
        };
        card::embed(container, &original, &document, spec)
    };
    Ok(tokio::task::spawn_blocking(rebuild).await??)
}
