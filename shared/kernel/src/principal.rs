//! Who is asking: a tenant, a subject and the scopes that a token gave.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::{Subject, TenantId};

/// What a token allows beyond using one's own resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// A service of Skald itself, acting for the principal that it names.
    Mesh,
    /// May author turns as `SYSTEM`.
    AuthorSystem,
    /// Context it adds is the platform's.
    TierPlatform,
    /// Context it adds is an agent's.
    TierAgent,
    /// Context it adds is a worker's.
    TierWorker,
}

/// The pair that leads every row and filters every query.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Owner {
    pub tenant: TenantId,
    pub subject: Subject,
}

/// An authenticated caller. Grants are not here: they belong to the tenant and are held by the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    pub owner: Owner,
    pub scopes: BTreeSet<Scope>,
}

// === impl Scope ===

impl Scope {
    pub const ALL: [Scope; 5] =
        [Self::Mesh, Self::AuthorSystem, Self::TierPlatform, Self::TierAgent, Self::TierWorker];

    /// The name used in token files and headers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mesh => "mesh",
            Self::AuthorSystem => "author_system",
            Self::TierPlatform => "tier:platform",
            Self::TierAgent => "tier:agent",
            Self::TierWorker => "tier:worker",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

// === impl Principal ===

impl Principal {
    pub fn new(
        tenant: TenantId,
        subject: Subject,
        scopes: impl IntoIterator<Item = Scope>,
    ) -> Self {
        Self { owner: Owner { tenant, subject }, scopes: scopes.into_iter().collect() }
    }

    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}
