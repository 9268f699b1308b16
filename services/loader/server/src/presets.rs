//! Presets: imported, read, listed, deleted.

use host::{caller::Caller, upload::Upload};
use kernel::{PresetId, limits::RESOURCE_NAME_CHARS_MAX};
use loader_core::format::{self, Report, preset, stem};

use crate::{
    Loader,
    error::Error,
    store::{Added, Attempt, Done, Kind, PresetRow},
};

/// What an import answers.
pub struct Imported<T> {
    /// `None` if only the report was wanted.
    pub row: Option<T>,
    pub report: Report,
    pub already: bool,
    pub replayed: bool,
}

impl Loader {
    pub async fn import_preset(
        &self,
        caller: &Caller,
        upload: Upload,
        attempt: Option<Attempt>,
    ) -> Result<Imported<PresetRow>, Error> {
        let (upload, read) = tokio::task::spawn_blocking(move || {
            let read = preset::read(&upload.bytes);
            (upload, read)
        })
        .await?;
        let format::preset::ImportedPreset { name, report, .. } = read?;
        if upload.validate_only {
            return Ok(Imported { row: None, report, already: false, replayed: false });
        }
        let name = upload.named().and_then(stem).or(name.as_deref()).unwrap_or("Preset");
        let id = attempt.as_ref().map(|attempt| attempt.derive(PresetId::derived));
        let row = PresetRow {
            id: id.unwrap_or_else(|| self.clock.fresh().into()),
            name: shown(name),
            hash: kernel::digest(&upload.bytes),
            document: upload.bytes.into_vec(),
            revision: 1,
            created_at: self.clock.now(),
        };
        let owner = &caller.principal.owner;
        let done = self.store.add_preset(owner, &row, attempt.as_ref()).await?;
        Ok(Imported::of(done, report))
    }

    pub async fn preset(&self, caller: &Caller, id: &PresetId) -> Result<PresetRow, Error> {
        let row = self.store.preset(&caller.principal.owner, id).await?;
        let row = row.ok_or_else(|| Error::not_found(Kind::Preset.name(), id))?;
        row.check()?;
        Ok(row)
    }
}

// === impl Imported ===

impl<T> Imported<T> {
    pub fn of(done: Done<Added<T>>, report: Report) -> Self {
        let Done { value: Added { row, already }, replayed } = done;
        Self { row: Some(row), report, already, replayed }
    }
}

/// A name as lists show it.
pub fn shown(name: &str) -> String {
    kernel::name::shown(name, RESOURCE_NAME_CHARS_MAX)
}
