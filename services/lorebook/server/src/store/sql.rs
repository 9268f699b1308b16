//! The primitives of a transaction, written once: a macro, because the two databases' types have no common trait.

/// Rows of one statement: 14 values each, below both databases' limits on parameters.
pub(super) const BATCH: usize = 500;

/// A statement's first two values: whose rows it is about.
macro_rules! of {
    ($query:expr, $owner:expr) => {
        $query.bind($owner.tenant.as_str()).bind($owner.subject.as_str())
    };
}

/// Gives one database's transaction the primitives above.
macro_rules! rows {
    ($rows:ty, $database:ty, $answers:path, $lock:literal) => {
        #[async_trait::async_trait]
        impl $crate::store::rows::Rows for $rows {
            async fn commit(self: Box<Self>) -> Result<(), StoreError> {
                Ok(self.0.commit().await?)
            }

            async fn world(
                &mut self,
                owner: &Owner,
                id: &WorldId,
            ) -> Result<Option<Listed>, StoreError> {
                let text = format!("{}\n    and w.world_id = $3", statements::WORLD);
                self.one_world(text, owner, id).await
            }

            async fn worlds(
                &mut self,
                owner: &Owner,
                ids: &[WorldId],
            ) -> Result<Vec<Listed>, StoreError> {
                let places: Vec<String> = (3..ids.len() + 3).map(|at| format!("${at}")).collect();
                let places = places.join(", ");
                let text = format!("{}\n    and w.world_id in ({places})", statements::WORLD);
                let query = sql::of!(sqlx::query_as(sqlx::AssertSqlSafe(text)), owner);
                let query = ids.iter().fold(query, |query, id| query.bind(id.as_str()));
                let found: Vec<statements::WorldTuple> = query.fetch_all(&mut *self.0).await?;
                found.into_iter().map(decode::listed).collect()
            }

            async fn lock(
                &mut self,
                owner: &Owner,
                id: &WorldId,
            ) -> Result<Option<Listed>, StoreError> {
                let text = format!("{}\n    and w.world_id = $3\n{}", statements::WORLD, $lock);
                self.one_world(text, owner, id).await
            }

            async fn list(
                &mut self,
                owner: &Owner,
                (name, id): (&str, &str),
                most: i64,
            ) -> Result<Vec<Listed>, StoreError> {
                let text = format!(
                    "{}\n    and w.embedded = $3 and (w.name, w.world_id) > ($4, $5)\n\
                    order by w.name, w.world_id\nlimit $6",
                    statements::WORLD
                );
                let found: Vec<statements::WorldTuple> =
                    sql::of!(sqlx::query_as(sqlx::AssertSqlSafe(text)), owner)
                        .bind(false)
                        .bind(name)
                        .bind(id)
                        .bind(most)
                        .fetch_all(&mut *self.0)
                        .await?;
                found.into_iter().map(decode::listed).collect()
            }

            async fn insert_world(
                &mut self,
                owner: &Owner,
                world: &World,
                now: Timestamp,
            ) -> Result<bool, StoreError> {
                let inserted = sql::of!(sqlx::query(statements::INSERT_WORLD), owner)
                    .bind(world.id.as_str())
                    .bind(world.name.as_str())
                    .bind(world.enabled)
                    .bind(world.dynamic_enabled)
                    .bind(world.embedded)
                    .bind(decode::signed(world.content_revision))
                    .bind(decode::write_json(&world.settings)?)
                    .bind(now.micros())
                    .execute(&mut *self.0)
                    .await?;
                Ok(inserted.rows_affected() == 1)
            }

            async fn update_world(
                &mut self,
                owner: &Owner,
                world: &World,
            ) -> Result<(), StoreError> {
                sql::of!(sqlx::query(statements::UPDATE_WORLD), owner)
                    .bind(world.id.as_str())
                    .bind(world.name.as_str())
                    .bind(world.enabled)
                    .bind(world.dynamic_enabled)
                    .bind(decode::write_json(&world.settings)?)
                    .execute(&mut *self.0)
                    .await?;
                Ok(())
            }

            async fn set_revision(
                &mut self,
                owner: &Owner,
                id: &WorldId,
                revision: u64,
            ) -> Result<(), StoreError> {
                sql::of!(sqlx::query(statements::SET_REVISION), owner)
                    .bind(id.as_str())
                    .bind(decode::signed(revision))
                    .execute(&mut *self.0)
                    .await?;
                Ok(())
            }

            async fn entries(
                &mut self,
                owner: &Owner,
                id: &WorldId,
            ) -> Result<Vec<Entry>, StoreError> {
                let found: Vec<statements::EntryTuple> =
                    sql::of!(sqlx::query_as(statements::ENTRIES), owner)
                        .bind(id.as_str())
                        .fetch_all(&mut *self.0)
                        .await?;
                found.into_iter().map(decode::entry).collect()
            }

            async fn put_entries(
                &mut self,
                owner: &Owner,
                id: &WorldId,
                entries: &[&Entry],
                writer: Writer,
            ) -> Result<(), StoreError> {
                for batch in entries.chunks(sql::BATCH) {
                    let bodies: Vec<Vec<u8>> = batch
                        .iter()
                        .map(|entry| decode::write_json(&entry.body))
                        .collect::<Result<_, _>>()?;
                    let mut query = sqlx::QueryBuilder::<$database>::new(statements::PUT_ENTRIES);
                    query.push_values(batch.iter().zip(bodies), |mut row, (entry, body)| {
                        row.push_bind(owner.tenant.as_str())
                            .push_bind(owner.subject.as_str())
                            .push_bind(id.as_str())
                            .push_bind(entry.id.as_str())
                            .push_bind(entry.uid)
                            .push_bind(entry.ordinal)
                            .push_bind(entry.layer.name())
                            .push_bind(entry.overlay_action.map(|action| action.name()))
                            .push_bind(entry.supersedes_entry_id.as_ref().map(|id| id.as_str()))
                            .push_bind(entry.archived)
                            .push_bind(entry.locked)
                            .push_bind(decode::signed(entry.entry_revision))
                            .push_bind(body)
                            .push_bind(writer.name());
                    });
                    query.push(statements::OR_OVERWRITE);
                    query.build().execute(&mut *self.0).await?;
                }
                Ok(())
            }

            async fn delete_entries(
                &mut self,
                owner: &Owner,
                id: &WorldId,
                entries: &[Entry],
            ) -> Result<(), StoreError> {
                for entry in entries {
                    for statement in [statements::MARK_DELETED, statements::DELETE_ENTRY] {
                        sql::of!(sqlx::query(statement), owner)
                            .bind(id.as_str())
                            .bind(entry.id.as_str())
                            .execute(&mut *self.0)
                            .await?;
                    }
                }
                Ok(())
            }

            async fn delete_world(
                &mut self,
                owner: &Owner,
                id: &WorldId,
            ) -> Result<bool, StoreError> {
                let mut deleted = false;
                for statement in [statements::DELETE_HISTORY, statements::DELETE_WORLD] {
                    let done = sql::of!(sqlx::query(statement), owner)
                        .bind(id.as_str())
                        .execute(&mut *self.0)
                        .await?;
                    deleted = done.rows_affected() > 0;
                }
                Ok(deleted)
            }

            async fn change(
                &mut self,
                owner: &Owner,
                id: &ChangeId,
            ) -> Result<Option<ChangeRow>, StoreError> {
                let found: Option<statements::ChangeTuple> =
                    sql::of!(sqlx::query_as(statements::CHANGE), owner)
                        .bind(id.as_str())
                        .fetch_optional(&mut *self.0)
                        .await?;
                found.map(decode::change_row).transpose()
            }

            async fn changes(
                &mut self,
                owner: &Owner,
                world: &WorldId,
                before: i64,
                most: i64,
            ) -> Result<Vec<Change>, StoreError> {
                let found: Vec<statements::HeadTuple> =
                    sql::of!(sqlx::query_as(statements::CHANGES), owner)
                        .bind(world.as_str())
                        .bind(before)
                        .bind(most)
                        .fetch_all(&mut *self.0)
                        .await?;
                found.into_iter().map(decode::change_head).collect()
            }

            async fn history(
                &mut self,
                owner: &Owner,
                world: &WorldId,
            ) -> Result<Vec<Record>, StoreError> {
                let found: Vec<statements::RecordTuple> =
                    sql::of!(sqlx::query_as(statements::HISTORY), owner)
                        .bind(world.as_str())
                        .fetch_all(&mut *self.0)
                        .await?;
                found.into_iter().map(|row| Ok(decode::whole_change(row)?.record)).collect()
            }

            async fn insert_change(
                &mut self,
                owner: &Owner,
                world: &WorldId,
                record: &Record,
                request: &[u8],
            ) -> Result<bool, StoreError> {
                let (head, rows) = decode::record_parts(record)?;
                let inserted = sql::of!(sqlx::query(statements::INSERT_CHANGE), owner)
                    .bind(record.id.as_str())
                    .bind(world.as_str())
                    .bind(request)
                    .bind(record.reverted_by.as_ref().map(|id| id.as_str()))
                    .bind(head)
                    .bind(rows)
                    .execute(&mut *self.0)
                    .await?;
                Ok(inserted.rows_affected() == 1)
            }

            async fn insert_closed(
                &mut self,
                owner: &Owner,
                world: &WorldId,
                id: &ChangeId,
            ) -> Result<bool, StoreError> {
                let inserted = sql::of!(sqlx::query(statements::INSERT_CLOSED), owner)
                    .bind(id.as_str())
                    .bind(world.as_str())
                    .bind(Vec::<u8>::new())
                    .execute(&mut *self.0)
                    .await?;
                Ok(inserted.rows_affected() == 1)
            }

            async fn mark_reverted(
                &mut self,
                owner: &Owner,
                id: &ChangeId,
                by: &ChangeId,
            ) -> Result<(), StoreError> {
                sql::of!(sqlx::query(statements::MARK_REVERTED), owner)
                    .bind(id.as_str())
                    .bind(by.as_str())
                    .execute(&mut *self.0)
                    .await?;
                Ok(())
            }

            async fn answer(&mut self, scope: &Scope) -> Result<Option<Answer>, StoreError> {
                use $answers as answers;
                Ok(answers::find(&mut self.0, scope).await?)
            }

            async fn put_answer(
                &mut self,
                scope: &Scope,
                answer: &Answer,
                now: Timestamp,
            ) -> Result<bool, StoreError> {
                use $answers as answers;
                Ok(answers::store(&mut self.0, scope, answer, now).await?)
            }

            async fn forget(&mut self, before: Timestamp) -> Result<u64, StoreError> {
                use $answers as answers;
                Ok(answers::forget(&mut self.0, before).await?)
            }
        }

        impl $rows {
            async fn one_world(
                &mut self,
                text: String,
                owner: &Owner,
                id: &WorldId,
            ) -> Result<Option<Listed>, StoreError> {
                let found: Option<statements::WorldTuple> =
                    sql::of!(sqlx::query_as(sqlx::AssertSqlSafe(text)), owner)
                        .bind(id.as_str())
                        .fetch_optional(&mut *self.0)
                        .await?;
                found.map(decode::listed).transpose()
            }
        }
    };
}

pub(super) use {of, rows};
