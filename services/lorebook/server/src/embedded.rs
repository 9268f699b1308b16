//! The running copies of cards' embedded books: immutable worlds under the ids that the loader gives them.

use host::upload::Held;
use kernel::{Owner, WorldId};
use lorebook_core::{World, import::Imported};

use crate::{
    Lorebook,
    error::Error,
    store::NewBook,
    worlds::{ImportOutcome, blank, check_sizes, read, world_name},
};

/// What became of an embedded book.
pub enum Registered {
    World(Box<ImportOutcome>),
    /// It cannot run; the card may live on without it.
    Unusable(Error),
}

/// The name of a book that nothing names.
const UNNAMED: &str = "Embedded book";

// === impl Lorebook ===

impl Lorebook {
    /// The loader names the copy by what it holds; one that is there is left as it is.
    pub async fn register_book(
        &self,
        owner: &Owner,
        id: WorldId,
        character: &str,
        bytes: Held,
    ) -> Result<Registered, Error> {
        let imported = match read(bytes).await {
            Ok(imported) => imported,
            Err(Error::Task(error)) => return Err(error.into()),
            Err(unusable) => return Ok(Registered::Unusable(unusable)),
        };
        let book = running_copy(&imported, id, character);
        if let Err(unusable) = check_sizes(&book.entries) {
            return Ok(Registered::Unusable(unusable));
        }
        let world = self.create(owner, &book, None).await?;
        Ok(Registered::World(Box::new(ImportOutcome {
            world: Some(world),
            format: imported.format.name(),
            entries: imported.rows.len(),
            report: imported.report,
        })))
    }
}

fn running_copy(imported: &Imported, id: WorldId, character: &str) -> NewBook {
    let name = imported.name.as_deref().and_then(world_name).or_else(|| world_name(character));
    let entries = imported.entries(&id);
    let world = World {
        name: name.unwrap_or_else(|| UNNAMED.to_owned()),
        embedded: true,
        settings: imported.settings.clone(),
        ..blank(id)
    };
    NewBook { world, entries, history: Vec::new() }
}
