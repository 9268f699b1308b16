//! IN_CHAT: the preset's prompts, card and lore as SillyTavern places them (reference B3).

use std::sync::Arc;

use macros::Field;
use prompt::{Placement, Role, SegmentKind, in_chat::Options};

use super::{
    examples, fields,
    input::{GenerationType, Input, LoreEntry},
    lore::{self, Lore},
    note::{self, Note},
    profile::{Composed, Piece, prompt_place},
    text::{Expander, Reading, Text},
};
use crate::{
    diagnostic::{Code, Diagnostic},
    preset::{Injection, OrderEntry, Ordered, Preset, Prompt},
    selection::NotePosition,
};

mod depth;
mod lines;
mod order;

use depth::Depths;

/// SillyTavern's own relative prompts: sent whatever `system_prompt` says.
const OWN: [&str; 9] = [
    "worldInfoBefore",
    "main",
    "worldInfoAfter",
    "charDescription",
    "charPersonality",
    "scenario",
    "personaDescription",
    "nsfw",
    "jailbreak",
];

/// One place of the order with its text.
#[derive(Debug)]
struct Slot<'p> {
    identifier: &'p str,
    key: Arc<str>,
    kind: SegmentKind,
    role: Role,
    /// The role is somebody's word; without it SillyTavern finds no place inside the history.
    has_role: bool,
    injection: Injection,
    /// Sent where it is relative.
    sendable: bool,
    text: Text,
}

struct Composer<'p, 'i> {
    input: &'i Input,
    preset: &'p Preset,
    lore: Lore<'i>,
    expander: Expander<'i>,
    slots: Vec<Slot<'p>>,
    /// A prompt without a text stood here whose role keeps its neighbours from being squashed.
    parted: bool,
    /// Keys of the segments behind such prompts.
    apart: Vec<String>,
    out: Composed,
}

/// Composes the segments of one request.
pub(super) fn compose<'i>(
    input: &'i Input,
    preset: &Preset,
    entries: &[&'i LoreEntry],
) -> Composed {
    let lore = Lore::sorted(entries, input.mode);
    let mut expander = Expander::new(input);
    expander.outlets = lore.outlets();
    match &input.prepared {
        Some(prepared) => expander.resume(prepared),
        None => fields::expand(input, preset, &mut expander),
    }
    lore.report(preset, &mut expander);
    let mut composer = Composer {
        input,
        preset,
        lore,
        expander,
        slots: Vec::new(),
        parted: false,
        apart: Vec::new(),
        out: Composed::default(),
    };
    let in_formats = composer.in_formats();
    composer.walk();
    composer.fill(in_formats);
    let note = Note::of(input, false, &mut composer.expander);
    note.report_absent(&composer.lore, &mut composer.expander);
    composer.place(&note);
    composer.finish()
}

// === impl Composer ===

impl<'p, 'i> Composer<'p, 'i> {
    /// Lays everything out around the history.
    fn place(&mut self, note: &Note) {
        let slots = std::mem::take(&mut self.slots);
        let history = slots.iter().position(|slot| slot.identifier == "chatHistory");
        let note_text = note.with_lore(&self.lore.note_top, &self.lore.note_bottom);
        let mut depths = Depths::default();
        let mut note_placed = note_text.is_blank() || note.position == NotePosition::InChat;
        for (at, slot) in slots.into_iter().enumerate() {
            let side = match history {
                Some(history) if at > history => Placement::After,
                _ => Placement::Before,
            };
            match slot.identifier {
                "chatHistory" => self.open_history(),
                "dialogueExamples" => self.examples(side),
                "main" => {
                    note_placed = true;
                    self.main(slot, side, note, &note_text, &mut depths);
                }
                _ => self.slot(slot, side, &mut depths),
            }
        }
        if !note_placed {
            self.expander.say(Code::AuthorNoteNotPlaced, note::KEY);
        }
        if note.position == NotePosition::InChat {
            depths.extension("2_floating_prompt", note.depth, note.role, note_text);
        }
        self.depth_lore(&mut depths);
        self.in_chat(depths, history.is_some());
        if !self.is_on("dialogueExamples") {
            self.report_missing_examples();
        }
        self.control();
    }

    /// `main` with a note right before or behind it.
    fn main(
        &mut self,
        slot: Slot<'p>,
        side: Placement,
        note: &Note,
        note_text: &Text,
        depths: &mut Depths,
    ) {
        let beside = note.position != NotePosition::InChat && !note_text.is_blank();
        let before = beside && note.position == NotePosition::BeforeMain;
        let after = beside && note.position == NotePosition::AfterMain;
        let main = (slot.injection, slot.role);
        if before {
            self.note(main, side, note, note_text, depths);
        }
        self.slot(slot, side, depths);
        if after {
            self.note(main, side, note, note_text, depths);
        }
    }

    /// Beside an in-chat `main` the note is part of its message, role included (reference B3.6).
    fn note(
        &mut self,
        main: (Injection, Role),
        side: Placement,
        note: &Note,
        text: &Text,
        depths: &mut Depths,
    ) {
        match main.0 {
            Injection::Absolute { depth: Some(depth), order } => {
                depths.prompt(depth, order, main.1, text.clone());
            }
            Injection::Absolute { depth: None, .. } => {
                self.expander.say(Code::AuthorNoteNotPlaced, note::KEY);
            }
            Injection::Relative => {
                let kind = SegmentKind::AuthorNote;
                let piece = Piece::new(note::KEY, kind, note.role, text.clone()).at(side);
                self.push(piece);
            }
        }
    }

    fn slot(&mut self, slot: Slot<'p>, side: Placement, depths: &mut Depths) {
        if slot.text.is_empty() {
            let stands_here = slot.sendable && slot.injection == Injection::Relative;
            self.parted |= stands_here && slot.role != Role::System;
            return;
        }
        match slot.injection {
            Injection::Relative if slot.sendable => {
                let piece = Piece::new(slot.key, slot.kind, slot.role, slot.text).at(side);
                self.push(piece);
            }
            Injection::Relative => self.expander.say(Code::PromptNotSent, slot.identifier),
            Injection::Absolute { depth: Some(_), .. } if !slot.has_role => {
                self.expander.say(Code::PromptNotSent, slot.identifier);
            }
            Injection::Absolute { depth: Some(depth), order } => {
                depths.prompt(depth, order, slot.role, slot.text);
            }
            Injection::Absolute { depth: None, .. } => {
                let said = Diagnostic::new(Code::PromptDepthInvalid, slot.identifier);
                self.expander.diagnostics.push(said.with("sent", "no"));
            }
        }
    }

    /// The card's depth prompt and lore at depths.
    fn depth_lore(&mut self, depths: &mut Depths) {
        if let Some(wanted) =
            self.input.character.as_ref().and_then(|c| c.model.depth_prompt.as_ref())
        {
            let text = self.expander.fields.depth_prompt.clone();
            depths.extension("DEPTH_PROMPT", wanted.depth, wanted.role, text);
        }
        for block in &self.lore.at_depth {
            let number = match block.role {
                Role::System | Role::Developer => 0,
                Role::User => 1,
                Role::Assistant => 2,
            };
            let key = format!("customDepthWI_{}_{number}", block.depth);
            depths.extension(&key, block.depth, block.role, lore::block(&block.entries));
        }
    }

    fn in_chat(&mut self, depths: Depths, history: bool) {
        if !history {
            let lost = depths.from();
            let said = Diagnostic::new(Code::ChatHistoryNotPlaced, "chatHistory");
            self.expander.diagnostics.push(said.with("lost", lost.join(", ")));
            return;
        }
        for (depth, order, role, text) in depths.merged() {
            let key = format!("depth:{depth}:{order}:{}", role.name());
            let kind = match text.from.as_slice() {
                [only] if **only == *note::KEY => SegmentKind::AuthorNote,
                from if from.iter().all(|from| from.starts_with("lore:")) => SegmentKind::Lore,
                from if from.iter().all(|from| from.starts_with("character:")) => {
                    SegmentKind::CharacterField
                }
                _ => SegmentKind::Prompt,
            };
            self.push(Piece::new(key, kind, role, text).at(Placement::InChat { depth }));
        }
    }

    /// Whether the prompt takes part.
    fn is_on(&self, identifier: &str) -> bool {
        let mut lines = self.preset.order.iter().filter(|entry| entry.identifier == identifier);
        lines.any(|entry| entry.enabled)
            && self
                .preset
                .prompt(identifier)
                .is_some_and(|prompt| prompt.triggered_by(self.input.generation.name()))
    }

    /// Whether the message to continue comes last, before the line that asks for it.
    fn nudges(&self) -> bool {
        self.input.generation == GenerationType::Continue
            && !self.preset.chat.continue_prefill
            && self.is_on("chatHistory")
    }

    /// A message that may be squashed with its neighbours.
    fn push(&mut self, piece: Piece) {
        let squash = piece.role == Role::System && piece.name.is_none();
        if std::mem::take(&mut self.parted) && squash && self.preset.chat.squash_system_messages {
            self.apart.push(piece.key.as_ref().to_owned());
        }
        self.out.push(Piece { squash, ..piece });
    }

    fn finish(mut self) -> Composed {
        let chat = &self.preset.chat;
        let send_if_empty = self.expander.expand("send_if_empty", &chat.send_if_empty).text;
        self.out.chat = Options {
            names: chat.names,
            squash: chat.squash_system_messages,
            history: self.is_on("chatHistory"),
            user: self.input.user_name().to_owned(),
            char: self.input.character_name().to_owned(),
            send_if_empty,
            continue_prefill: chat.continue_prefill
                && self.input.generation == GenerationType::Continue,
            continue_nudge: self.nudges(),
            apart: self.apart,
        };
        self.out.variables = self.expander.variables;
        self.out.diagnostics = self.expander.diagnostics;
        self.out
    }
}

// === impl Slot ===

impl<'p> Slot<'p> {
    fn of(prompt: &'p Prompt, place: &Arc<str>, text: Text) -> Self {
        let identifier = prompt.identifier.as_str();
        let own = OWN.contains(&identifier) || identifier == "enhanceDefinitions";
        Self {
            identifier,
            key: super::profile::prompt_key(place),
            kind: SegmentKind::Prompt,
            role: prompt.role.unwrap_or(Role::System),
            has_role: prompt.role.is_some(),
            injection: prompt.injection,
            sendable: own || prompt.system_prompt == Some(false),
            text,
        }
    }
}
