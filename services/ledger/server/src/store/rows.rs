//! Rows of either database, read into the store's types; a row that cannot be read is an inconsistency.

use std::sync::Arc;

use kernel::{
    Digest, GenerationId, JobId, Owner, RequestId, Salt, SessionId, Subject, TenantId, Timestamp,
};
use ledger_core::{
    actor::Actor,
    event::{Kept, Kind, Meta, Record},
};
use sqlx::{ColumnIndex, Decode, Row, Type};

use super::{GenerationRow, JobLease, JobRow, PendingSession, RequestRow, SessionRow, StoreError};

/// The columns of a table that a row is read from.
pub(super) struct Columns<'r, R> {
    row: &'r R,
    table: &'static str,
}

/// What every column type of both databases can do.
pub(super) trait Readable: Row {}

impl Readable for sqlx::sqlite::SqliteRow {}
impl Readable for sqlx::postgres::PgRow {}

pub(super) fn unavailable(error: sqlx::Error) -> StoreError {
    StoreError::Unavailable(Arc::new(error))
}

// === impl Columns ===

impl<'r, R> Columns<'r, R>
where
    R: Readable,
    &'static str: ColumnIndex<R>,
    String: Decode<'r, R::Database> + Type<R::Database>,
    Vec<u8>: Decode<'r, R::Database> + Type<R::Database>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    Option<String>: Decode<'r, R::Database> + Type<R::Database>,
    Option<Vec<u8>>: Decode<'r, R::Database> + Type<R::Database>,
{
    pub(super) fn of(row: &'r R, table: &'static str) -> Self {
        Self { row, table }
    }

    fn get<T>(&self, column: &'static str) -> Result<T, StoreError>
    where
        T: Decode<'r, R::Database> + Type<R::Database>,
    {
        self.row.try_get(column).map_err(|error| self.bad(column, error))
    }

    fn parsed<T, E: std::fmt::Display>(
        &self,
        column: &'static str,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        parse(self.get(column)?).map_err(|error| self.bad(column, error))
    }

    fn number(&self, column: &'static str) -> Result<u64, StoreError> {
        u64::try_from(self.get::<i64>(column)?).map_err(|error| self.bad(column, error))
    }

    fn time(&self, column: &'static str) -> Result<Timestamp, StoreError> {
        self.get(column).map(Timestamp::from_micros)
    }

    fn bad(&self, column: &str, error: impl std::fmt::Display) -> StoreError {
        StoreError::Inconsistent { table: self.table, problem: format!("{column}: {error}") }
    }

    fn owner(&self) -> Result<Owner, StoreError> {
        Ok(Owner {
            tenant: self.parsed("tenant", TenantId::new)?,
            subject: self.parsed("subject", Subject::new)?,
        })
    }

    fn session_id(&self) -> Result<SessionId, StoreError> {
        self.parsed("session_id", SessionId::new)
    }

    pub(super) fn session(&self) -> Result<SessionRow, StoreError> {
        Ok(SessionRow {
            session: self.session_id()?,
            title: self.get("title")?,
            created_at: self.time("created_at")?,
            head: self.number("head")?,
        })
    }

    pub(super) fn pending(&self) -> Result<PendingSession, StoreError> {
        Ok(PendingSession {
            owner: self.owner()?,
            session: self.session_id()?,
            request: self.get("pending")?,
            recorded_at: self.time("created_at")?,
        })
    }

    pub(super) fn record(&self) -> Result<Record, StoreError> {
        let digest = |column| {
            let bytes: Vec<u8> = self.get(column)?;
            Digest::from_slice(&bytes).map_err(|error| self.bad(column, error))
        };
        let payload: Option<Vec<u8>> = self.get("payload")?;
        let salt: Option<Vec<u8>> = self.get("salt")?;
        let kept = match (payload, salt) {
            (Some(payload), Some(salt)) => {
                let salt = Salt::from_slice(&salt).map_err(|error| self.bad("salt", error))?;
                Some(Kept { salt, payload })
            }
            _ => None,
        };
        let request_id: Option<String> = self.get("request_id")?;
        Ok(Record {
            meta: Meta {
                session: self.session_id()?,
                offset: self.number("at_offset")?,
                recorded_at: self.time("recorded_at")?,
                actor: self.parsed("actor", |text| Actor::from_stored(&text))?,
                kind: self.parsed("kind", |name| Kind::from_name(&name).ok_or("unknown kind"))?,
                request_id: request_id
                    .map(|id| RequestId::new(id).map_err(|error| self.bad("request_id", error)))
                    .transpose()?,
            },
            kept,
            commitment: digest("commitment")?,
            chain: digest("chain")?,
        })
    }

    pub(super) fn request(&self) -> Result<RequestRow, StoreError> {
        Ok(RequestRow { offset: self.number("at_offset")?, record: self.get("record")? })
    }

    pub(super) fn text(&self) -> Result<(Digest, String), StoreError> {
        let digest = self.parsed("digest", |hex| Digest::from_hex(&hex))?;
        let text = String::from_utf8(self.get("content")?);
        Ok((digest, text.map_err(|error| self.bad("content", error))?))
    }

    /// `dead` is decided by the statement, with the database's own idea of time.
    pub(super) fn generation(&self) -> Result<GenerationRow, StoreError> {
        let status: String = self.get("status")?;
        Ok(GenerationRow {
            owner: self.owner()?,
            session: self.session_id()?,
            generation: self.parsed("generation_id", GenerationId::new)?,
            reply_seq: self.number("reply_seq")?,
            fence: self.number("fence")?,
            running: status == "running",
            dead: self.number("dead")? != 0,
        })
    }

    pub(super) fn job(&self) -> Result<JobRow, StoreError> {
        let attempt = self.number("attempt")?;
        Ok(JobRow {
            owner: self.owner()?,
            session: self.session_id()?,
            lease: JobLease {
                job: self.parsed("job_id", JobId::new)?,
                fence: self.number("fence")?,
            },
            attempt: u32::try_from(attempt).map_err(|error| self.bad("attempt", error))?,
            work: self.get("work")?,
        })
    }
}
