//! Rows of either database, read into the store's types; a row that cannot be read is an inconsistency.

use std::sync::Arc;

use kernel::{
    Digest, GenerationId, JobId, Owner, RequestId, Salt, SessionId, Subject, TenantId, Timestamp,
};
use ledger_core::{
    actor::Actor,
    event::{Kept, Kind, Meta, Record},
};
use sqlx::Row as _;

use super::{
    GenerationRow, JobLease, JobRow, JobState, ListedSession, PendingSession, RequestRow,
    SessionRow, StoreError,
};

/// A row of either database.
pub(super) trait Row: Send + Sync {
    fn text(&self, column: &str) -> Result<Option<String>, sqlx::Error>;
    fn number(&self, column: &str) -> Result<Option<i64>, sqlx::Error>;
    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, sqlx::Error>;
}

/// The columns of a table that a row is read from.
pub(super) struct Columns<'r> {
    row: &'r dyn Row,
    table: &'static str,
}

pub(super) fn unavailable(error: sqlx::Error) -> StoreError {
    StoreError::Unavailable(Arc::new(error))
}

macro_rules! row {
    ($row:ty) => {
        impl Row for $row {
            fn text(&self, column: &str) -> Result<Option<String>, sqlx::Error> {
                self.try_get(column)
            }

            fn number(&self, column: &str) -> Result<Option<i64>, sqlx::Error> {
                self.try_get(column)
            }

            fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, sqlx::Error> {
                self.try_get(column)
            }
        }
    };
}

row!(sqlx::sqlite::SqliteRow);
row!(sqlx::postgres::PgRow);

// === impl Columns ===

impl<'r> Columns<'r> {
    pub(super) fn of(row: &'r dyn Row, table: &'static str) -> Self {
        Self { row, table }
    }

    pub(super) fn text(&self, column: &'static str) -> Result<String, StoreError> {
        self.there(column, self.row.text(column))
    }

    fn bytes(&self, column: &'static str) -> Result<Vec<u8>, StoreError> {
        self.there(column, self.row.bytes(column))
    }

    fn there<T>(
        &self,
        column: &str,
        read: Result<Option<T>, sqlx::Error>,
    ) -> Result<T, StoreError> {
        let value = read.map_err(|error| self.bad(column, error))?;
        value.ok_or_else(|| self.bad(column, "is null"))
    }

    fn parsed<T, E: std::fmt::Display>(
        &self,
        column: &'static str,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        parse(self.text(column)?).map_err(|error| self.bad(column, error))
    }

    fn number(&self, column: &'static str) -> Result<u64, StoreError> {
        let number = self.there(column, self.row.number(column))?;
        u64::try_from(number).map_err(|error| self.bad(column, error))
    }

    fn time(&self, column: &'static str) -> Result<Timestamp, StoreError> {
        self.there(column, self.row.number(column)).map(Timestamp::from_micros)
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
            title: self.text("title")?,
            created_at: self.time("created_at")?,
            head: self.number("head")?,
        })
    }

    pub(super) fn listed(&self) -> Result<ListedSession, StoreError> {
        let settings = serde_json::from_slice(&self.bytes("settings")?);
        let running = self.row.text("generation_id");
        let running = running.map_err(|error| self.bad("generation_id", error))?;
        let running = running.map(GenerationId::new).transpose();
        Ok(ListedSession {
            row: self.session()?,
            settings: settings.map_err(|error| self.bad("settings", error))?,
            turn_count: self.number("turn_count")?,
            active_generation: running.map_err(|error| self.bad("generation_id", error))?,
        })
    }

    pub(super) fn snapshot(&self) -> Result<(u64, Vec<u8>), StoreError> {
        Ok((self.number("at_offset")?, self.bytes("state")?))
    }

    pub(super) fn job_state(&self) -> Result<JobState, StoreError> {
        Ok(match self.text("status")?.as_str() {
            "parked" => JobState::Parked { failure: self.text("failure")? },
            _ => JobState::Waiting,
        })
    }

    pub(super) fn pending(&self) -> Result<PendingSession, StoreError> {
        Ok(PendingSession {
            owner: self.owner()?,
            session: self.session_id()?,
            recorded_at: self.time("created_at")?,
        })
    }

    /// An event whose columns cannot be read is named by its place: the log is damaged there.
    pub(super) fn record(&self) -> Result<Record, StoreError> {
        let (session, offset) = (self.session_id()?, self.number("at_offset")?);
        self.whole_record().map_err(|error| match error {
            StoreError::Inconsistent { problem, .. } => {
                StoreError::Damaged { session, offset, problem }
            }
            other => other,
        })
    }

    fn whole_record(&self) -> Result<Record, StoreError> {
        let digest = |column| {
            Digest::from_slice(&self.bytes(column)?).map_err(|error| self.bad(column, error))
        };
        let maybe = |column| self.row.bytes(column).map_err(|error| self.bad(column, error));
        let (payload, salt) = (maybe("payload")?, maybe("salt")?);
        let kept = match (payload, salt) {
            (Some(payload), Some(salt)) => {
                let salt = Salt::from_slice(&salt).map_err(|error| self.bad("salt", error))?;
                Some(Kept { salt, payload })
            }
            _ => None,
        };
        let request_id = self.row.text("request_id");
        let request_id = request_id.map_err(|error| self.bad("request_id", error))?;
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
        Ok(RequestRow { offset: self.number("at_offset")?, record: self.bytes("record")? })
    }

    pub(super) fn kept_text(&self) -> Result<(Digest, String), StoreError> {
        let digest = self.parsed("digest", |hex| Digest::from_hex(&hex))?;
        let text = String::from_utf8(self.bytes("content")?);
        Ok((digest, text.map_err(|error| self.bad("content", error))?))
    }

    /// `dead` is decided by the statement, with the database's own idea of time.
    pub(super) fn generation(&self) -> Result<GenerationRow, StoreError> {
        let status = self.text("status")?;
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
            work: self.bytes("work")?,
        })
    }
}
