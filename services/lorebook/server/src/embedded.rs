//! The running copies of cards' embedded books: immutable worlds, addressed by their content.

use host::upload::Held;
use kernel::{Owner, WorldId, digest};
use lorebook_core::{World, import::Imported};

use crate::{
    Lorebook,
    error::Error,
    store::NewBook,
    worlds::{ImportOutcome, check_sizes, read, world_name},
};

/// What became of an embedded book.
pub enum Registered {
    World(Box<ImportOutcome>),
    /// It cannot run; the card may live on without it.
    Unusable(Error),
}

// === impl Lorebook ===

impl Lorebook {
    /// The same bytes of the same owner are the same world.
    pub async fn register_book(
        &self,
        owner: &Owner,
        character: &str,
        bytes: Held,
    ) -> Result<Registered, Error> {
        let content = digest(&bytes).to_hex();
        let parts = [owner.tenant.as_str(), owner.subject.as_str(), "embedded", &content];
        let id = WorldId::derived(&parts);
        let imported = match read(bytes).await {
            Ok(imported) => imported,
            Err(Error::Task(error)) => return Err(error.into()),
            Err(unusable) => return Ok(Registered::Unusable(unusable)),
        };
        let book = running_copy(&imported, id, character);
        if let Err(unusable) = check_sizes(&book.entries) {
            return Ok(Registered::Unusable(unusable));
        }
        let world = self.store.create(owner, &book, None, self.clock.now()).await;
        let world = world.map_err(|error| Error::Create(book.world.id.clone(), error))?;
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
        id,
        name: name.unwrap_or_else(|| "Embedded book".to_owned()),
        enabled: true,
        dynamic_enabled: false,
        content_revision: 1,
        embedded: true,
        settings: imported.settings.clone(),
    };
    NewBook { world, entries, history: Vec::new() }
}
