//! Stored documents, parsed once and shared: what a compile of a warm session does not pay again.

use std::sync::Arc;

use kernel::{Digest, Owner, limits::PARSED_CACHE_BYTES_MAX};
use loader_core::{
    Character, Preset,
    format::{FormatError, Report, card, preset, read_json},
};
use moka::sync::Cache;

use crate::{
    error::Error,
    store::{CharacterRow, Kind, PresetRow, StoreError},
};

/// Parsed documents by owner and content, weighed by their text.
pub struct Documents {
    presets: Cache<Key, Weighed<Preset>>,
    characters: Cache<Key, Weighed<Character>>,
}

type Key = (Owner, Digest);

/// A model, and the bytes of the document that it was read from.
struct Weighed<T> {
    model: Arc<T>,
    bytes: u32,
}

// === impl Documents ===

impl Default for Documents {
    fn default() -> Self {
        Self { presets: cache(), characters: cache() }
    }
}

impl Documents {
    pub async fn preset(&self, owner: &Owner, row: &PresetRow) -> Result<Arc<Preset>, Error> {
        let key = (owner.clone(), row.hash);
        if let Some(known) = self.presets.get(&key) {
            return Ok(known.model);
        }
        row.check()?;
        let document = row.document.clone();
        let read = move || -> Result<_, FormatError> {
            let mut report = Report::default();
            let value = read_json(&document, &mut report)?;
            Ok(preset::read_document(value, &mut report)?.0)
        };
        let read = tokio::task::spawn_blocking(read).await?;
        let preset = Arc::new(read.map_err(|error| damaged(Kind::Preset, &row.id, &error))?);
        self.presets.insert(key, Weighed::new(preset.clone(), &row.document));
        Ok(preset)
    }

    pub async fn character(
        &self,
        owner: &Owner,
        row: &CharacterRow,
    ) -> Result<Arc<Character>, Error> {
        let key = (owner.clone(), row.hash);
        if let Some(known) = self.characters.get(&key) {
            return Ok(known.model);
        }
        row.check()?;
        let document = row.document.clone();
        // A card that was named after its file is named so again; the ending is what a stem loses.
        let file_name = format!("{}.json", row.name);
        let read = move || -> Result<_, FormatError> {
            let mut report = Report::default();
            let value = read_json(&document, &mut report)?;
            card::read_document(value, Some(&file_name), &mut report)
        };
        let read = tokio::task::spawn_blocking(read).await?;
        let character = Arc::new(read.map_err(|error| damaged(Kind::Character, &row.id, &error))?);
        self.characters.insert(key, Weighed::new(character.clone(), &row.document));
        Ok(character)
    }
}

/// What was stored could be read when it came.
fn damaged(kind: Kind, id: &impl ToString, error: &FormatError) -> StoreError {
    StoreError::Damaged { kind: kind.name(), id: id.to_string(), problem: error.to_string() }
}

fn cache<T: Send + Sync + 'static>() -> Cache<Key, Weighed<T>> {
    Cache::builder()
        .max_capacity(PARSED_CACHE_BYTES_MAX / 2)
        .weigher(|_, weighed: &Weighed<T>| weighed.bytes)
        .build()
}

// === impl Weighed ===

impl<T> Clone for Weighed<T> {
    fn clone(&self) -> Self {
        Self { model: self.model.clone(), bytes: self.bytes }
    }
}

impl<T> Weighed<T> {
    fn new(model: Arc<T>, document: &[u8]) -> Self {
        Self { model, bytes: u32::try_from(document.len()).unwrap_or(u32::MAX) }
    }
}
