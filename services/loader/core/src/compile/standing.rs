//! JOURNAL and CONTRACT: every piece once, in its marker's place or in the fixed fallback order.
//!
//! Both share one composition. JOURNAL lands each piece as a section of its own and keeps where it
//! wants to be; CONTRACT flattens them into one profile and says what that approximates.

use std::{
    collections::BTreeSet,
    sync::{Arc, LazyLock},
};

use macros::Field;
use prompt::{Placement, ProfileMode, Role, SegmentKind};

use super::{
    fields,
    input::{Input, LoreEntry, LorePosition},
    lore::Lore,
    note::{self, Note},
    profile::{Composed, Piece, prompt_key, prompt_place},
    text::{Expander, Reading, Text},
};
use crate::{
    diagnostic::{Code, Diagnostic},
    preset::{Injection, Ordered, Preset, Prompt},
    selection::NotePosition,
};

mod pieces;
mod render;

use pieces::Slot;

/// A piece with the element around it.
struct Wrapped<'p> {
    piece: Piece,
    label: Label<'p>,
}

/// What the element says of its piece.
enum Label<'p> {
    Prompt { identifier: &'p str },
    CharacterField { name: &'static str },
    UserField { name: &'static str },
    Lore { position: &'static str },
}

struct Composer<'p, 'i> {
    input: &'i Input,
    preset: Option<&'p Preset>,
    lore: Lore<'i>,
    note: Note,
    expander: Expander<'i>,
    /// Placed, dropped or suppressed: no fallback any more.
    settled: BTreeSet<Slot>,
    behind_history: bool,
    /// Some lore fired, wherever it went.
    has_lore: bool,
    pieces: Vec<Wrapped<'p>>,
}

/// Composes the profile of one request.
pub(super) fn compose<'i>(
    input: &'i Input,
    preset: Option<&Preset>,
    entries: &[&'i LoreEntry],
) -> Composed {
    let lore = Lore::sorted(entries, input.mode);
    let mut expander = Expander::new(input);
    expander.outlets = lore.outlets();
    // With no preset selected no prompt takes part, and what a preset says besides is as shipped.
    static NO_PROMPTS: LazyLock<Preset> =
        LazyLock::new(|| Preset { prompts: Vec::new(), order: Vec::new(), ..Preset::default() });
    let shown = preset.unwrap_or_else(|| &NO_PROMPTS);
    match &input.prepared {
        Some(prepared) => expander.resume(prepared),
        None => fields::expand(input, shown, &mut expander),
    }
    let stays = input.mode == ProfileMode::Journal && input.live.contains_key(note::KEY);
    let note = Note::of(input, stays, &mut expander);
    note.report_absent(&lore, &mut expander);
    lore.report(shown, &mut expander);
    let expected = preset.map_or(0, |preset| preset.order.len()) + entries.len();
    let mut composer = Composer {
        input,
        preset,
        lore,
        note,
        expander,
        settled: BTreeSet::new(),
        behind_history: false,
        has_lore: !entries.is_empty(),
        pieces: Vec::with_capacity(expected),
    };
    composer.gather_lore();
    composer.suppress();
    composer.walk();
    composer.fall_back();
    match input.mode {
        ProfileMode::Contract => composer.contract(),
        ProfileMode::Journal | ProfileMode::InChat => composer.journal(),
    }
}

// === impl Composer: the order ===

impl<'p> Composer<'p, '_> {
    fn walk(&mut self) {
        let Some(preset) = self.preset else { return };
        for (entry, found) in preset.ordered() {
            let identifier = entry.identifier.as_str();
            let prompt = match found {
                Ordered::Prompt(prompt) => prompt,
                Ordered::Again => {
                    self.expander.say(Code::PromptDuplicated, identifier);
                    continue;
                }
                Ordered::Unknown => {
                    self.expander.say(Code::PromptUnknown, identifier);
                    continue;
                }
            };
            let triggered = prompt.triggered_by(self.input.generation.name());
            if entry.enabled && triggered {
                self.enabled(prompt);
            } else {
                if entry.enabled {
                    self.expander.say(Code::PromptNotTriggered, identifier);
                }
                self.disabled(identifier);
            }
        }
    }

    fn enabled(&mut self, prompt: &'p Prompt) {
        match prompt.identifier.as_str() {
            "chatHistory" => self.behind_history = true,
            "main" => self.main(prompt),
            "jailbreak" => {
                self.overridable(prompt, Slot::PostHistory);
            }
            identifier => match Slot::of_marker(identifier) {
                Some(slot) => self.slot(slot, Some(prompt)),
                None => self.prompt(prompt),
            },
        }
    }

    /// What a switched-off place held is dropped, never moved.
    fn disabled(&mut self, identifier: &str) {
        let slot = match identifier {
            "main" => Some(Slot::SystemPrompt),
            "jailbreak" => Some(Slot::PostHistory),
            _ => Slot::of_marker(identifier),
        };
        if let Some(slot) = slot.filter(|&slot| !self.settled.contains(&slot)) {
            self.drop_slot(slot, identifier);
        }
    }

    fn prompt(&mut self, prompt: &'p Prompt) {
        if prompt.marker && prompt.content.is_empty() {
            self.expander.say(Code::MarkerUnknown, &prompt.identifier);
            return;
        }
        let place = prompt_place(&prompt.identifier);
        let text = self.expander.expand(place.clone(), &prompt.content);
        self.settle_macros();
        self.push_prompt(prompt, &place, text);
    }

    fn main(&mut self, prompt: &'p Prompt) {
        if self.note.position == NotePosition::BeforeMain {
            self.slot(Slot::AuthorNote, None);
        }
        self.overridable(prompt, Slot::SystemPrompt);
        if self.note.position == NotePosition::AfterMain {
            self.slot(Slot::AuthorNote, None);
        }
    }

    /// A prompt that the card may replace; `{{original}}` gives the preset's text.
    fn overridable(&mut self, prompt: &'p Prompt, slot: Slot) {
        let place = prompt_place(&prompt.identifier);
        let text = self.expander.expand(place.clone(), &prompt.content);
        self.settle_macros();
        let own = self.own_text(slot);
        let wanted = !own.trim().is_empty() && !self.settled.contains(&slot);
        if wanted && prompt.forbid_overrides {
            self.settled.insert(slot);
            self.expander.say(slot.forbidden(), &prompt.identifier);
        }
        let mut text = text;
        if wanted && !prompt.forbid_overrides {
            let reading = Reading { original: Some(&text.text), ..Reading::default() };
            let replaced = self.expander.expand_in(&slot.place(), &own.into(), reading);
            self.settled.insert(slot);
            self.settle_macros();
            if !replaced.is_blank() {
                text = replaced;
            }
            if slot == Slot::PostHistory && self.is_contract() {
                self.expander
                    .say(Code::CharacterPostHistoryPositionApproximated, &prompt.identifier);
            }
        }
        self.settled.insert(slot);
        self.push_prompt(prompt, &place, text);
    }

    fn push_prompt(&mut self, prompt: &'p Prompt, place: &Arc<str>, text: Text) {
        if text.is_blank() {
            return;
        }
        let identifier = prompt.identifier.as_str();
        let role = prompt.role.unwrap_or(Role::System);
        let placement = match prompt.injection {
            Injection::Absolute { depth: Some(depth), .. } => Placement::InChat { depth },
            Injection::Absolute { depth: None, .. } => {
                let depth = Injection::DEPTH_DEFAULT;
                let said = Diagnostic::new(Code::PromptDepthInvalid, identifier);
                self.expander.diagnostics.push(said.with("sent", format!("at depth {depth}")));
                Placement::InChat { depth }
            }
            Injection::Relative if self.behind_history => Placement::After,
            Injection::Relative => Placement::Before,
        };
        if self.is_contract() {
            if placement != Placement::Before {
                self.expander.say(Code::PromptPositionApproximated, identifier);
            }
            if role != Role::System {
                self.expander.say(Code::PromptRoleApproximated, identifier);
            }
        }
        let piece = Piece::new(prompt_key(place), SegmentKind::Prompt, role, text).at(placement);
        self.pieces.push(Wrapped { piece, label: Label::Prompt { identifier } });
    }

    /// Fields that a prompt's macros have placed get no second place.
    fn settle_macros(&mut self) {
        let used = &self.expander.used;
        self.settled.extend(used.iter().filter_map(|&field| Slot::of_field(field)));
    }

    fn is_contract(&self) -> bool {
        self.input.mode == ProfileMode::Contract
    }
}
