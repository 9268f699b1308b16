//! The file of static tokens and of the tenants' grants.
//!
//! ```toml
//! [[token]]
//! hash = "9f86d0…"            # SHA-256 of the token, in hexadecimal: `skald token`
//! tenant = "acme"
//! subject = "ada"
//! scopes = ["author_system"]  # mesh, author_system, tier:platform, tier:agent, tier:worker
//!
//! [tenant.acme]
//! grants = ["authored_history", "chat_import"]
//! ```
//!
//! The file is looked at with every call (one `stat`) and read again when it changed, so that revoking
//! is immediate. A file that no longer parses is logged, and the last good one stays in force.

use std::{
    collections::HashMap,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, RwLock},
};

use kernel::{Digest, Principal, Scope, Subject, TenantId};
use serde::Deserialize;

use crate::{
    auth::Identity,
    caller::{Grant, Grants},
    config::of_toml,
};

/// A token file and what it said when last read.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    read: RwLock<Read>,
}

/// Why a token file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    #[error("the token file {0} (SKALD_TOKENS) cannot be read")]
    Unreadable(PathBuf, #[source] io::Error),
    #[error("the token file {0} (SKALD_TOKENS) is not valid: {1}")]
    Invalid(PathBuf, String),
}

#[derive(Debug, Clone)]
struct Read {
    stamp: Stamp,
    policy: Arc<Policy>,
}

/// What tells that a file changed: inode, length, and the times of its content and of itself.
type Stamp = (u64, u64, i64, i64, i64, i64);

#[derive(Debug, Default)]
struct Policy {
    tokens: HashMap<Digest, Principal>,
    grants: HashMap<TenantId, Grants>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    token: Vec<TokenEntry>,
    #[serde(default)]
    tenant: HashMap<TenantId, TenantEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenEntry {
    hash: Digest,
    tenant: TenantId,
    subject: Subject,
    #[serde(default)]
    scopes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TenantEntry {
    #[serde(default)]
    grants: Vec<Grant>,
}

// === impl TokenFile ===

impl TokenFile {
    pub fn open(path: &Path) -> Result<Self, TokenFileError> {
        let read = read(path)?;
        Ok(Self { path: path.to_owned(), read: RwLock::new(read) })
    }

    /// Whom a token's hash belongs to, with the grants of their tenant.
    pub fn find(&self, token: &Digest) -> Option<Identity> {
        let policy = self.current();
        let principal = policy.tokens.get(token)?.clone();
        let grants = policy.grants(&principal.owner.tenant);
        let mesh = principal.has(Scope::Mesh);
        Some(Identity { principal, grants, mesh })
    }

    pub fn grants(&self, tenant: &TenantId) -> Grants {
        self.current().grants(tenant)
    }

    fn current(&self) -> Arc<Policy> {
        let known = self.read.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        if stamp(&self.path).is_ok_and(|now| now == known.stamp) {
            return known.policy;
        }
        let mut slot = self.read.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        match read(&self.path) {
            Ok(fresh) => *slot = fresh,
            Err(error) => {
                tracing::error!(%error, "the last good token file stays in force");
                // The broken file is reported once, not with every call.
                slot.stamp = stamp(&self.path).unwrap_or(slot.stamp);
            }
        }
        slot.policy.clone()
    }
}

// === impl Policy ===

impl Policy {
    fn grants(&self, tenant: &TenantId) -> Grants {
        self.grants.get(tenant).copied().unwrap_or(Grants::NONE)
    }
}

fn read(path: &Path) -> Result<Read, TokenFileError> {
    let unreadable = |error| TokenFileError::Unreadable(path.to_owned(), error);
    // The stamp first: a change between the two is then seen by the next call.
    let stamp = stamp(path).map_err(unreadable)?;
    let text = fs::read_to_string(path).map_err(unreadable)?;
    let policy = parse(&text).map_err(|why| TokenFileError::Invalid(path.to_owned(), why))?;
    Ok(Read { stamp, policy: Arc::new(policy) })
}

fn stamp(path: &Path) -> io::Result<Stamp> {
    let data = fs::metadata(path)?;
    let (modified, changed) =
        ((data.mtime(), data.mtime_nsec()), (data.ctime(), data.ctime_nsec()));
    Ok((data.ino(), data.len(), modified.0, modified.1, changed.0, changed.1))
}

fn parse(text: &str) -> Result<Policy, String> {
    let document: Document = toml::from_str(text).map_err(|error| of_toml(&error))?;
    let mut policy = Policy::default();
    for (at, entry) in document.token.into_iter().enumerate() {
        let scopes = entry
            .scopes
            .iter()
            .map(|name| Scope::from_name(name).ok_or(name))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|name| format!("token {} has the unknown scope {name:?}", at + 1))?;
        let principal = Principal::new(entry.tenant, entry.subject, scopes);
        if policy.tokens.insert(entry.hash, principal).is_some() {
            return Err(format!("token {} is there twice", at + 1));
        }
    }
    let granted = |entry: TenantEntry| entry.grants.into_iter().collect();
    policy.grants = document.tenant.into_iter().map(|(id, entry)| (id, granted(entry))).collect();
    Ok(policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    #[track_caller]
    fn refused(text: &str, words: &str) {
        let error = parse(&text.replace("HASH", HASH)).expect_err("invalid");
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn an_empty_file_knows_nobody() {
        assert!(parse("").expect("valid").tokens.is_empty());
    }

    #[test]
    fn what_is_wrong_is_named() {
        refused("[[token]]\nhash='zz'\ntenant='a'\nsubject='b'", "64 hexadecimal digits");
        refused("[[token]]\nhash='HASH'\ntenant=''\nsubject='b'", "is empty");
        refused("[[token]]\nhash='HASH'\ntenant='a'\nsubject='b'\nscopes=['root']", "\"root\"");
        refused("[[token]]\nhash='HASH'\ntenant='a'", "subject");
        refused("[tenant.a]\ngrants=['everything']", "everything");
        refused("[tenants.a]\ngrants=[]", "tenants");
        let twice = "[[token]]\nhash='HASH'\ntenant='a'\nsubject='b'\n".repeat(2);
        refused(&twice, "token 2 is there twice");
    }
}
