//! IN_CHAT: the preset's prompts, card and lore as SillyTavern places them (reference B3).

use std::collections::{HashMap, HashSet};

use macros::Field;
use prompt::{Placement, Role, SegmentKind, in_chat::Options};

use super::{
    examples, fields,
    input::{GenerationType, Input, LoreEntry},
    lore::{self, Lore},
    note::{self, Note},
    profile::{Composed, Piece},
    text::{Expander, Reading, Text},
};
use crate::{
    diagnostic::{Code, Diagnostic},
    preset::{Injection, Preset, Prompt},
    selection::NotePosition,
};

mod depth;

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
    key: String,
    kind: SegmentKind,
    role: Role,
    injection: Injection,
    /// Sent where it is relative.
    sendable: bool,
    text: Text,
}

/// A field on its way to its marker.
struct Filling<'p> {
    identifier: &'p str,
    key: &'p str,
    kind: SegmentKind,
    not_placed: Code,
    text: Text,
}

struct Composer<'p, 'i> {
    input: &'i Input,
    preset: &'p Preset,
    lore: Lore<'i>,
    expander: Expander<'i>,
    slots: Vec<Slot<'p>>,
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
    expander.outlets = lore.outlet_texts();
    fields::expand(input, preset, &mut expander);
    let note = Note::of(input, false, &mut expander);
    note.report_absent(&lore, &mut expander);
    lore.report(preset, &mut expander);
    let mut composer =
        Composer { input, preset, lore, expander, slots: Vec::new(), out: Composed::default() };
    composer.walk();
    composer.fill();
    composer.place(&note);
    composer.finish()
}

// === impl Composer ===

impl<'p, 'i> Composer<'p, 'i> {
    /// Expands the order's prompts, one after the other.
    fn walk(&mut self) {
        let prompts = self.preset.by_identifier();
        let mut seen = HashSet::new();
        for entry in &self.preset.order {
            let identifier = entry.identifier.as_str();
            if !seen.insert(identifier) {
                self.expander.say(Code::PromptDuplicated, identifier);
                continue;
            }
            let Some(&prompt) = prompts.get(identifier) else {
                self.expander.say(Code::PromptUnknown, identifier);
                continue;
            };
            if entry.enabled && prompt.triggered_by(self.input.generation.name()) {
                let text = self.prompt_text(prompt);
                self.slots.push(Slot::of(prompt, text));
            } else if identifier == "main" {
                // Stays as the anchor of what stands next to it.
                self.slots.push(Slot::of(prompt, Text::default()));
            }
        }
        self.report_lost_overrides();
    }

    /// A prompt's text, or the card's in its place.
    fn prompt_text(&mut self, prompt: &'p Prompt) -> Text {
        let place = format!("prompt:{}", prompt.identifier);
        let text = self.expander.expand(&place, &prompt.content);
        let Some((own, from)) = self.override_of(&prompt.identifier) else { return text };
        if prompt.forbid_overrides {
            return text;
        }
        let reading = Reading { original: Some(&text.text), ..Reading::default() };
        let replaced = self.expander.expand_in(from, own, reading);
        if replaced.is_blank() { text } else { replaced }
    }

    /// What the card wants in a prompt's place, unless the selection switches it off.
    fn override_of(&self, identifier: &str) -> Option<(&'i str, &'static str)> {
        let card = &self.input.character.as_ref()?.model;
        let options = &self.input.options;
        let (own, from, off) = match identifier {
            "main" => (
                &card.system_prompt,
                "character:system-prompt",
                options.ignore_character_system_prompt,
            ),
            "jailbreak" => (
                &card.post_history_instructions,
                "character:post-history-instructions",
                options.ignore_character_post_history,
            ),
            _ => return None,
        };
        (!off && !own.trim().is_empty()).then_some((own.as_str(), from))
    }

    fn report_lost_overrides(&mut self) {
        let Some(card) = self.input.character.as_ref().map(|card| &card.model) else { return };
        let prompts = self.preset.by_identifier();
        for (identifier, own, forbidden, suppressed, lost) in [
            (
                "main",
                &card.system_prompt,
                Code::CharacterSystemOverrideForbidden,
                Code::CharacterSystemSuppressed,
                Code::CharacterSystemNotPlaced,
            ),
            (
                "jailbreak",
                &card.post_history_instructions,
                Code::CharacterPostHistoryOverrideForbidden,
                Code::CharacterPostHistorySuppressed,
                Code::CharacterPostHistoryNotPlaced,
            ),
        ] {
            if own.trim().is_empty() {
                continue;
            }
            if self.override_of(identifier).is_none() {
                self.expander.say(suppressed, identifier);
            } else if !self.is_on(identifier) {
                self.expander.say(lost, identifier);
            } else if prompts.get(identifier).is_some_and(|prompt| prompt.forbid_overrides) {
                self.expander.say(forbidden, identifier);
            }
        }
    }

    /// Puts card, persona and lore into their markers; those without one go to the very end.
    fn fill(&mut self) {
        for filling in self.fillings() {
            let marker = self.preset.prompts.iter().find(|p| p.identifier == filling.identifier);
            if let Some(slot) = self.slots.iter_mut().find(|s| s.identifier == filling.identifier) {
                let role = marker.and_then(|marker| marker.role).unwrap_or(Role::System);
                slot.text = filling.text;
                (slot.role, slot.kind) = (role, filling.kind);
                filling.key.clone_into(&mut slot.key);
                continue;
            }
            if filling.text.is_empty() {
                continue;
            }
            let entry = self.preset.order.iter().find(|e| e.identifier == filling.identifier);
            if entry.is_some_and(|entry| !entry.enabled) {
                self.expander.say(Code::MarkerDisabled, filling.identifier);
                continue;
            }
            let said = Diagnostic::new(filling.not_placed, filling.identifier);
            self.expander.diagnostics.push(said.with("sent", "at the very end"));
            self.slots.push(Slot {
                identifier: filling.identifier,
                key: filling.key.to_owned(),
                kind: filling.kind,
                role: Role::System,
                injection: Injection::Relative,
                sendable: true,
                text: filling.text,
            });
        }
    }

    fn fillings(&mut self) -> Vec<Filling<'p>> {
        let filling = |identifier, key, kind, not_placed, text| Filling {
            identifier,
            key,
            kind,
            not_placed,
            text,
        };
        let (lore, field) = (SegmentKind::Lore, SegmentKind::CharacterField);
        let before = self.world_info(lore::block(&self.lore.before));
        let after = self.world_info(lore::block(&self.lore.after));
        let description = self.expander.fields.description.clone();
        let formats = &self.preset.formats;
        let personality = self.expander.fields.personality.clone();
        let personality = self.formatted(Field::Personality, personality, &formats.personality);
        let scenario = self.expander.fields.scenario.clone();
        let scenario = self.formatted(Field::Scenario, scenario, &formats.scenario);
        let (wi, cf) = (Code::WorldInfoNotPlaced, Code::CharacterFieldNotPlaced);
        let mut all = vec![
            filling("worldInfoBefore", "lore:before", lore, wi, before),
            filling("worldInfoAfter", "lore:after", lore, wi, after),
            filling("charDescription", "character:description", field, cf, description),
            filling("charPersonality", "character:personality", field, cf, personality),
            filling("scenario", "character:scenario", field, cf, scenario),
        ];
        let persona = self.expander.fields.persona.clone();
        if !persona.is_empty() {
            let code = Code::UserDescriptionNotPlaced;
            let kind = SegmentKind::UserField;
            all.push(filling("personaDescription", "user:description", kind, code, persona));
        }
        all
    }

    /// `wi_format` around the lore: blank is none, one without `{0}` loses the lore.
    fn world_info(&mut self, lore: Text) -> Text {
        let format = &self.preset.formats.world_info;
        if lore.is_empty() || format.trim().is_empty() || format == "{0}" {
            return lore;
        }
        let format = self.expander.expand("wi_format", format);
        if !format.text.contains("{0}") {
            let said = Diagnostic::new(Code::WorldInfoFormatWithoutPlace, "wi_format");
            self.expander.diagnostics.push(said.with("lore", "lost"));
        }
        lore.map(|lore| format.text.replace("{0}", lore))
    }

    /// A field in its format, where both have a text.
    fn formatted(&mut self, field: Field, text: Text, format: &str) -> Text {
        if text.is_empty() || format.is_empty() {
            return text;
        }
        let reading = Reading { format_of: Some(field), ..Reading::default() };
        let mut shown =
            self.expander.expand_in(text.from.first().map_or("", |f| f), format, reading);
        shown.quotes.extend(text.quotes);
        shown.volatile |= text.volatile;
        shown
    }

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
        let injection = slot.injection;
        if before {
            self.note(injection, side, note, note_text, depths);
        }
        self.slot(slot, side, depths);
        if after {
            self.note(injection, side, note, note_text, depths);
        }
    }

    fn note(
        &mut self,
        main: Injection,
        side: Placement,
        note: &Note,
        text: &Text,
        depths: &mut Depths,
    ) {
        match main {
            Injection::Absolute { depth: Some(depth), order } => {
                depths.prompt(depth, order, note.role, text.clone());
            }
            _ => {
                let kind = SegmentKind::AuthorNote;
                let piece = Piece::new(note::KEY, kind, note.role, text.clone()).at(side);
                self.push(piece);
            }
        }
    }

    fn slot(&mut self, slot: Slot<'p>, side: Placement, depths: &mut Depths) {
        if slot.text.is_empty() {
            return;
        }
        match slot.injection {
            Injection::Relative if slot.sendable => {
                let piece = Piece::new(slot.key, slot.kind, slot.role, slot.text).at(side);
                self.push(piece);
            }
            Injection::Relative => self.expander.say(Code::PromptNotSent, slot.identifier),
            Injection::Absolute { depth: Some(depth), order } => {
                depths.prompt(depth, order, slot.role, slot.text);
            }
            Injection::Absolute { depth: None, .. } => {
                let said = Diagnostic::new(Code::PromptDepthInvalid, slot.identifier);
                self.expander.diagnostics.push(said.with("sent", "no"));
            }
        }
    }

    /// The fixed line that opens the history.
    fn open_history(&mut self) {
        let text = self.expander.expand("new_chat_prompt", &self.preset.formats.new_chat);
        self.out.push(
            Piece::new("control:new-chat", SegmentKind::Control, Role::System, text),
            |piece| piece.text.text.clone(),
        );
    }

    fn examples(&mut self, side: Placement) {
        let mut blocks: Vec<(String, Text)> = Vec::new();
        let mut add = |text: &Text| {
            for block in examples::blocks(&text.text) {
                blocks.push((block, text.clone()));
            }
        };
        self.lore.examples_top.iter().rev().for_each(|entry| add(&entry.text()));
        add(&self.expander.fields.examples);
        self.lore.examples_bottom.iter().for_each(|entry| add(&entry.text()));
        let opening = match blocks.is_empty() {
            true => Text::default(),
            false => {
                let raw = &self.preset.formats.new_example_chat;
                self.expander.expand("new_example_chat_prompt", raw)
            }
        };
        for (number, (block, from)) in blocks.into_iter().enumerate() {
            let names = (self.input.user_name(), self.input.character_name());
            let lines = examples::lines(&block, names.0, names.1);
            if lines.is_empty() {
                let place = format!("example:{number}");
                self.expander.say(Code::DialogueExampleSpeakerUnknown, &place);
                continue;
            }
            let (kind, role) = (SegmentKind::Example, Role::System);
            let key = format!("example:{number}");
            let piece = Piece::new(key, kind, role, opening.clone()).at(side);
            self.out.push(piece, |piece| piece.text.text.clone());
            for (at, line) in lines.into_iter().enumerate() {
                let name = if line.is_user { "example_user" } else { "example_assistant" };
                let text = Text { text: line.text, stable: None, ..from.clone() };
                let piece = Piece::new(format!("example:{number}:{at}"), kind, role, text).at(side);
                let piece = Piece { name: Some(name.to_owned()), ..piece };
                self.out.push(piece, |piece| piece.text.text.clone());
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
            let lost: Vec<String> = depths.from();
            let said = Diagnostic::new(Code::ChatHistoryNotPlaced, "chatHistory");
            self.expander.diagnostics.push(said.with("lost", lost.join(", ")));
            return;
        }
        for (depth, order, role, text) in depths.merged() {
            let key = format!("depth:{depth}:{order}:{}", role.name());
            let kind = match text.from.as_slice() {
                [only] if only == note::KEY => SegmentKind::AuthorNote,
                from if from.iter().all(|from| from.starts_with("lore:")) => SegmentKind::Lore,
                from if from.iter().all(|from| from.starts_with("character:")) => {
                    SegmentKind::CharacterField
                }
                _ => SegmentKind::Prompt,
            };
            self.push(Piece::new(key, kind, role, text).at(Placement::InChat { depth }));
        }
    }

    /// Fixed lines behind the history: they come last, the nudge before everything that follows it.
    fn control(&mut self) {
        let formats = &self.preset.formats;
        match self.input.generation {
            GenerationType::Continue if !self.preset.chat.continue_prefill => {
                let last = self.input.messages.last().map_or("", |message| message.text.trim());
                let text = self.expander.expand("continue_nudge_prompt", &formats.continue_nudge);
                let text = text.map(|nudge| nudge.replace("{{lastChatMessage}}", last));
                let piece =
                    Piece::new("control:continue", SegmentKind::Control, Role::System, text);
                self.push(piece.at(Placement::After));
                // Ahead of all that stands behind the history.
                let first = self.out.segments.iter().position(|s| s.placement == Placement::After);
                if let Some(first) = first {
                    self.out.segments[first..].rotate_right(1);
                    self.out.origins[first..].rotate_right(1);
                }
            }
            GenerationType::Impersonate => {
                let text = self.expander.expand("impersonation_prompt", &formats.impersonation);
                let piece =
                    Piece::new("control:impersonate", SegmentKind::Control, Role::System, text);
                self.push(piece.at(Placement::After));
            }
            _ => {}
        }
    }

    fn is_on(&self, identifier: &str) -> bool {
        let prompts: HashMap<&str, &Prompt> = self.preset.by_identifier();
        let entry = self.preset.order.iter().find(|entry| entry.identifier == identifier);
        entry.is_some_and(|entry| entry.enabled)
            && prompts
                .get(identifier)
                .is_some_and(|prompt| prompt.triggered_by(self.input.generation.name()))
    }

    fn report_missing_examples(&mut self) {
        if !self.expander.fields.examples.is_blank() {
            self.expander.say(Code::DialogueExamplesNotPlaced, "character:message-example");
        }
        for entry in self.lore.examples_top.iter().chain(&self.lore.examples_bottom) {
            let said = Diagnostic::new(Code::WorldInfoNotPlaced, entry.key());
            self.expander.diagnostics.push(said.with("sent", "no"));
        }
    }

    /// A message that may be squashed with its neighbours.
    fn push(&mut self, piece: Piece) {
        let squash = piece.role == Role::System && piece.name.is_none();
        self.out.push(Piece { squash, ..piece }, |piece| piece.text.text.clone());
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
        };
        self.out.variables = self.expander.variables;
        self.out.diagnostics = self.expander.diagnostics;
        self.out
    }
}

// === impl Slot ===

impl<'p> Slot<'p> {
    fn of(prompt: &'p Prompt, text: Text) -> Self {
        let identifier = prompt.identifier.as_str();
        let own = OWN.contains(&identifier) || identifier == "enhanceDefinitions";
        Self {
            identifier,
            key: super::profile::prompt_key(identifier),
            kind: SegmentKind::Prompt,
            role: prompt.role.unwrap_or(Role::System),
            injection: prompt.injection,
            sendable: own || prompt.system_prompt == Some(false),
            text,
        }
    }
}
