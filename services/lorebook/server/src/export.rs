//! Worlds leave as files.

use kernel::{Owner, WorldId, limits};
use lorebook_core::{
    Book,
    change::Record,
    export::{ExportFormat, View, ViewNeedsWorldInfo, pieces},
};

use crate::{Lorebook, error::Error};

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
        let stored = self.world_book(owner, id).await?;
        let book = Book { world: stored.listed.world, entries: stored.entries };
        let history = match view {
            View::All => self.history_until(owner, id, book.world.content_revision).await?,
            View::Authored | View::Effective => Vec::new(),
        };
        Ok(tokio::task::spawn_blocking(move || chunks(&book, view, format, history)).await??)
    }

    /// Every change up to a revision, oldest first, with its rows.
    async fn history_until(
        &self,
        owner: &Owner,
        world: &WorldId,
        revision: u64,
    ) -> Result<Vec<Record>, Error> {
        let mut records = Vec::new();
        let mut before = None;
        loop {
            let page = self.store.changes(owner, world, before, limits::PAGE_SIZE_MAX).await?;
            let Some(last) = page.last() else { break };
            before = Some(last.position);
            for head in page.iter().filter(|head| head.record.applied_revision <= revision) {
                let change = self.store.change(owner, &head.record.id).await?;
                records.extend(change.map(|change| change.record));
            }
        }
        records.reverse();
        Ok(records)
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
