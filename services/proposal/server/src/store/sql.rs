//! The verbs in SQL, written once: both databases take the same statements and differ in how they begin.

/// Implements `Store` for a type with `reader()` and `begin()`.
macro_rules! implement_store {
    ($store:ty, $database:ty, $answers:path) => {
        const _: () = {
            use async_trait::async_trait;
            use host::idempotency::{Answer, Scope};
            use kernel::{ChangesetId, EvaluationId, Owner, SessionId, Timestamp};
            use proposal_core::{Changeset, Evaluation, JudgedTurn};
            use sqlx::query::QueryAs;
            use $answers as answers;

            use crate::store::{
                Found, Position, Replaced, Store, StoreError, Which, WhichState,
                rows::{ChangesetBody, ChangesetRow, EvaluationBody, EvaluationRow, int, json},
                statements as sql,
            };

            type Arguments = <$database as sqlx::Database>::Arguments;

            impl $store {
                async fn one<R, T>(&self, query: QueryAs<'_, $database, R, Arguments>) -> Found<T>
                where
                    R: Send + Unpin + for<'r> sqlx::FromRow<'r, <$database as sqlx::Database>::Row>,
                    T: TryFrom<R, Error = sqlx::Error>,
                {
                    let row = query.fetch_optional(self.reader()).await?;
                    Ok(row.map(T::try_from).transpose()?)
                }

                async fn all(
                    &self,
                    query: QueryAs<'_, $database, ChangesetRow, Arguments>,
                ) -> Result<Vec<Changeset>, StoreError> {
                    let rows = query.fetch_all(self.reader()).await?;
                    Ok(rows.into_iter().map(Changeset::try_from).collect::<Result<_, _>>()?)
                }
            }

            #[async_trait]
            impl Store for $store {
                async fn evaluation(&self, owner: &Owner, turn: &JudgedTurn) -> Found<Evaluation> {
                    let query = sqlx::query_as::<_, EvaluationRow>(sql::EVALUATION)
                        .bind(owner.tenant.as_str())
                        .bind(owner.subject.as_str())
                        .bind(turn.session.as_str())
                        .bind(int(turn.turn_seq))
                        .bind(turn.alternative.as_str())
                        .bind(i64::from(turn.attempt));
                    self.one(query).await
                }

                async fn newest_evaluation(
                    &self,
                    owner: &Owner,
                    session: &SessionId,
                    turn_seq: u64,
                ) -> Found<Evaluation> {
                    let query = sqlx::query_as::<_, EvaluationRow>(sql::NEWEST_EVALUATION)
                        .bind(owner.tenant.as_str())
                        .bind(owner.subject.as_str())
                        .bind(session.as_str())
                        .bind(int(turn_seq));
                    self.one(query).await
                }

                async fn changesets_of(
                    &self,
                    owner: &Owner,
                    evaluation: &EvaluationId,
                ) -> Result<Vec<Changeset>, StoreError> {
                    let query = sqlx::query_as(sql::CHANGESETS_OF_EVALUATION)
                        .bind(owner.tenant.as_str())
                        .bind(owner.subject.as_str())
                        .bind(evaluation.as_str());
                    self.all(query).await
                }

                async fn stage(
                    &self,
                    evaluation: &Evaluation,
                    changesets: &[Changeset],
                ) -> Result<bool, StoreError> {
                    let (owner, turn) = (&evaluation.owner, &evaluation.turn);
                    let mut transaction = self.begin().await?;
                    let stored = sqlx::query(sql::INSERT_EVALUATION)
                        .bind(owner.tenant.as_str())
                        .bind(owner.subject.as_str())
                        .bind(evaluation.id.as_str())
                        .bind(turn.session.as_str())
                        .bind(int(turn.turn_seq))
                        .bind(turn.alternative.as_str())
                        .bind(i64::from(turn.attempt))
                        .bind(evaluation.outcome.name())
                        .bind(json(&EvaluationBody::of(evaluation))?)
                        .bind(evaluation.judged_at.micros())
                        .execute(&mut *transaction)
                        .await?;
                    if stored.rows_affected() == 0 {
                        return Ok(false);
                    }
                    for changeset in changesets {
                        let source = &changeset.source;
                        sqlx::query(sql::INSERT_CHANGESET)
                            .bind(owner.tenant.as_str())
                            .bind(owner.subject.as_str())
                            .bind(changeset.id.as_str())
                            .bind(changeset.evaluation.as_str())
                            .bind(changeset.world.as_str())
                            .bind(int(changeset.base_revision))
                            .bind(changeset.stage.name())
                            .bind(int(changeset.version))
                            .bind(source.session.as_ref().map(|id| id.as_str()))
                            .bind(source.turn_seq.map(int))
                            .bind(source.alternative.as_ref().map(|id| id.as_str()))
                            .bind(json(&ChangesetBody::of(changeset))?)
                            .bind(changeset.created_at.micros())
                            .execute(&mut *transaction)
                            .await?;
                    }
                    transaction.commit().await?;
                    Ok(true)
                }

                async fn turn_moved(
                    &self,
                    owner: &Owner,
                    evaluation: &EvaluationId,
                    now: Timestamp,
                ) -> Result<(), StoreError> {
                    let mut transaction = self.begin().await?;
                    sqlx::query(sql::EVALUATION_MOVED)
                        .bind(owner.tenant.as_str())
                        .bind(owner.subject.as_str())
                        .bind(evaluation.as_str())
                        .execute(&mut *transaction)
                        .await?;
                    sqlx::query(sql::EXPIRE_OF_EVALUATION)
                        .bind(owner.tenant.as_str())
                        .bind(owner.subject.as_str())
                        .bind(evaluation.as_str())
                        .bind("the turn changed while it was judged")
                        .bind(now.micros())
                        .execute(&mut *transaction)
                        .await?;
                    Ok(transaction.commit().await?)
                }

                async fn source_changed(
                    &self,
                    owner: &Owner,
                    session: &SessionId,
                    turn_seq: u64,
                    now: Timestamp,
                ) -> Result<(), StoreError> {
                    let mut transaction = self.begin().await?;
                    sqlx::query(sql::EXPIRE_OF_TURN)
                        .bind(owner.tenant.as_str())
                        .bind(owner.subject.as_str())
                        .bind(session.as_str())
                        .bind(int(turn_seq))
                        .bind("the turn that it was judged from has changed")
                        .bind(now.micros())
                        .execute(&mut *transaction)
                        .await?;
                    Ok(transaction.commit().await?)
                }

                async fn source_deleted(
                    &self,
                    owner: &Owner,
                    session: &SessionId,
                    now: Timestamp,
                ) -> Result<(), StoreError> {
                    let mut transaction = self.begin().await?;
                    sqlx::query(sql::EXPIRE_OF_SESSION)
                        .bind(owner.tenant.as_str())
                        .bind(owner.subject.as_str())
                        .bind(session.as_str())
                        .bind("the session that it was judged from is deleted")
                        .bind(now.micros())
                        .execute(&mut *transaction)
                        .await?;
                    for statement in [sql::FORGET_SESSION, sql::DELETE_EVALUATIONS] {
                        sqlx::query(statement)
                            .bind(owner.tenant.as_str())
                            .bind(owner.subject.as_str())
                            .bind(session.as_str())
                            .execute(&mut *transaction)
                            .await?;
                    }
                    Ok(transaction.commit().await?)
                }

                async fn changeset(&self, owner: &Owner, id: &ChangesetId) -> Found<Changeset> {
                    let query = sqlx::query_as::<_, ChangesetRow>(sql::CHANGESET)
                        .bind(owner.tenant.as_str())
                        .bind(owner.subject.as_str())
                        .bind(id.as_str());
                    self.one(query).await
                }

                async fn list(
                    &self,
                    owner: &Owner,
                    which: &Which,
                    after: Option<&Position>,
                    limit: usize,
                ) -> Result<Vec<Changeset>, StoreError> {
                    let state: i64 = match which.state {
                        WhichState::All => 0,
                        WhichState::Open => 1,
                        WhichState::Decided => 2,
                    };
                    let query = sqlx::query_as(sql::LIST)
                        .bind(owner.tenant.as_str())
                        .bind(owner.subject.as_str())
                        .bind(which.world.as_ref().map_or("", |id| id.as_str()))
                        .bind(which.session.as_ref().map_or("", |id| id.as_str()))
                        .bind(state)
                        .bind(after.map_or(i64::MAX, |after| after.created_at.micros()))
                        .bind(after.map_or("", |after| after.id.as_str()))
                        .bind(int(limit as u64));
                    self.all(query).await
                }

                async fn unfinished(
                    &self,
                    before: Timestamp,
                    limit: usize,
                ) -> Result<Vec<Changeset>, StoreError> {
                    let query = sqlx::query_as(sql::UNFINISHED)
                        .bind(before.micros())
                        .bind(int(limit as u64));
                    self.all(query).await
                }

                async fn answer(&self, scope: &Scope) -> Found<Answer> {
                    let mut connection = self.reader().acquire().await?;
                    Ok(answers::find(&mut connection, scope).await?)
                }

                async fn replace(
                    &self,
                    next: &Changeset,
                    answer: Option<(&Scope, &Answer)>,
                    now: Timestamp,
                ) -> Result<Replaced, StoreError> {
                    let application = next.application.as_ref();
                    let is_applying = next.stage == proposal_core::Stage::Applying;
                    let since = application.filter(|_| is_applying).map(|a| a.since.micros());
                    let mut transaction = self.begin().await?;
                    let replaced = sqlx::query(sql::REPLACE)
                        .bind(next.owner.tenant.as_str())
                        .bind(next.owner.subject.as_str())
                        .bind(next.id.as_str())
                        .bind(int(next.version.saturating_sub(1)))
                        .bind(next.stage.name())
                        .bind(i64::from(next.attempts))
                        .bind(json(&ChangesetBody::of(next))?)
                        .bind(application.map(json).transpose()?)
                        .bind(since)
                        .bind(next.stale_reason.as_str())
                        .bind(next.decided_at.map(Timestamp::micros))
                        .execute(&mut *transaction)
                        .await?;
                    if replaced.rows_affected() == 0 {
                        return Ok(Replaced::Moved);
                    }
                    if let Some((scope, answer)) = answer
                        && !answers::store(&mut transaction, scope, answer, now).await?
                    {
                        return Ok(Replaced::Answered);
                    }
                    transaction.commit().await?;
                    Ok(Replaced::Done)
                }

                async fn store_answer(
                    &self,
                    scope: &Scope,
                    answer: &Answer,
                    now: Timestamp,
                ) -> Result<bool, StoreError> {
                    let mut transaction = self.begin().await?;
                    let stored = answers::store(&mut transaction, scope, answer, now).await?;
                    transaction.commit().await?;
                    Ok(stored)
                }

                async fn forget(&self, before: Timestamp) -> Result<(), StoreError> {
                    let mut transaction = self.begin().await?;
                    answers::forget(&mut transaction, before).await?;
                    Ok(transaction.commit().await?)
                }
            }
        };
    };
}

pub(super) use implement_store;
