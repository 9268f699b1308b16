//! What is asked of the model beside the text: stored with the request, and sent.

use kernel::limits::STOPS_MAX;
use serde::{Deserialize, Serialize};

use super::input::Input;
use crate::{
    diagnostic::{Code, Diagnostic},
    preset::Sampling,
};

/// SillyTavern's length of a reply, where a preset names none (reference B1).
const REPLY_TOKENS_DEFAULT: u32 = 300;

/// Sampling and limits. What is `None` is not sent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
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
    pub frequency_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition_penalty: Option<f64>,
    /// Tokens of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<String>,
}

/// The model's window or the preset's, whichever is smaller; 0 if neither is known.
pub fn window_tokens(input: &Input) -> u32 {
    let preset = input.preset.as_ref().and_then(|preset| preset.model.sampling.max_context);
    let known = [Some(input.model.window_tokens), preset];
    known.into_iter().flatten().filter(|&tokens| tokens > 0).min().unwrap_or(0)
}

/// Tokens kept for the reply: the base of the lore budget is the window less these. None without a
/// preset and without an override.
pub fn reply_tokens(input: &Input) -> Option<u32> {
    let preset = input.preset.as_ref().map(|preset| {
        let named = preset.model.sampling.max_tokens.filter(|&tokens| tokens > 0);
        named.unwrap_or(REPLY_TOKENS_DEFAULT)
    });
    input.overrides.max_tokens.filter(|&tokens| tokens > 0).or(preset)
}

/// The preset's sampling under the session's own.
pub(super) fn call_config(input: &Input, said: &mut Vec<Diagnostic>) -> CallConfig {
    let none = Sampling::default();
    let preset = input.preset.as_ref().map_or(&none, |preset| &preset.model.sampling);
    let own = &input.overrides;
    if let Some(preset) = &input.preset
        && !preset.model.chat.assistant_prefill.is_empty()
    {
        said.push(Diagnostic::new(Code::AssistantPrefillNotSent, "preset"));
    }
    if own.n.or(preset.n).is_some_and(|n| n > 1) {
        said.push(Diagnostic::new(Code::ChoicesNotSent, "preset"));
    }
    CallConfig {
        temperature: own.temperature.or(preset.temperature),
        top_p: own.top_p.or(preset.top_p),
        top_k: own.top_k.or(preset.top_k).map(|k| k.round() as u32),
        top_a: own.top_a.or(preset.top_a),
        min_p: own.min_p.or(preset.min_p),
        frequency_penalty: own.frequency_penalty.or(preset.frequency_penalty),
        presence_penalty: own.presence_penalty.or(preset.presence_penalty),
        repetition_penalty: own.repetition_penalty.or(preset.repetition_penalty),
        max_tokens: reply_tokens(input),
        seed: own.seed.or(preset.seed).and_then(|seed| u64::try_from(seed).ok()),
        stop: stop(if own.stop.is_empty() { &preset.stop } else { &own.stop }, said),
        reasoning_effort: word(own.reasoning_effort.as_ref().or(preset.reasoning_effort.as_ref())),
        verbosity: word(own.verbosity.as_ref().or(preset.verbosity.as_ref())),
    }
}

fn stop(sequences: &[String], said: &mut Vec<Diagnostic>) -> Vec<String> {
    let usable: Vec<&String> = sequences.iter().filter(|stop| !stop.is_empty()).collect();
    if usable.len() > STOPS_MAX {
        said.push(
            Diagnostic::new(Code::StopLimited, "preset")
                .with("limit", STOPS_MAX)
                .with("named", usable.len()),
        );
    }
    usable.into_iter().take(STOPS_MAX).cloned().collect()
}

/// `auto` and nothing mean the provider's own choice.
fn word(word: Option<&String>) -> Option<String> {
    word.filter(|word| !word.is_empty() && *word != "auto").cloned()
}
