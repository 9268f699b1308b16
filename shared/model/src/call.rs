//! The sampling parameters of one call; stored with the request and sent.

use serde::{Deserialize, Serialize};

/// What a preset or a caller asks of the sampler. Absent means the provider's own default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_a: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// As the provider words it: `low`, `max`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<String>,
}

/// One parameter of a [`CallConfig`]; a provider declares which it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parameter {
    Temperature,
    TopP,
    TopK,
    TopA,
    MinP,
    RepetitionPenalty,
    FrequencyPenalty,
    PresencePenalty,
    MaxTokens,
    Seed,
    Stop,
    ReasoningEffort,
    Verbosity,
}

// === impl CallConfig ===

impl CallConfig {
    /// Removes one parameter; tells whether that changes what the model does, which leaving out a
    /// value that switches its sampler off does not.
    pub fn remove(&mut self, parameter: Parameter) -> bool {
        match parameter {
            Parameter::Temperature => self.temperature.take().is_some_and(|at| at != 1.0),
            Parameter::TopP => self.top_p.take().is_some_and(|at| at != 1.0),
            Parameter::TopK => self.top_k.take().is_some_and(|at| at != 0),
            Parameter::TopA => self.top_a.take().is_some_and(|at| at != 0.0),
            Parameter::MinP => self.min_p.take().is_some_and(|at| at != 0.0),
            Parameter::RepetitionPenalty => {
                self.repetition_penalty.take().is_some_and(|at| at != 1.0)
            }
            Parameter::FrequencyPenalty => {
                self.frequency_penalty.take().is_some_and(|at| at != 0.0)
            }
            Parameter::PresencePenalty => self.presence_penalty.take().is_some_and(|at| at != 0.0),
            Parameter::MaxTokens => self.max_tokens.take().is_some(),
            Parameter::Seed => self.seed.take().is_some(),
            Parameter::Stop => !std::mem::take(&mut self.stop).is_empty(),
            Parameter::ReasoningEffort => self.reasoning_effort.take().is_some(),
            Parameter::Verbosity => self.verbosity.take().is_some(),
        }
    }
}

// === impl Parameter ===

impl Parameter {
    pub const ALL: [Parameter; 13] = [
        Self::Temperature,
        Self::TopP,
        Self::TopK,
        Self::TopA,
        Self::MinP,
        Self::RepetitionPenalty,
        Self::FrequencyPenalty,
        Self::PresencePenalty,
        Self::MaxTokens,
        Self::Seed,
        Self::Stop,
        Self::ReasoningEffort,
        Self::Verbosity,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::TopP => "top_p",
            Self::TopK => "top_k",
            Self::TopA => "top_a",
            Self::MinP => "min_p",
            Self::RepetitionPenalty => "repetition_penalty",
            Self::FrequencyPenalty => "frequency_penalty",
            Self::PresencePenalty => "presence_penalty",
            Self::MaxTokens => "max_tokens",
            Self::Seed => "seed",
            Self::Stop => "stop",
            Self::ReasoningEffort => "reasoning_effort",
            Self::Verbosity => "verbosity",
        }
    }
}
