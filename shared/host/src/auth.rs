//! Who is calling: a bearer token becomes an identity, or the call is refused before anything else is looked at.

pub mod mesh;
pub mod tokens;

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use http::{HeaderMap, header::AUTHORIZATION};
use kernel::{Digest, Owner, Principal, Scope, Subject, TenantId, digest};
use tonic::Status;

use crate::{
    auth::{
        mesh::MeshToken,
        tokens::{TokenFile, TokenFileError},
    },
    caller::Grants,
    status,
};

/// How a process tells its callers apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthMode {
    /// Everybody is the one local user, with every scope and grant. Loopback only.
    None,
    /// A TOML file of hashed static tokens: see [`tokens`].
    Tokens(PathBuf),
}

/// Turns a request's headers into an identity. Clones share the token file.
#[derive(Debug, Clone)]
pub struct Authenticator(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    tokens: Option<TokenFile>,
    mesh: Digest,
}

/// What a token proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub principal: Principal,
    pub grants: Grants,
    pub mesh: bool,
}

/// Why a process must not start.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error(
        "{0} is not a loopback address, and without authentication only those are served: \
         name a token file (--tokens, SKALD_TOKENS) or listen on 127.0.0.1"
    )]
    OpenBind(SocketAddr),
    #[error(transparent)]
    Tokens(#[from] TokenFileError),
}

/// The form in which a token file holds a token: its SHA-256, in hexadecimal.
pub fn hash_token(token: &str) -> String {
    digest(token.as_bytes()).to_hex()
}

/// A new token that cannot be guessed: 256 bits of the operating system's randomness, in hexadecimal.
pub fn new_token() -> std::io::Result<String> {
    use std::io::Read as _;
    let mut bytes = [0; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex::encode(bytes))
}

// === impl Authenticator ===

impl Authenticator {
    /// `mesh` is the token that this process shows to its peers; it is accepted here, too.
    pub fn open(mode: &AuthMode, mesh: &MeshToken) -> Result<Self, AuthError> {
        let tokens = match mode {
            AuthMode::None => None,
            AuthMode::Tokens(path) => Some(TokenFile::open(path)?),
        };
        Ok(Self(Arc::new(Inner { tokens, mesh: mesh.digest() })))
    }

    /// Refuses to serve the world without authentication.
    pub fn allows(&self, address: SocketAddr) -> Result<(), AuthError> {
        match self.0.tokens {
            None if !address.ip().is_loopback() => Err(AuthError::OpenBind(address)),
            _ => Ok(()),
        }
    }

    /// The identity behind a request's headers, or UNAUTHENTICATED.
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<Identity, Status> {
        let token = bearer(headers)?.map(|token| digest(token.as_bytes()));
        if token == Some(self.0.mesh) {
            return self.carried(headers, mesh::itself());
        }
        let Some(tokens) = &self.0.tokens else { return Ok(local()) };
        let token = token.ok_or_else(|| status::unauthenticated("a bearer token is needed"))?;
        let identity =
            tokens.find(&token).ok_or_else(|| status::unauthenticated("the token is not known"))?;
        if identity.mesh { self.carried(headers, identity.principal) } else { Ok(identity) }
    }

    /// Whether the request shows no token at all.
    pub(crate) fn is_anonymous(&self, headers: &HeaderMap) -> bool {
        self.0.tokens.is_some() && !headers.contains_key(AUTHORIZATION)
    }

    /// A mesh call acts for the principal that it names, with that tenant's grants; else for itself.
    fn carried(&self, headers: &HeaderMap, itself: Principal) -> Result<Identity, Status> {
        let principal = mesh::read_principal(headers)?.unwrap_or(itself);
        let grants = match &self.0.tokens {
            None => Grants::all(),
            Some(tokens) => tokens.grants(&principal.owner.tenant),
        };
        Ok(Identity { principal, grants, mesh: true })
    }
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Status> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(status::unauthenticated("authorization came twice"));
    }
    let unreadable = || status::unauthenticated("authorization is not `Bearer <token>`");
    let (scheme, token) =
        value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(unreadable)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(Some(token.trim())) } else { Err(unreadable()) }
}

/// The one user of a process without authentication.
fn local() -> Identity {
    let id = "local";
    let owner = Owner {
        tenant: TenantId::new(id).expect("a valid id"),
        subject: Subject::new(id).expect("a valid id"),
    };
    let scopes = Scope::ALL.into_iter().filter(|scope| *scope != Scope::Mesh).collect();
    Identity { principal: Principal { owner, scopes }, grants: Grants::all(), mesh: false }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use tonic::Code;

    use super::*;
    use crate::caller::Grant;

    const OWN: &str = "own-secret-of-the-mesh";

    const FILE: &str = r#"
        [[token]]
        hash = "HASH-OF-ADA"
        tenant = "acme"
        subject = "ada"
        scopes = ["author_system"]

        [[token]]
        hash = "HASH-OF-MESH"
        tenant = "ops"
        subject = "proposal"
        scopes = ["mesh"]

        [tenant.acme]
        grants = ["authored_history"]
    "#;

    fn with_tokens() -> (tempfile::NamedTempFile, Authenticator) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let text = FILE
            .replace("HASH-OF-ADA", &hash_token("ada-secret"))
            .replace("HASH-OF-MESH", &hash_token("peer-secret"));
        std::fs::write(file.path(), text).expect("written");
        let mode = AuthMode::Tokens(file.path().to_owned());
        let auth = Authenticator::open(&mode, &OWN.parse().expect("a token"));
        (file, auth.expect("a readable file"))
    }

    fn headers(token: &str) -> HeaderMap {
        let value = HeaderValue::try_from(format!("Bearer {token}")).expect("ascii");
        HeaderMap::from_iter([(AUTHORIZATION, value)])
    }

    fn bob() -> Principal {
        let (tenant, subject) = (TenantId::new("acme"), Subject::new("bob"));
        Principal::new(tenant.expect("an id"), subject.expect("an id"), [Scope::TierAgent])
    }

    #[track_caller]
    fn refused(auth: &Authenticator, headers: &HeaderMap) {
        let answer = auth.authenticate(headers).map_err(|status| status.code());
        assert_eq!(answer, Err(Code::Unauthenticated));
    }

    #[test]
    fn a_known_token_gives_tenant_subject_scopes_and_the_tenants_grants() {
        let (_file, auth) = with_tokens();
        let ada = auth.authenticate(&headers("ada-secret")).expect("known");
        assert_eq!(ada.principal.owner.subject.as_str(), "ada");
        assert!(ada.principal.has(Scope::AuthorSystem) && !ada.mesh);
        assert!(ada.grants.has(Grant::AuthoredHistory) && !ada.grants.has(Grant::ChatImport));
    }

    #[test]
    fn no_token_a_wrong_token_and_another_scheme_are_refused() {
        let (_file, auth) = with_tokens();
        refused(&auth, &HeaderMap::new());
        refused(&auth, &headers("guess"));
        refused(&auth, &headers(""));
        let basic = HeaderValue::from_static("Basic YWRhOnNlY3JldA==");
        refused(&auth, &HeaderMap::from_iter([(AUTHORIZATION, basic)]));
        let mut twice = headers("ada-secret");
        twice.append(AUTHORIZATION, twice[AUTHORIZATION].clone());
        refused(&auth, &twice);
    }

    #[test]
    fn a_mesh_call_acts_for_the_principal_it_carries() {
        let (_file, auth) = with_tokens();
        for token in [OWN, "peer-secret"] {
            let mut headers = headers(token);
            mesh::write_principal(&mut headers, &bob());
            let identity = auth.authenticate(&headers).expect("a peer");
            assert_eq!(identity.principal, bob());
            assert!(identity.mesh && identity.grants.has(Grant::AuthoredHistory));
        }
    }

    #[test]
    fn a_carried_principal_never_brings_the_mesh_scope_itself() {
        let (_file, auth) = with_tokens();
        let mut headers = headers(OWN);
        let mut principal = bob();
        principal.scopes.insert(Scope::Mesh);
        mesh::write_principal(&mut headers, &principal);
        assert!(!auth.authenticate(&headers).expect("a peer").principal.has(Scope::Mesh));
    }

    #[test]
    fn only_a_mesh_call_may_carry_a_principal() {
        let (_file, auth) = with_tokens();
        let mut headers = headers("ada-secret");
        mesh::write_principal(&mut headers, &bob());
        let identity = auth.authenticate(&headers).expect("known");
        assert_eq!(identity.principal.owner.subject.as_str(), "ada");
    }

    #[test]
    fn a_carried_principal_that_cannot_be_read_is_refused() {
        let (_file, auth) = with_tokens();
        let mut headers = headers(OWN);
        headers.insert(mesh::PRINCIPAL, HeaderValue::from_static("bm90IGpzb24="));
        refused(&auth, &headers);
    }

    #[test]
    fn a_revoked_grant_is_gone_with_the_next_call() {
        let (file, auth) = with_tokens();
        let text = std::fs::read_to_string(file.path()).expect("read");
        std::fs::write(file.path(), text.replace("\"authored_history\"", "")).expect("written");
        let ada = auth.authenticate(&headers("ada-secret")).expect("still known");
        assert_eq!(ada.grants, Grants::NONE);
    }

    #[test]
    fn a_removed_token_is_refused_with_the_next_call() {
        let (file, auth) = with_tokens();
        std::fs::write(file.path(), "").expect("written");
        refused(&auth, &headers("ada-secret"));
    }

    #[test]
    fn a_token_file_that_no_longer_parses_leaves_the_last_good_one_in_force() {
        let (file, auth) = with_tokens();
        std::fs::write(file.path(), "[[token]").expect("written");
        assert!(auth.authenticate(&headers("ada-secret")).is_ok());
        refused(&auth, &headers("guess"));
    }

    #[test]
    fn without_authentication_everybody_is_local_and_only_a_peer_is_mesh() {
        let auth = Authenticator::open(&AuthMode::None, &OWN.parse().expect("a token"));
        let auth = auth.expect("nothing to read");
        let anyone = auth.authenticate(&HeaderMap::new()).expect("local");
        assert_eq!(anyone, local());
        assert!(!anyone.mesh && anyone.grants == Grants::all());
        assert!(auth.authenticate(&headers(OWN)).expect("a peer").mesh);
    }

    #[test]
    fn without_authentication_only_loopback_is_served() {
        let open = Authenticator::open(&AuthMode::None, &OWN.parse().expect("a token"));
        let open = open.expect("nothing to read");
        assert!(open.allows("127.0.0.1:1".parse().expect("an address")).is_ok());
        assert!(open.allows("[::1]:1".parse().expect("an address")).is_ok());
        assert!(open.allows("0.0.0.0:1".parse().expect("an address")).is_err());
        let (_file, closed) = with_tokens();
        assert!(closed.allows("0.0.0.0:1".parse().expect("an address")).is_ok());
    }

    #[test]
    fn new_tokens_differ() {
        assert_ne!(new_token().expect("random"), new_token().expect("random"));
    }
}
