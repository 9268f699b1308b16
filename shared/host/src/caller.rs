//! Who is calling, what their tenant may see, and what goes along when a call causes another.

use std::{fmt, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue};
use kernel::{Clock as _, Principal, SystemClock, TenantId};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tonic::Status;

use crate::{deadline, status};

pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const REQUEST_ID_BYTES_MAX: usize = 200;

/// A hidden feature that a tenant may be granted. Held by the server, so that revoking is immediate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// `authored_history.proto`: turns written without generation.
    AuthoredHistory,
    /// `chat_import.proto`: foreign chat logs.
    ChatImport,
}

/// A set of grants.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Grants(u8);

/// An authenticated call: in the extensions of every request that reaches a handler.
#[derive(Debug, Clone)]
pub struct Caller {
    /// For whom the call acts: the filter of every query.
    pub principal: Principal,
    /// What the principal's tenant has been granted, as of this request.
    pub grants: Grants,
    /// Whether a service of Skald carries the call; only then `skald.mesh.v1` exists.
    pub mesh: bool,
    /// The services that answer this caller here, by their full names.
    pub services: Arc<[&'static str]>,
    /// What calls to other services take along.
    pub passage: Passage,
}

/// What is passed on from call to call.
#[derive(Debug, Clone)]
pub struct Passage {
    pub deadline: Option<Instant>,
    pub traceparent: Option<HeaderValue>,
    /// `x-request-id`: the caller's, or one made here.
    pub request_id: HeaderValue,
}

/// The caller of a request that came through the door.
pub fn caller<T>(request: &tonic::Request<T>) -> Result<&Caller, Status> {
    request.extensions().get::<Caller>().ok_or_else(|| status::unauthenticated("no caller"))
}

// === impl Grant ===

impl Grant {
    pub const ALL: [Grant; 2] = [Self::AuthoredHistory, Self::ChatImport];

    /// The name used in token files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AuthoredHistory => "authored_history",
            Self::ChatImport => "chat_import",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

// === impl Grants ===

impl Grants {
    pub const NONE: Grants = Grants(0);

    pub fn all() -> Self {
        Grant::ALL.into_iter().collect()
    }

    pub const fn has(self, grant: Grant) -> bool {
        self.0 & grant.bit() != 0
    }

    /// Every set has its own number below `1 << Grant::ALL.len()`.
    pub(crate) const fn number(self) -> usize {
        self.0 as usize
    }
}

impl FromIterator<Grant> for Grants {
    fn from_iter<I: IntoIterator<Item = Grant>>(grants: I) -> Self {
        Self(grants.into_iter().fold(0, |set, grant| set | grant.bit()))
    }
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(Grant::ALL.into_iter().filter(|grant| self.has(*grant))).finish()
    }
}

// === impl Caller ===

impl Caller {
    /// A job's caller: it acts for the principal that the job carries, after the call that made it.
    pub fn of_job(principal: Principal) -> Self {
        let (services, passage) = (Arc::default(), Passage::fresh());
        Self { principal, grants: Grants::NONE, mesh: true, services, passage }
    }

    pub fn tenant(&self) -> &TenantId {
        &self.principal.owner.tenant
    }
}

// === impl Passage ===

impl Passage {
    /// The start of a chain of calls.
    pub fn fresh() -> Self {
        let id = HeaderValue::try_from(SystemClock.fresh().to_string())
            .expect("a UUID is a header value");
        Self { deadline: None, traceparent: None, request_id: id }
    }

    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let given = headers.get(REQUEST_ID).filter(|id| id.len() <= REQUEST_ID_BYTES_MAX);
        Self {
            deadline: deadline::read(headers),
            traceparent: headers.get(TRACEPARENT).cloned(),
            request_id: given.cloned().unwrap_or_else(|| Self::fresh().request_id),
        }
    }

    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        headers.insert(REQUEST_ID, self.request_id.clone());
        if let Some(traceparent) = &self.traceparent {
            headers.insert(TRACEPARENT, traceparent.clone());
        }
        if let Some(deadline) = self.deadline {
            deadline::write(headers, deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_did_not_come_through_the_door_has_no_caller() {
        let answer = caller(&tonic::Request::new(())).map(|_| ());
        assert_eq!(answer.map_err(|status| status.code()), Err(tonic::Code::Unauthenticated));
    }

    #[test]
    fn a_request_id_is_made_where_none_or_an_endless_one_came() {
        let mut headers = HeaderMap::new();
        assert_eq!(Passage::of(&headers).request_id.len(), 36);
        headers.insert(REQUEST_ID, HeaderValue::try_from("x".repeat(201)).expect("ascii"));
        assert_eq!(Passage::of(&headers).request_id.len(), 36);
        headers.insert(REQUEST_ID, HeaderValue::from_static("mine"));
        assert_eq!(Passage::of(&headers).request_id, "mine");
    }
}
