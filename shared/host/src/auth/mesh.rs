//! How services of Skald know each other, and how one names the principal that it acts for.

use std::{fmt, io, str::FromStr, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};
use kernel::{Digest, Principal, Scope, Subject, TenantId, digest};
use tonic::Status;

use crate::status;

/// The principal that a mesh call acts for: base64 of its JSON. Nobody else's is read.
pub const PRINCIPAL: HeaderName = HeaderName::from_static("x-skald-principal");

/// The token that a process shows to its peers; its text is never printed.
#[derive(Clone)]
pub struct MeshToken(Arc<str>);

/// Who knows this token may act for everybody, so a short one must not come to be by an oversight.
const TOKEN_CHARS_MIN: usize = 16;

/// Says nothing of the token itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a mesh token is at least {TOKEN_CHARS_MIN} characters of visible ASCII")]
pub struct InvalidMeshToken;

// === impl MeshToken ===

impl MeshToken {
    /// A token for one process that is its own only peer.
    pub fn random() -> io::Result<Self> {
        super::new_token().map(|token| Self(token.into()))
    }

    pub(crate) fn digest(&self) -> Digest {
        digest(self.0.as_bytes())
    }

    pub(crate) fn write(&self, headers: &mut HeaderMap) -> Result<(), Status> {
        let mut value = HeaderValue::try_from(format!("Bearer {}", self.0))
            .map_err(|_| status::unauthenticated("the mesh token is not a header value"))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
        Ok(())
    }
}

impl FromStr for MeshToken {
    type Err = InvalidMeshToken;

    fn from_str(token: &str) -> Result<Self, InvalidMeshToken> {
        let visible = token.bytes().all(|byte| byte.is_ascii_graphic());
        (visible && token.len() >= TOKEN_CHARS_MIN)
            .then(|| Self(token.into()))
            .ok_or(InvalidMeshToken)
    }
}

impl fmt::Debug for MeshToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MeshToken(hidden)")
    }
}

/// A service that acts for nobody: it leases work.
pub(super) fn itself() -> Principal {
    let tenant = TenantId::new("mesh").expect("a valid id");
    Principal::new(tenant, Subject::new("mesh").expect("a valid id"), [Scope::Mesh])
}

pub(crate) fn write_principal(headers: &mut HeaderMap, principal: &Principal) {
    let json = serde_json::to_vec(principal).expect("a principal is plain data");
    let value = HeaderValue::try_from(STANDARD.encode(json)).expect("base64 is a header value");
    headers.insert(PRINCIPAL, value);
}

pub(super) fn read_principal(headers: &HeaderMap) -> Result<Option<Principal>, Status> {
    let Some(value) = headers.get(PRINCIPAL) else { return Ok(None) };
    let principal = STANDARD
        .decode(value.as_bytes())
        .ok()
        .and_then(|json| serde_json::from_slice::<Principal>(&json).ok());
    let Some(mut principal) = principal else {
        return Err(status::unauthenticated("x-skald-principal cannot be read"));
    };
    principal.scopes.remove(&Scope::Mesh);
    Ok(Some(principal))
}
