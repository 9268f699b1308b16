//! The rows of presets.

use kernel::{Digest, Owner, PresetId, Timestamp};
use sqlx::Row as _;

use super::{
    super::{Connection, Row, of_owner, parsed, revision},
    Resource, row_of,
};
use crate::store::{Kind, PresetRow, StoreError, WriteError};

const INSERT: &str = "
    insert into presets (tenant, subject, preset_id, name, hash, document, revision, created_at)
    values ($1, $2, $3, $4, $5, $6, 1, $7)";

const UPDATE: &str = "
    update presets
    set name = $4, hash = $5, document = $6, revision = revision + 1
    where tenant = $1
        and subject = $2
        and preset_id = $3";

const BY_ID: &str = "
    select preset_id, name, hash, document, revision, created_at
    from presets
    where tenant = $1
        and subject = $2
        and preset_id = $3";

/// One that was edited is not what was imported any more.
const BY_HASH: &str = "
    select preset_id, name, hash, document, revision, created_at
    from presets
    where tenant = $1
        and subject = $2
        and hash = $3
        and revision = 1";

pub(in super::super) async fn by_id(
    tx: &mut Connection,
    owner: &Owner,
    id: &str,
) -> Result<Option<PresetRow>, StoreError> {
    let row = row_of(tx, owner, BY_ID, id).await?.map(|row| preset_of(&row)).transpose();
    row.map_err(|error| error.within(Kind::Preset.name(), id))
}

/// The preset that the owner has of the same bytes, or by the same attempt.
pub(super) async fn known(
    tx: &mut Connection,
    owner: &Owner,
    preset: &PresetRow,
) -> Result<Option<PresetRow>, StoreError> {
    match row_of(tx, owner, BY_HASH, &preset.hash.to_hex()).await? {
        Some(row) => preset_of(&row).map(Some),
        None => by_id(tx, owner, preset.id.as_str()).await,
    }
}

pub(super) async fn insert(
    tx: &mut Connection,
    owner: &Owner,
    preset: &PresetRow,
) -> Result<(), StoreError> {
    of_owner(INSERT, owner)
        .bind(preset.id.as_str())
        .bind(preset.name.as_str())
        .bind(preset.hash.to_hex())
        .bind(preset.document.as_slice())
        .bind(preset.created_at.micros())
        .execute(tx)
        .await?;
    Ok(())
}

impl Resource for PresetRow {
    const KIND: Kind = Kind::Preset;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn revision(&self) -> u64 {
        self.revision
    }

    fn updated(&self) -> Self {
        Self { revision: self.revision + 1, ..self.clone() }
    }

    async fn by_id(
        tx: &mut Connection,
        owner: &Owner,
        id: &str,
    ) -> Result<Option<Self>, StoreError> {
        by_id(tx, owner, id).await
    }

    async fn update(&self, tx: &mut Connection, owner: &Owner) -> Result<(), WriteError> {
        let update = of_owner(UPDATE, owner)
            .bind(self.id.as_str())
            .bind(self.name.as_str())
            .bind(self.hash.to_hex())
            .bind(self.document.as_slice())
            .execute(tx);
        update.await.map_err(StoreError::from)?;
        Ok(())
    }
}

fn preset_of(row: &Row) -> Result<PresetRow, StoreError> {
    Ok(PresetRow {
        id: parsed(row, "presets", "preset_id", PresetId::new)?,
        name: row.try_get("name")?,
        hash: parsed(row, "presets", "hash", |hash| Digest::from_hex(&hash))?,
        document: row.try_get("document")?,
        revision: revision(row, "presets")?,
        created_at: Timestamp::from_micros(row.try_get("created_at")?),
    })
}
