//! What a session is set to; `UpdateSession` changes it as a whole (20-ledger, section 2).

use kernel::limits;
use prompt::ProfileMode;
use serde::{Deserialize, Serialize};

/// The settings of one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// None: generation answers that no provider is configured, everything else works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelChoice>,
    pub profile_mode: ProfileMode,
    pub on_overflow: OnOverflow,
    /// Drift after which a depth or post-history segment lands again.
    pub refresh_tokens: u32,
    pub proposal: ProposalSettings,
    pub effects: EffectSettings,
    pub assistant_first: AssistantFirst,
}

/// A model by provider and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelChoice {
    pub provider: String,
    pub name: String,
    pub window_tokens: u32,
}

/// What happens when a request nears the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnOverflow {
    #[default]
    Compact,
    TrimOldest,
    Refuse,
}

/// Whether finished turns are judged, and how long `done` waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposalSettings {
    pub agent: bool,
    pub wait_ms: i64,
    /// None: the session's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelChoice>,
}

/// Effects of lived turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectSettings {
    pub affect: bool,
    pub memory: bool,
}

/// What happens to a history that begins with the assistant where the provider wants the user first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AssistantFirst {
    /// The adapter adds one fixed user block and the record says so.
    #[default]
    Normalize,
    /// The opening is refused when it is written.
    Refuse,
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            title: None,
            model: None,
            profile_mode: ProfileMode::default(),
            on_overflow: OnOverflow::default(),
            refresh_tokens: limits::REFRESH_TOKENS_DEFAULT,
            proposal: ProposalSettings {
                agent: true,
                wait_ms: limits::PROPOSAL_WAIT_MS_DEFAULT,
                model: None,
            },
            effects: EffectSettings::default(),
            assistant_first: AssistantFirst::default(),
        }
    }
}
