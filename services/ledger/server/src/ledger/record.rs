//! What is kept beside a stamp: the loader's audit, and the profile where requests are rebuilt from it.

use kernel::Digest;
use prompt::{Segment, in_chat};
use serde::{Deserialize, Serialize};

use super::Ledger;
use crate::error::{Error, Result};

/// The record of one request; stored as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestRecord {
    pub fingerprint: String,
    /// JSON, as the loader gave it.
    pub audit: String,
    pub diagnostics: Vec<DiagnosticRecord>,
    pub worlds: Vec<WorldRecord>,
    pub user_name: String,
    pub character_name: String,
    /// Bytes of the request in all.
    pub total_bytes: u64,
    /// In IN_CHAT and CONTRACT: what the request was built from. JOURNAL has it in its events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<KeptProfile>,
}

/// A diagnostic as the loader gave it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiagnosticRecord {
    pub code: String,
    pub severity: i32,
    pub message: String,
    pub place: String,
    #[serde(default)]
    pub details: std::collections::BTreeMap<String, String>,
}

/// A world in effect for the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorldRecord {
    pub world: String,
    pub name: String,
    pub revision: u64,
    /// Opted in for proposals.
    pub dynamic: bool,
}

/// A profile without its texts, which are kept by content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptProfile {
    /// The texts are empty; `texts` names them, in the same order.
    pub segments: Vec<Segment>,
    pub texts: Vec<Digest>,
    pub options: in_chat::Options,
    /// The preset leaves out sections that callers added.
    #[serde(default)]
    pub replace: bool,
}

/// A profile with its texts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Profile {
    pub segments: Vec<Segment>,
    pub options: in_chat::Options,
    pub replace: bool,
}

// === impl RequestRecord ===

impl RequestRecord {
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::Internal(error.to_string()))
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes).map_err(|error| {
            Error::Store(crate::store::StoreError::Inconsistent {
                table: "requests",
                problem: error.to_string(),
            })
        })
    }
}

// === impl Profile ===

impl Profile {
    /// Splits the texts off, each to be kept once.
    pub(super) fn keep(&self) -> (KeptProfile, Vec<(Digest, String)>) {
        let mut texts = Vec::new();
        let segments = self
            .segments
            .iter()
            .map(|segment| {
                let digest = kernel::digest(segment.text.as_bytes());
                texts.push((digest, segment.text.clone()));
                Segment { text: String::new(), ..segment.clone() }
            })
            .collect();
        let named = texts.iter().map(|(digest, _)| *digest).collect();
        texts.sort();
        texts.dedup();
        let (options, replace) = (self.options.clone(), self.replace);
        (KeptProfile { segments, texts: named, options, replace }, texts)
    }
}

// === impl Ledger ===

impl Ledger {
    /// Puts the texts back.
    pub(super) async fn unkeep(
        &self,
        owner: &kernel::Owner,
        kept: &KeptProfile,
    ) -> Result<Profile> {
        let found = self.store().texts(owner, &kept.texts).await?;
        let texts: std::collections::HashMap<Digest, String> = found.into_iter().collect();
        let segments = kept.segments.iter().zip(&kept.texts).map(|(segment, digest)| {
            let text = texts.get(digest).cloned();
            let whole = text.filter(|text| kernel::digest(text.as_bytes()) == *digest);
            let text = whole.ok_or_else(|| {
                Error::Store(crate::store::StoreError::Inconsistent {
                    table: "segment_texts",
                    problem: format!("{digest} is missing or damaged"),
                })
            })?;
            Ok(Segment { text, ..segment.clone() })
        });
        let segments = segments.collect::<Result<_>>()?;
        Ok(Profile { segments, options: kept.options.clone(), replace: kept.replace })
    }
}
