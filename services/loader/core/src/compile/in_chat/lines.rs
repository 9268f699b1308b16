//! Fixed lines and dialogue examples.

use prompt::in_chat::{CONTINUE_NUDGE_KEY, NEW_CHAT_KEY};

use super::*;

// === impl Composer: lines ===

impl<'p, 'i> Composer<'p, 'i> {
    /// The fixed line that opens the history.
    pub(super) fn open_history(&mut self) {
        if std::mem::take(&mut self.parted) && self.preset.chat.squash_system_messages {
            self.apart.push(NEW_CHAT_KEY.to_owned());
        }
        let text = self.expander.expand("new_chat_prompt", &self.preset.formats.new_chat);
        self.out.push(Piece::new(NEW_CHAT_KEY, SegmentKind::Control, Role::System, text));
    }

    pub(super) fn examples(&mut self, side: Placement) {
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
            }
            let (kind, role) = (SegmentKind::Example, Role::System);
            let key = format!("example:{number}");
            self.out.push(Piece::new(key, kind, role, opening.clone()).at(side));
            for (at, line) in lines.into_iter().enumerate() {
                let name = if line.is_user { "example_user" } else { "example_assistant" };
                let text = Text { text: line.text, stable: None, ..from.clone() };
                let piece = Piece::new(format!("example:{number}:{at}"), kind, role, text).at(side);
                let piece = Piece { name: Some(name.to_owned()), ..piece };
                self.out.push(piece);
            }
        }
    }

    /// Fixed lines behind everything else; without a history nothing is continued.
    pub(super) fn control(&mut self) {
        let formats = &self.preset.formats;
        match self.input.generation {
            GenerationType::Continue if self.nudges() => {
                let last = self.input.messages.last().map_or("", |message| message.text.trim());
                let text = self.expander.expand("continue_nudge_prompt", &formats.continue_nudge);
                let text = text.map(|nudge| nudge.replace("{{lastChatMessage}}", last));
                let piece =
                    Piece::new(CONTINUE_NUDGE_KEY, SegmentKind::Control, Role::System, text);
                self.push(piece.at(Placement::After));
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

    pub(super) fn report_missing_examples(&mut self) {
        if !self.expander.fields.examples.is_blank() {
            self.expander.say(Code::DialogueExamplesNotPlaced, "character:message-example");
        }
        for entry in self.lore.examples_top.iter().chain(&self.lore.examples_bottom) {
            let said = Diagnostic::new(Code::WorldInfoNotPlaced, entry.key());
            self.expander.diagnostics.push(said.with("sent", "no"));
        }
    }
}
