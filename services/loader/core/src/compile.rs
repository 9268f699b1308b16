//! One pure function from a selection and what fired to a profile (30-loader, section 4).
//!
//! Order: fields, lore, the preset's prompts one by one, composition, budget, audit. The mode decides
//! the composition: `in_chat` sends what SillyTavern would; `standing` serves JOURNAL and CONTRACT.

pub mod audit;
pub mod call_config;
pub mod input;
pub mod prepare;
pub mod profile;

mod budget;
mod examples;
mod fields;
mod in_chat;
mod lore;
mod note;
mod standing;
mod text;

use kernel::digest;
use prompt::{ProfileMode, Role, SegmentKind, escape};

pub use audit::Audit;
pub use call_config::{CallConfig, reply_tokens, window_tokens};
pub use input::{
    GenerationType, Input, Loaded, LoreEntry, LorePosition, Message, Model, Names, World, lore_key,
};
pub use prepare::{Prepared, prepare};
pub use profile::{Origin, Profile};

use crate::{
    diagnostic::{Code, Diagnostic},
    preset::{OrderSource, Preset, PresetMode},
};
use profile::{Composed, Piece};
use text::Text;

/// Why a profile cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// `TAVERN_PROFILE_TOO_LARGE`: a preset, card or description is never cut in the middle.
    #[error("the profile has {bytes} bytes without any lore, at most {max} are allowed")]
    ProfileTooLarge { bytes: usize, max: usize },
}

/// Compiles a profile. Deterministic: equal inputs give equal profiles, byte for byte.
///
/// Cost: linear in the texts, and about log2(entries) times that where the budget leaves lore out.
pub fn compile(input: &Input) -> Result<Profile, CompileError> {
    let preset = input.preset.as_ref().map(|preset| preset.model.as_ref());
    let fitted = match input.mode {
        ProfileMode::InChat => {
            let preset = preset.unwrap_or_else(|| Preset::shipped());
            budget::fit(input, |lore| in_chat::compose(input, preset, lore))
        }
        ProfileMode::Journal | ProfileMode::Contract => {
            budget::fit(input, |lore| standing::compose(input, preset, lore))
        }
    }?;
    let mut composed = fitted.composed;
    push_rp_policy(input, &mut composed);

    let mut diagnostics = input.diagnostics.clone();
    about_preset(input, &mut diagnostics);
    let call_config = call_config::call_config(input, &mut diagnostics);
    diagnostics.append(&mut composed.diagnostics);
    let audit = Audit::new(input, &fitted.kept, composed.origins);
    let audit_json = audit.to_json();
    Ok(Profile {
        withdrawn: withdrawn(input, &composed.segments),
        segments: composed.segments,
        call_config,
        chat: composed.chat,
        preset_mode: preset_mode(input),
        diagnostics,
        fingerprint: digest(audit_json.as_bytes()),
        audit,
        audit_json,
        variables: composed.variables,
    })
}

/// A second section after the profile, outside of its budget (30-loader, section 2).
fn push_rp_policy(input: &Input, composed: &mut Composed) {
    let policy = input.rp_policy.as_deref().filter(|policy| !policy.trim().is_empty());
    let Some(policy) = policy else { return };
    let text = Text::new(policy, "rp:policy");
    let piece = Piece::new("rp:policy", SegmentKind::RpPolicy, Role::System, text);
    composed.push_as(piece, |piece| match input.mode {
        ProfileMode::InChat => piece.text.text.clone(),
        ProfileMode::Journal | ProfileMode::Contract => escape::text(&piece.text.text).into_owned(),
    });
}

fn about_preset(input: &Input, said: &mut Vec<Diagnostic>) {
    let Some(preset) = &input.preset else {
        if input.mode == ProfileMode::InChat {
            said.push(Diagnostic::new(Code::PresetDefaultUsed, "preset"));
        }
        return;
    };
    if preset.model.order_source == OrderSource::Legacy {
        said.push(Diagnostic::new(Code::PresetOrderFallback, "prompt_order"));
    }
    if preset.model.mode == PresetMode::Replace && input.mode == ProfileMode::Journal {
        said.push(Diagnostic::new(Code::PresetReplaceNotApplied, "preset"));
    }
}

fn preset_mode(input: &Input) -> PresetMode {
    match &input.preset {
        Some(preset) if input.mode != ProfileMode::Journal => preset.model.mode,
        _ => PresetMode::Append,
    }
}

/// Live sections that are no longer in effect. Lore that merely does not fire now stays, as long as
/// its entry is in effect and says what it said.
fn withdrawn(input: &Input, segments: &[prompt::Segment]) -> Vec<String> {
    if input.mode != ProfileMode::Journal || input.live.is_empty() {
        return Vec::new();
    }
    let present: std::collections::HashSet<&str> =
        segments.iter().map(|segment| segment.key.as_str()).collect();
    let in_effect = |key: &str| {
        let landed = input.live.get(key);
        let entry = input.live_lore.get(key);
        landed.zip(entry).is_some_and(|(landed, entry)| lore::still_holds(*landed, *entry))
    };
    let mut withdrawn: Vec<String> = input
        .live
        .keys()
        .filter(|key| !present.contains(key.as_str()) && !in_effect(key))
        .cloned()
        .collect();
    withdrawn.sort_unstable();
    withdrawn
}
