//! Who wrote an event, and the gate that decides who a caller may say it was (seeds-notes 3.8).

use kernel::{Principal, Scope, Subject};
use prompt::derive::Tier;
use serde::{Deserialize, Serialize};

/// The stamped writer of an event: how far it is trusted, who it authenticated as, whom it speaks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Actor {
    pub tier: Tier,
    pub subject: Subject,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
}

/// Whom a caller says it speaks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Claim {
    /// The signed-in user, through a tool protocol.
    Mcp,
    /// One run of a script.
    Script { execution: String },
    /// An agent by its path.
    Agent { path: String },
    /// A worker by its name.
    Worker { name: String },
    /// Somebody on a chat channel: `slack`, `telegram`, `email`, `github`, …
    Channel { channel: String, name: String },
    /// A signed-in user.
    User { subject: Subject },
    /// A service of the house itself: what the ledger does on its own account.
    Service { name: String },
}

/// The claim may not be made by a caller of this tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a caller of tier {} may not speak for {claim}", .tier.name())]
pub struct NotClaimable {
    pub tier: Tier,
    pub claim: &'static str,
}

/// Decides the actor of a caller's write. An agent's claim that it may not make is replaced by its own
/// name; the others are refused.
pub fn gate(principal: &Principal, claim: Option<Claim>) -> Result<Actor, NotClaimable> {
    let tier = tier_of(principal);
    let subject = principal.owner.subject.clone();
    let own = || match tier {
        Tier::Agent => Some(Claim::Agent { path: subject.to_string() }),
        Tier::Worker => Some(Claim::Worker { name: subject.to_string() }),
        Tier::Owner | Tier::Platform => None,
    };
    let claim = match (tier, claim) {
        (_, None) => own(),
        (Tier::Platform, claim) => claim,
        (Tier::Owner, Some(Claim::Mcp)) => Some(Claim::Mcp),
        (Tier::Agent, Some(claim @ Claim::Script { .. })) => Some(claim),
        (Tier::Agent, Some(_)) => own(),
        (Tier::Worker, Some(claim @ (Claim::Worker { .. } | Claim::Channel { .. }))) => Some(claim),
        (tier, Some(claim)) => return Err(NotClaimable { tier, claim: claim.name() }),
    };
    Ok(Actor { tier, subject, claim })
}

/// The tier of a caller: the highest of its scopes, else the owner's.
pub fn tier_of(principal: &Principal) -> Tier {
    let scoped = [
        (Scope::TierPlatform, Tier::Platform),
        (Scope::TierAgent, Tier::Agent),
        (Scope::TierWorker, Tier::Worker),
    ];
    let found = scoped.into_iter().find(|(scope, _)| principal.has(*scope));
    found.map_or(Tier::Owner, |(_, tier)| tier)
}

// === impl Actor ===

impl Actor {
    /// What the ledger does for somebody on its own account.
    pub fn service(subject: Subject, name: &str) -> Self {
        let claim = Some(Claim::Service { name: name.to_owned() });
        Self { tier: Tier::Platform, subject, claim }
    }

    /// How it is named in the context: `agent:/writer`, `slack:misha`.
    pub fn label(&self) -> String {
        match &self.claim {
            None => format!("{}:{}", self.tier.name(), self.subject),
            Some(Claim::Mcp) => format!("mcp:{}", self.subject),
            Some(Claim::Script { execution }) => format!("script:{execution}"),
            Some(Claim::Agent { path }) => format!("agent:{path}"),
            Some(Claim::Worker { name }) => format!("worker:{name}"),
            Some(Claim::Channel { channel, name }) => format!("{channel}:{name}"),
            Some(Claim::User { subject }) => format!("user:{subject}"),
            Some(Claim::Service { name }) => format!("service:{name}"),
        }
    }

    /// The stored form, which the chain covers.
    pub fn to_stored(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub fn from_stored(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

// === impl Claim ===

impl Claim {
    const fn name(&self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Script { .. } => "a script",
            Self::Agent { .. } => "an agent",
            Self::Worker { .. } => "a worker",
            Self::Channel { .. } => "a channel",
            Self::User { .. } => "a signed-in user",
            Self::Service { .. } => "a service",
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::TenantId;

    use super::*;

    #[track_caller]
    fn check(scopes: &[Scope], claim: Option<Claim>, expected: Result<&str, ()>) {
        let subject = Subject::new("me").expect("a subject");
        let tenant = TenantId::new("t").expect("a tenant");
        let principal = Principal::new(tenant, subject, scopes.iter().copied());
        let actor = gate(&principal, claim);
        assert_eq!(actor.map(|actor| actor.label()).map_err(|_| ()), expected.map(str::to_owned));
    }

    fn channel() -> Option<Claim> {
        Some(Claim::Channel { channel: "slack".into(), name: "misha".into() })
    }

    fn script() -> Option<Claim> {
        Some(Claim::Script { execution: "x1".into() })
    }

    fn user() -> Option<Claim> {
        Some(Claim::User { subject: Subject::new("you").expect("a subject") })
    }

    #[test]
    fn an_owner_is_itself_and_may_say_that_it_came_through_a_tool_protocol() {
        check(&[], None, Ok("owner:me"));
        check(&[], Some(Claim::Mcp), Ok("mcp:me"));
        check(&[], channel(), Err(()));
        check(&[], user(), Err(()));
    }

    #[test]
    fn an_agent_may_name_its_script_and_is_renamed_to_itself_otherwise() {
        check(&[Scope::TierAgent], script(), Ok("script:x1"));
        check(&[Scope::TierAgent], channel(), Ok("agent:me"));
        check(&[Scope::TierAgent], user(), Ok("agent:me"));
    }

    #[test]
    fn a_worker_relays_channels_but_is_no_signed_in_user() {
        check(&[Scope::TierWorker], None, Ok("worker:me"));
        check(&[Scope::TierWorker], channel(), Ok("slack:misha"));
        check(&[Scope::TierWorker], user(), Err(()));
        check(&[Scope::TierWorker], script(), Err(()));
    }

    #[test]
    fn the_platform_is_not_gated() {
        check(&[Scope::TierPlatform], user(), Ok("user:you"));
        check(&[Scope::TierPlatform, Scope::TierWorker], script(), Ok("script:x1"));
    }
}
