//! Deeds as requests, and what is answered to them.

use futures::{TryStreamExt as _, stream};
use prost_types::FieldMask;
use tonic::{Response, Status};
use wire::{
    common::v1::UploadHeader,
    lorebook::v1::{self as pb, entry_edit::Edit, import_world_request::Part},
    mesh::v1 as mesh,
};

use super::{
    Dice,
    deed::{Deed, Verb},
    place::{Hands, Seen},
};

/// A request, as it was made the first time; a repetition sends it again.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    Apply(mesh::ApplyChangeRequest),
    Close(mesh::CloseChangeRequest),
    Update(pb::UpdateEntryRequest),
    Create(pb::CreateEntryRequest),
    Delete(pb::DeleteEntryRequest),
    Reorder(pb::ReorderEntriesRequest),
    Batch(pb::BatchEditEntriesRequest),
    Revert(pb::RevertChangeRequest),
    Reset(pb::ResetWorldRequest),
    Switch(pb::UpdateWorldRequest),
    Import {
        request_id: String,
        file: Vec<u8>,
    },
    /// There was nothing that the deed could be done to.
    Nothing,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Change(pb::Change),
    /// The change if it had applied.
    Closed(Option<pb::Change>),
    /// The world after an edit, and the entries that it was about.
    Edited(pb::World, Vec<String>),
    World(pb::World),
    Nothing,
}

/// An answer, and whether it was said to be given before.
pub type Told = Result<(Answer, bool), Status>;

pub const BOOK: &str = r#"{"name": "Vale", "entries": {
    "0": {"uid": 0, "key": ["gate"], "content": "The gate is open.", "comment": "Gate"},
    "1": {"uid": 1, "key": ["well"], "content": "The well is deep.", "comment": "Well"},
    "2": {"uid": 2, "constant": true, "content": "It is winter.", "comment": "Winter"}
}}"#;

pub fn change_id(run: &str, deed: usize) -> String {
    format!("{run}-c{deed}")
}

pub async fn import(hands: &Hands, request_id: &str, file: &[u8]) -> Told {
    let header = UploadHeader {
        request_id: request_id.to_owned(),
        file_name: "vale.json".to_owned(),
        validate_only: false,
    };
    let parts = [Part::Header(header), Part::Chunk(file.to_vec())];
    let parts = parts.map(|part| pb::ImportWorldRequest { part: Some(part) });
    let answer = hands.worlds.clone().import_world(stream::iter(parts)).await?;
    Ok(told(answer, |answer| Answer::World(answer.world.unwrap_or_default())))
}

// === impl Asked ===

impl Asked {
    /// The request of a deed by a caller who sees the world as it is now.
    pub async fn of(deed: &Deed, run: &str, world_id: &str, hands: &Hands) -> Result<Self, Status> {
        let mut dice = Dice::of(deed.salt);
        let request_id = format!("{run}-r{}", deed.id);
        let world = world_id.to_owned();
        Ok(match deed.verb {
            Verb::Close { of } => {
                let change_id = change_id(run, of);
                Self::Close(mesh::CloseChangeRequest { change_id, world_id: world })
            }
            Verb::Reset => Self::Reset(pb::ResetWorldRequest { world_id: world, request_id }),
            Verb::Undo => match dice.one_of(&hands.history(world_id).await?) {
                Some(change) => Self::Revert(pb::RevertChangeRequest {
                    change_id: change.change_id.clone(),
                    request_id,
                }),
                None => Self::Nothing,
            },
            Verb::Import => Self::Import { request_id, file: BOOK.into() },
            Verb::Restore => Self::Import { request_id, file: backup(hands, world_id).await? },
            _ => {
                let seen = hands.read(world_id, pb::WorldView::All).await?;
                Self::seeing(deed, run, request_id, &seen, &mut dice)
            }
        })
    }

    fn seeing(deed: &Deed, run: &str, request_id: String, seen: &Seen, dice: &mut Dice) -> Self {
        let world_id = seen.world.world_id.clone();
        let Some(row) = dice.one_of(&seen.entries) else { return Self::Nothing };
        let text = format!("Deed {} of {run}.", deed.id);
        match deed.verb {
            Verb::Create => {
                Self::Create(pb::CreateEntryRequest { world_id, request_id, ..creation(&text) })
            }
            Verb::Delete => Self::Delete(pb::DeleteEntryRequest {
                world_id,
                entry_id: row.entry_id.clone(),
                etag: if dice.below(2) == 0 { row.etag.clone() } else { String::new() },
                request_id,
            }),
            Verb::Lock => {
                let entry = pb::Entry { locked: !row.locked, ..row.clone() };
                let entry = pb::Entry { etag: String::new(), ..entry };
                let edit = update(entry, "locked");
                Self::Update(pb::UpdateEntryRequest { world_id, request_id, ..edit })
            }
            Verb::Reorder => {
                let other =
                    dice.one_of(&seen.entries).filter(|other| other.entry_id != row.entry_id);
                let rows = std::iter::once(row).chain(other);
                let entry_ids = rows.map(|row| row.entry_id.clone()).collect();
                Self::Reorder(pb::ReorderEntriesRequest { world_id, entry_ids, request_id })
            }
            Verb::Batch => {
                let edits =
                    [Edit::Update(reworded(row, &text, dice)), Edit::Create(creation(&text))];
                let edits = edits.map(|edit| pb::EntryEdit { edit: Some(edit) }).into();
                Self::Batch(pb::BatchEditEntriesRequest { world_id, edits, request_id })
            }
            Verb::Switch => {
                let world = pb::World { etag: String::new(), ..seen.world.clone() };
                let world = pb::World { dynamic_enabled: !world.dynamic_enabled, ..world };
                let update_mask = Some(mask("dynamic_enabled"));
                let world = Some(world);
                Self::Switch(pb::UpdateWorldRequest { world, update_mask, request_id })
            }
            Verb::Apply => Self::Apply(mesh::ApplyChangeRequest {
                change_id: change_id(run, deed.id),
                world_id,
                base_revision: seen.world.content_revision,
                operations: operations(deed, seen, dice),
                origin: pb::ChangeOrigin::Agent.into(),
                summary: text,
                ..Default::default()
            }),
            _ => {
                let edit = reworded(row, &text, dice);
                Self::Update(pb::UpdateEntryRequest { world_id, request_id, ..edit })
            }
        }
    }

    pub async fn send(&self, hands: &Hands) -> Told {
        let (mut entries, mut history) = (hands.entries.clone(), hands.history.clone());
        let mut lore = hands.lore.clone();
        Ok(match self.clone() {
            Self::Nothing => (Answer::Nothing, false),
            Self::Import { request_id, file } => return import(hands, &request_id, &file).await,
            Self::Apply(request) => told(lore.apply_change(request).await?, |a| changed(a.change)),
            Self::Close(request) => {
                told(lore.close_change(request).await?, |a| Answer::Closed(a.change))
            }
            Self::Revert(request) => {
                told(history.revert_change(request).await?, |a| changed(a.change))
            }
            Self::Reset(request) => {
                told(history.reset_world(request).await?, |a| changed(a.change))
            }
            Self::Update(request) => {
                told(entries.update_entry(request).await?, |a| edited(a.world, a.entry))
            }
            Self::Create(request) => {
                told(entries.create_entry(request).await?, |a| edited(a.world, a.entry))
            }
            Self::Delete(request) => {
                told(entries.delete_entry(request).await?, |a| edited(a.world, None))
            }
            Self::Reorder(request) => {
                told(entries.reorder_entries(request).await?, |a| edited(a.world, None))
            }
            Self::Batch(request) => told(entries.batch_edit_entries(request).await?, |a| {
                Answer::Edited(a.world.unwrap_or_default(), a.entry_ids)
            }),
            Self::Switch(request) => told(hands.worlds.clone().update_world(request).await?, |a| {
                Answer::World(a.world.unwrap_or_default())
            }),
        })
    }
}

fn told<T>(answer: Response<T>, read: impl FnOnce(T) -> Answer) -> (Answer, bool) {
    let replayed = answer.metadata().get("skald-replayed").is_some();
    (read(answer.into_inner()), replayed)
}

fn changed(change: Option<pb::Change>) -> Answer {
    Answer::Change(change.unwrap_or_default())
}

fn edited(world: Option<pb::World>, entry: Option<pb::Entry>) -> Answer {
    let ids = entry.into_iter().map(|entry| entry.entry_id).collect();
    Answer::Edited(world.unwrap_or_default(), ids)
}

async fn backup(hands: &Hands, world_id: &str) -> Result<Vec<u8>, Status> {
    let view = pb::WorldView::All.into();
    let request = pb::ExportWorldRequest { world_id: world_id.to_owned(), view, format: 0 };
    let chunks = hands.worlds.clone().export_world(request).await?.into_inner();
    let chunks: Vec<pb::ExportWorldResponse> = chunks.try_collect().await?;
    Ok(chunks.into_iter().flat_map(|answer| answer.chunk).collect())
}

fn mask(path: &str) -> FieldMask {
    FieldMask { paths: vec![path.to_owned()] }
}

fn update(entry: pb::Entry, path: &str) -> pb::UpdateEntryRequest {
    let update_mask = Some(mask(path));
    pb::UpdateEntryRequest { entry: Some(entry), update_mask, ..Default::default() }
}

/// Half of the writers insist on what they saw.
fn reworded(row: &pb::Entry, text: &str, dice: &mut Dice) -> pb::UpdateEntryRequest {
    let etag = if dice.below(2) == 0 { row.etag.clone() } else { String::new() };
    update(pb::Entry { content: text.to_owned(), etag, ..row.clone() }, "content")
}

fn creation(text: &str) -> pb::CreateEntryRequest {
    let entry = pb::Entry { name: text.to_owned(), content: text.to_owned(), ..Default::default() };
    pb::CreateEntryRequest { entry: Some(entry), ..Default::default() }
}

/// One to three operations of any kind on any row; many of them hold.
fn operations(deed: &Deed, seen: &Seen, dice: &mut Dice) -> Vec<pb::Operation> {
    use pb::OperationKind as Kind;
    let of = |kind: Kind, row: Option<&pb::Entry>, text: Option<String>| pb::Operation {
        kind: kind.into(),
        target_entry_id: row.map(|row| row.entry_id.clone()).unwrap_or_default(),
        name: text.clone().filter(|_| kind == Kind::Create),
        content: text,
        ..Default::default()
    };
    let count = 1 + dice.below(3);
    let one = |at: usize| {
        let text = Some(format!("Operation {at} of deed {}.", deed.id));
        let Some(row) = dice.one_of(&seen.entries) else { return of(Kind::Create, None, text) };
        let fits = dice.below(8) > 0;
        let authored = (row.layer() == pb::Layer::Authored) == fits;
        match (dice.below(3), authored) {
            (0, _) => of(Kind::Create, None, text),
            (1, true) => of(Kind::Replace, Some(row), text),
            (1, false) => of(Kind::Update, Some(row), text),
            (_, true) => of(Kind::Suppress, Some(row), None),
            (_, false) => of(Kind::Archive, Some(row), None),
        }
    };
    (0..count).map(one).collect()
}
