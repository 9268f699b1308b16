//! Rows become values and values become rows; what cannot be read is named.

use kernel::{ChangeId, EntryId, Timestamp, WorldId};
use lorebook_core::{
    Entry, Layer, OverlayAction, World,
    change::{Operation, Pair, Record},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    Change, Listed, StoreError,
    rows::ChangeRow,
    statements::{ChangeTuple, EntryTuple, HeadTuple, RecordTuple, WorldTuple},
};

/// The part of a record that lists leave out.
#[derive(Serialize, Deserialize)]
struct RecordRows {
    operations: Vec<Operation>,
    pairs: Vec<Pair>,
    #[serde(default)]
    rationales: Vec<String>,
}

pub(super) fn listed(row: WorldTuple) -> Result<Listed, StoreError> {
    let (
        id,
        name,
        enabled,
        dynamic_enabled,
        embedded,
        revision,
        version,
        settings,
        at,
        all,
        dynamic,
    ) = row;
    let world = World {
        id: stored_id(WorldId::new(&id))?,
        name,
        enabled,
        dynamic_enabled,
        embedded,
        content_revision: unsigned(revision),
        settings: read_json("world", &id, &settings)?,
    };
    Ok(Listed {
        world,
        version: unsigned(version),
        entries: u32::try_from(all).unwrap_or(u32::MAX),
        dynamic_entries: u32::try_from(dynamic).unwrap_or(u32::MAX),
        created_at: Timestamp::from_micros(at),
    })
}

pub(super) fn entry(row: EntryTuple) -> Result<Entry, StoreError> {
    let (id, uid, ordinal, layer, action, supersedes, archived, locked, revision, body) = row;
    Ok(Entry {
        uid,
        ordinal,
        layer: if layer == Layer::Dynamic.name() { Layer::Dynamic } else { Layer::Authored },
        overlay_action: action.as_deref().and_then(OverlayAction::from_name),
        supersedes_entry_id: supersedes.map(|id| stored_id(EntryId::new(id))).transpose()?,
        archived,
        locked,
        entry_revision: unsigned(revision),
        body: read_json("entry", &id, &body)?,
        id: stored_id(EntryId::new(&id))?,
    })
}

pub(super) fn change_row(row: ChangeTuple) -> Result<ChangeRow, StoreError> {
    let (world, state, request, position, reverted_by, head, rows) = row;
    let (Some(position), Some(head), "applied") = (position, head, state.as_str()) else {
        return Ok(ChangeRow::Closed);
    };
    let change = whole_change((world, position, reverted_by, head, rows.unwrap_or_default()))?;
    Ok(ChangeRow::Applied { request, change: Box::new(change) })
}

pub(super) fn whole_change(row: RecordTuple) -> Result<Change, StoreError> {
    let (world, position, reverted_by, head, rows) = row;
    let mut change = change_head((world, position, reverted_by, head))?;
    let record = &mut change.record;
    let rows: RecordRows = read_json("change", record.id.as_str(), &rows)?;
    (record.operations, record.pairs) = (rows.operations, rows.pairs);
    record.rationales = rows.rationales;
    Ok(change)
}

pub(super) fn change_head(row: HeadTuple) -> Result<Change, StoreError> {
    let (world, position, reverted_by, head) = row;
    let mut record: Record = read_json("change of world", &world, &head)?;
    record.reverted_by = reverted_by.map(|id| stored_id(ChangeId::new(id))).transpose()?;
    Ok(Change { world: stored_id(WorldId::new(world))?, position, record })
}

/// A record as its two stored parts.
pub(super) fn record_parts(record: &Record) -> Result<(Vec<u8>, Vec<u8>), StoreError> {
    let mut head = record.clone();
    let rows = RecordRows {
        operations: std::mem::take(&mut head.operations),
        pairs: std::mem::take(&mut head.pairs),
        rationales: std::mem::take(&mut head.rationales),
    };
    Ok((write_json(&head)?, write_json(&rows)?))
}

pub(super) fn write_json<T: Serialize>(value: &T) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(value).map_err(|why| sqlx::Error::Encode(why.into()).into())
}

fn read_json<T: DeserializeOwned>(
    kind: &'static str,
    id: &str,
    bytes: &[u8],
) -> Result<T, StoreError> {
    let unreadable = |source| StoreError::Unreadable { kind, id: id.to_owned(), source };
    serde_json::from_slice(bytes).map_err(unreadable)
}

fn stored_id<T>(id: Result<T, kernel::InvalidId>) -> Result<T, StoreError> {
    id.map_err(|why| sqlx::Error::Decode(why.into()).into())
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
