//! What a provider declares it can take; adaptation and the wire format follow it, nothing is guessed.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::call::Parameter;

/// The abilities of one provider. Recorded with each request, so that it can be adapted again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Abilities {
    pub developer: DeveloperRole,
    pub system: SystemRole,
    /// The first block behind the leading system blocks must be a user's.
    pub user_first: bool,
    /// Neighbouring blocks of one role must travel as one message; they do so as separate text parts.
    pub alternating: bool,
    pub names: Names,
    pub tools: ToolSupport,
    pub parameters: BTreeSet<Parameter>,
    pub temperature_max: f64,
    /// Streams take `stream_options {include_usage}`.
    pub stream_usage: bool,
    /// The limit is called `max_completion_tokens` (OpenAI's reasoning models).
    pub completion_tokens: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeveloperRole {
    /// There is one.
    Native,
    /// A developer block travels as a system block, in a `note`.
    System,
    /// A developer block travels as a user block, in a `note`.
    User,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemRole {
    Anywhere,
    /// Only ahead of all else; a later system block travels as a user block, in a `note`.
    Leading,
    /// Nowhere; every system block travels as a user block, in a `note`.
    Absent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Names {
    /// In a field of their own, of `[A-Za-z0-9_-]{1,64}`: OpenAI has it, and some servers refuse the request
    /// for it, so it is declared and never assumed.
    Field,
    /// At the beginning of the text: `Name: text`. Every model reads that.
    InText,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolSupport {
    /// A call can be forced by name.
    Forced,
    /// No tools, but output held to a JSON schema.
    JsonSchema,
    Absent,
}

/// The part of the abilities that a configuration states; what it leaves out is the kind's own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Declared {
    pub developer: Option<DeveloperRole>,
    pub system: Option<SystemRole>,
    pub user_first: Option<bool>,
    pub alternating: Option<bool>,
    pub names: Option<Names>,
    pub tools: Option<ToolSupport>,
    pub parameters: Option<BTreeSet<Parameter>>,
    pub temperature_max: Option<f64>,
    pub stream_usage: Option<bool>,
    pub completion_tokens: Option<bool>,
}

// === impl Abilities ===

impl Abilities {
    /// What OpenAI-compatible servers have in common: no developer role is assumed, since some of them
    /// drop it without a word, and no `name` field, since some of them refuse it.
    pub fn openai_compatible() -> Self {
        use Parameter::*;
        Self {
            developer: DeveloperRole::System,
            system: SystemRole::Anywhere,
            user_first: false,
            alternating: false,
            names: Names::InText,
            tools: ToolSupport::Forced,
            parameters: [
                Temperature,
                TopP,
                FrequencyPenalty,
                PresencePenalty,
                MaxTokens,
                Seed,
                Stop,
            ]
            .into(),
            temperature_max: 2.0,
            stream_usage: true,
            completion_tokens: false,
        }
    }

    /// Anthropic's Messages: one system prompt in front, the user first, roles in turn.
    pub fn anthropic() -> Self {
        use Parameter::*;
        Self {
            developer: DeveloperRole::User,
            system: SystemRole::Leading,
            user_first: true,
            alternating: true,
            names: Names::InText,
            tools: ToolSupport::Forced,
            parameters: [Temperature, TopP, TopK, MaxTokens, Stop].into(),
            temperature_max: 1.0,
            stream_usage: true,
            completion_tokens: false,
        }
    }

    /// Takes everything as it is.
    pub fn everything() -> Self {
        Self {
            developer: DeveloperRole::Native,
            names: Names::Field,
            parameters: Parameter::ALL.into(),
            ..Self::openai_compatible()
        }
    }

    /// These abilities with what a configuration states instead.
    #[must_use]
    pub fn declared(self, declared: &Declared) -> Self {
        Self {
            developer: declared.developer.unwrap_or(self.developer),
            system: declared.system.unwrap_or(self.system),
            user_first: declared.user_first.unwrap_or(self.user_first),
            alternating: declared.alternating.unwrap_or(self.alternating),
            names: declared.names.unwrap_or(self.names),
            tools: declared.tools.unwrap_or(self.tools),
            parameters: declared.parameters.clone().unwrap_or(self.parameters),
            temperature_max: declared.temperature_max.unwrap_or(self.temperature_max),
            stream_usage: declared.stream_usage.unwrap_or(self.stream_usage),
            completion_tokens: declared.completion_tokens.unwrap_or(self.completion_tokens),
        }
    }
}
