//! Selections under a name.

use async_trait::async_trait;
use kernel::{Owner, TemplateId, Timestamp};
use sqlx::Row as _;

use super::{Backend, Connection, Row, check_room, defaults, of_owner, parsed};
use crate::store::{After, Attempt, Done, StoreError, TemplateRow, TemplateStore, WriteError};

const INSERT: &str = "
    insert into templates (tenant, subject, template_id, name, selection, created_at)
    values ($1, $2, $3, $4, $5, $6)";

const COUNT: &str = "
    select count(*) as count
    from templates
    where tenant = $1
        and subject = $2";

const BY_ID: &str = "
    select template_id, name, selection, created_at
    from templates
    where tenant = $1
        and subject = $2
        and template_id = $3";

const PAGE: &str = "
    select template_id, name, selection, created_at
    from templates
    where tenant = $1
        and subject = $2
        and (name > $3 or (name = $3 and template_id > $4))
    order by name, template_id
    limit $5";

const DELETE: &str = "
    delete from templates
    where tenant = $1
        and subject = $2
        and template_id = $3";

#[async_trait]
impl TemplateStore for Backend {
    async fn add_template(
        &self,
        owner: &Owner,
        template: &TemplateRow,
        attempt: Option<&Attempt>,
    ) -> Result<Done<TemplateRow>, WriteError> {
        let (mut write, answered) = self.begin(owner, attempt).await?;
        if let Some(known) = by_id(&mut write.tx, owner, &template.id).await? {
            return Ok(Done { value: known, replayed: true });
        }
        if answered.is_some() {
            return Err(gone(&template.id));
        }
        check_room(&mut write.tx, owner, COUNT, "templates", self.capacity.templates).await?;
        let insert = of_owner(INSERT, owner)
            .bind(template.id.as_str().to_owned())
            .bind(template.name.clone())
            .bind(defaults::json_of(&template.selection)?)
            .bind(template.created_at.micros())
            .execute(&mut *write.tx)
            .await;
        insert.map_err(StoreError::from)?;
        write.done(template.id.as_str(), template.clone()).await
    }

    async fn template(
        &self,
        owner: &Owner,
        id: &TemplateId,
    ) -> Result<Option<TemplateRow>, StoreError> {
        by_id(&mut *self.read().await?, owner, id).await
    }

    async fn templates(
        &self,
        owner: &Owner,
        after: &After,
        limit: usize,
    ) -> Result<Vec<TemplateRow>, StoreError> {
        let rows = of_owner(PAGE, owner)
            .bind(after.name.as_str())
            .bind(after.id.as_str())
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .fetch_all(&mut *self.read().await?)
            .await?;
        rows.iter().map(template_of).collect()
    }

    async fn delete_template(
        &self,
        owner: &Owner,
        id: &TemplateId,
        attempt: Option<&Attempt>,
    ) -> Result<Done<()>, WriteError> {
        let (mut write, answered) = self.begin(owner, attempt).await?;
        if answered.is_some() {
            return Ok(Done { value: (), replayed: true });
        }
        let delete = of_owner(DELETE, owner).bind(id.as_str()).execute(&mut *write.tx).await;
        if delete.map_err(StoreError::from)?.rows_affected() == 0 {
            return Err(gone(id));
        }
        write.done("", ()).await
    }
}

fn gone(id: &TemplateId) -> WriteError {
    WriteError::NotFound { kind: "template", id: id.to_string() }
}

async fn by_id(
    tx: &mut Connection,
    owner: &Owner,
    id: &TemplateId,
) -> Result<Option<TemplateRow>, StoreError> {
    let row = of_owner(BY_ID, owner).bind(id.as_str()).fetch_optional(tx).await?;
    row.as_ref().map(template_of).transpose()
}

fn template_of(row: &Row) -> Result<TemplateRow, StoreError> {
    let selection: Vec<u8> = row.try_get("selection")?;
    Ok(TemplateRow {
        id: parsed(row, "templates", "template_id", TemplateId::new)?,
        name: row.try_get("name")?,
        selection: defaults::selection_of(&selection, "templates")?,
        created_at: Timestamp::from_micros(row.try_get("created_at")?),
    })
}
