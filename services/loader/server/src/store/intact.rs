//! Whether a stored file is still the one that was stored.

use kernel::Digest;
use loader_core::format::card::Container;

use super::{CharacterRow, PresetRow, StoreError};

// === impl PresetRow ===

impl PresetRow {
    /// Refuses a document that is not the one that was stored.
    pub fn check(&self) -> Result<(), StoreError> {
        intact("preset", self.id.as_str(), &self.document, &self.hash)
    }
}

// === impl CharacterRow ===

impl CharacterRow {
    /// As for presets. The document of a picture or archive that was not edited has no hash of its own: the hash is
    /// that of the whole file.
    pub fn check(&self) -> Result<(), StoreError> {
        match self.container {
            Container::Png | Container::Charx if self.revision == 1 => Ok(()),
            _ => intact("character", self.id.as_str(), &self.document, &self.hash),
        }
    }

    /// As for presets; the file that an edited card came in has no hash any more.
    pub fn check_original(&self, original: &[u8]) -> Result<(), StoreError> {
        match self.revision {
            1 => intact("character", self.id.as_str(), original, &self.hash),
            _ => Ok(()),
        }
    }
}

/// Refuses bytes that are not what was stored. Cost: one SHA-256 over them.
fn intact(kind: &'static str, id: &str, bytes: &[u8], hash: &Digest) -> Result<(), StoreError> {
    if kernel::digest(bytes) == *hash {
        return Ok(());
    }
    let problem = "the file is not the one that was stored".to_owned();
    Err(StoreError::Damaged { kind, id: id.to_owned(), problem })
}
