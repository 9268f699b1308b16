//! Worlds: importing files, reading, and editing heads.

use host::{
    idempotency::Scope,
    upload::{Held, Upload},
};
use kernel::{ChangeId, Owner, WorldId, digest_parts, limits};
use lorebook_core::{
    Entry, World, WorldSettings,
    change::Record,
    import::{BookStamp, Imported, Report, import},
};

use crate::{
    Lorebook,
    error::{Error, no_world},
    store::{Attempt, HeadEdit, Listed, NewBook, Outcome, Stored},
};

/// What became of an uploaded file.
pub struct ImportOutcome {
    /// None where only the report was wanted.
    pub world: Option<Outcome<Listed>>,
    pub format: &'static str,
    pub entries: usize,
    pub report: Report,
}

/// The name of a world whose file names it nowhere.
const UNNAMED: &str = "Imported world";

// === impl Lorebook ===

impl Lorebook {
    /// One file becomes one world, in one transaction.
    pub async fn import_world(
        &self,
        owner: &Owner,
        scope: Option<Scope>,
        upload: Upload,
    ) -> Result<ImportOutcome, Error> {
        let Upload { file_name, validate_only, bytes, .. } = upload;
        let request = digest_parts(&[file_name.as_bytes(), &bytes]);
        let attempt = scope.map(|scope| Attempt { scope, request });
        let imported = read(bytes).await?;
        let id = self.new_id(attempt.as_ref(), WorldId::derived, 0);
        let book = new_book(&imported, id, &file_name)?;
        let outcome = |world| ImportOutcome {
            world,
            format: imported.format.name(),
            entries: imported.rows.len(),
            report: imported.report.clone(),
        };
        if validate_only {
            return Ok(outcome(None));
        }
        Ok(outcome(Some(self.create(owner, &book, attempt).await?)))
    }

    /// A world without entries, with the head that is asked for.
    pub async fn create_world(
        &self,
        owner: &Owner,
        head: HeadEdit,
        scope: Option<Scope>,
    ) -> Result<Outcome<Listed>, Error> {
        let attempt = Attempt::named(scope, &head);
        let id = self.new_id(attempt.as_ref(), WorldId::derived, 0);
        let world = head.apply(&blank(id));
        self.create(owner, &NewBook { world, entries: Vec::new(), history: Vec::new() }, attempt)
            .await
    }

    pub async fn create(
        &self,
        owner: &Owner,
        book: &NewBook,
        attempt: Option<Attempt>,
    ) -> Result<Outcome<Listed>, Error> {
        let now = self.clock.now();
        let created = self.store.create(owner, book, attempt.as_ref(), now).await;
        created.map_err(|error| Error::Create(book.world.id.clone(), error))
    }

    pub async fn world_book(&self, owner: &Owner, id: &WorldId) -> Result<Stored, Error> {
        self.store.book(owner, id).await?.ok_or_else(|| no_world(id))
    }

    /// A world that is gone is deleted already.
    pub async fn delete_world(&self, owner: &Owner, id: &WorldId) -> Result<(), Error> {
        self.store.delete(owner, id).await?;
        Ok(())
    }

    pub async fn update_world(
        &self,
        owner: &Owner,
        id: &WorldId,
        edit: HeadEdit,
        scope: Option<Scope>,
    ) -> Result<Outcome<Listed>, Error> {
        let attempt = Attempt::named(scope, &(id, &edit));
        let now = self.clock.now();
        let updated = self.store.update(owner, id, &edit, attempt.as_ref(), now).await;
        updated.map_err(|error| Error::Update(id.clone(), error))
    }
}

/// Parses on a thread that may be busy for long.
pub async fn read(bytes: Held) -> Result<Imported, Error> {
    Ok(tokio::task::spawn_blocking(move || import(&bytes)).await??)
}

/// The name as it is stored and shown: one line, bounded, never empty.
pub fn world_name(name: &str) -> Option<String> {
    let name = kernel::name::shown(name, limits::WORLD_NAME_CHARS_MAX);
    (!name.is_empty()).then_some(name)
}

/// A new world of nothing.
pub fn blank(id: WorldId) -> World {
    World {
        id,
        name: UNNAMED.to_owned(),
        enabled: true,
        dynamic_enabled: false,
        content_revision: 1,
        embedded: false,
        settings: WorldSettings::default(),
    }
}

fn new_book(imported: &Imported, id: WorldId, file_name: &str) -> Result<NewBook, Error> {
    let entries = imported.entries(&id);
    check_sizes(&entries)?;
    let of_file = || kernel::name::stem(file_name).and_then(world_name);
    let name = imported.name.as_deref().and_then(world_name).or_else(of_file);
    let stamp = imported.stamp.as_ref();
    let world = World {
        name: name.unwrap_or_else(|| UNNAMED.to_owned()),
        enabled: stamp.is_none_or(|stamp| stamp.enabled),
        dynamic_enabled: stamp.is_some_and(|stamp| stamp.dynamic_enabled),
        content_revision: 1 + restored_revision(stamp),
        settings: imported.settings.clone(),
        ..blank(id)
    };
    let history = stamp.map_or(&[][..], |stamp| &stamp.history);
    let history = restored(history, imported, &world.id);
    Ok(NewBook { world, entries, history })
}

/// The last revision of a backup's History: what comes after it counts on.
fn restored_revision(stamp: Option<&BookStamp>) -> u64 {
    let history = stamp.map_or(&[][..], |stamp| &stamp.history);
    let last = history.iter().map(|record| record.applied_revision).max();
    last.unwrap_or(0).min(limits::RESTORED_REVISION_MAX)
}

/// An entry that does not fit into one message could never be read again.
pub fn check_sizes(entries: &[Entry]) -> Result<(), Error> {
    for entry in entries {
        let bytes = serde_json::to_vec(&entry.body).map_or(0, |body| body.len());
        if bytes > limits::ENTRY_BYTES_MAX {
            let field = format!("entry {}", entry.uid);
            return Err(Error::Limit { field, value: bytes, limit: limits::ENTRY_BYTES_MAX });
        }
    }
    Ok(())
}

/// A backup's History under new ids, pointing at the new rows.
fn restored(history: &[Record], imported: &Imported, world: &WorldId) -> Vec<Record> {
    let ids = imported.ids(world);
    let renamed = |id: &ChangeId| ChangeId::derived(&[world.as_str(), id.as_str()]);
    let restore = |record: &Record| {
        let mut record = record.clone();
        record.follow(&ids);
        record.id = renamed(&record.id);
        record.reverts = record.reverts.as_ref().map(renamed);
        record.reverted_by = record.reverted_by.as_ref().map(renamed);
        record
    };
    history.iter().map(restore).collect()
}
