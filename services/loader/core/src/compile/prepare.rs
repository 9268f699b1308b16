//! The step before the lore: card and persona texts, expanded once, for scanning and for macros.

use macros::Variables;

use super::{
    fields::{self, Fields},
    input::Input,
    text::Expander,
};
use crate::{diagnostic::Diagnostic, preset::Preset};

/// Expanded fields, and the variables behind them. The lore is activated with these, and the compile
/// goes on from there, so that no field is evaluated twice.
#[derive(Debug, Clone, Default)]
pub struct Prepared {
    pub(super) fields: Fields,
    pub(super) variables: Variables,
    pub(super) frozen: Option<Variables>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Expands the selection's fields. Reads everything of the input but the lore.
pub fn prepare(input: &Input) -> Prepared {
    let preset = input.preset.as_ref().map(|preset| preset.model.as_ref());
    let preset = preset.unwrap_or_else(|| Preset::shipped());
    let mut expander = Expander::new(input);
    fields::expand(input, preset, &mut expander);
    expander.pause()
}

// === impl Prepared ===

impl Prepared {
    pub fn description(&self) -> &str {
        &self.fields.description.text
    }

    pub fn personality(&self) -> &str {
        &self.fields.personality.text
    }

    pub fn scenario(&self) -> &str {
        &self.fields.scenario.text
    }

    pub fn persona(&self) -> &str {
        &self.fields.persona.text
    }

    pub fn message_example(&self) -> &str {
        &self.fields.examples.text
    }

    pub fn depth_prompt(&self) -> &str {
        &self.fields.depth_prompt.text
    }

    /// After the fields; the lore's macros go on from here.
    pub fn variables(&self) -> &Variables {
        &self.variables
    }
}
