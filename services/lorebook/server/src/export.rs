//! Worlds leave as files.

use kernel::{Owner, WorldId, limits};
use lorebook_core::{
    Book,
    change::Record,
    export::{ExportFormat, View, ViewNeedsWorldInfo, pieces},
};

use crate::{
    Lorebook,
    error::{Error, no_world},
    store::Backup,
};

// === impl Lorebook ===

impl Lorebook {
    /// The file in chunks of about [`limits::CHUNK_BYTES`].
    pub async fn export_world(
        &self,
        owner: &Owner,
        id: &WorldId,
        view: View,
        format: ExportFormat,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let (stored, history) = match view {
            View::All => {
                let backup = self.store.backup(owner, id).await?;
                let Backup { stored, history } = backup.ok_or_else(|| no_world(id))?;
                (stored, history)
            }
            View::Authored | View::Effective => (self.world_book(owner, id).await?, Vec::new()),
        };
        let book = Book { world: stored.listed.world, entries: stored.entries };
        Ok(tokio::task::spawn_blocking(move || chunks(&book, view, format, history)).await??)
    }
}

fn chunks(
    book: &Book,
    view: View,
    format: ExportFormat,
    history: Vec<Record>,
) -> Result<Vec<Vec<u8>>, ViewNeedsWorldInfo> {
    let mut chunks = vec![Vec::new()];
    for piece in pieces(book, view, format, history)? {
        for part in piece.as_bytes().chunks(limits::CHUNK_BYTES) {
            match chunks.last_mut() {
                Some(last) if last.len() + part.len() <= limits::CHUNK_BYTES => {
                    last.extend_from_slice(part);
                }
                _ => chunks.push(part.to_vec()),
            }
        }
    }
    Ok(chunks)
}
