//! The written form of a standing profile: sections for JOURNAL, one text for CONTRACT.

use super::*;

/// The first line of a profile.
const PROFILE_HEADING: &str = "[skald profile]";
/// The first line where nothing but a preset takes part.
const PRESET_HEADING: &str = "[skald selected preset]";

impl Composer<'_, '_> {
    /// A segment for each piece; dynamic lore comes after everything authored.
    pub(super) fn journal(mut self) -> Composed {
        let mut out = Composed::with_capacity(self.pieces.len());
        self.pieces.sort_by_key(|wrapped| wrapped.piece.dynamic);
        for Wrapped { piece, label } in std::mem::take(&mut self.pieces) {
            out.push_as(piece, |piece| label.shown(piece));
        }
        self.finish(out)
    }

    /// One segment: the heading, then the pieces, a blank line between them.
    pub(super) fn contract(mut self) -> Composed {
        let mut out = Composed::default();
        let pieces = std::mem::take(&mut self.pieces);
        if pieces.is_empty() {
            return self.finish(out);
        }
        let mut blocks = vec![self.heading()];
        let mut all = Text::new(blocks[0].clone(), "profile");
        all.from.clear();
        let mut dynamic = false;
        for wrapped in &pieces {
            if wrapped.piece.dynamic && !dynamic {
                blocks.push(lore::DYNAMIC_HEADING.to_owned());
            }
            dynamic = wrapped.piece.dynamic;
            let block = wrapped.label.shown(&wrapped.piece);
            all.push("\n\n", &wrapped.piece.text);
            blocks.push(block);
        }
        let profile = Piece::new("profile", SegmentKind::Profile, Role::System, all);
        out.push_as(profile, |_| blocks.join("\n\n"));
        self.finish(out)
    }

    fn heading(&self) -> String {
        let input = self.input;
        let alone = input.character.is_none()
            && input.user.is_none()
            && self.note.text.is_blank()
            && !self.has_lore;
        let mut lines = Vec::new();
        let mut line = |name: &str, value: &str| {
            lines.push(format!("{name}: {}", prompt::escape::attribute(value)));
        };
        if let (Some(preset), true) = (&input.preset, alone) {
            line("name", &preset.name);
            line("id", preset.id.as_str());
            lines.insert(0, PRESET_HEADING.to_owned());
            return lines.join("\n");
        }
        if let Some(preset) = &input.preset {
            line("preset-name", &preset.name);
            line("preset-id", preset.id.as_str());
        }
        if let Some(character) = &input.character {
            line("character-name", &character.model.name);
            line("character-id", character.id.as_str());
        }
        if let Some(user) = &input.user {
            line("user-name", user.model.name());
            line("user-id", user.id.as_str());
        }
        lines.insert(0, PROFILE_HEADING.to_owned());
        lines.join("\n")
    }

    fn finish(self, mut out: Composed) -> Composed {
        out.chat.user = self.input.user_name().to_owned();
        out.chat.char = self.input.character_name().to_owned();
        out.variables = self.expander.variables;
        out.diagnostics = self.expander.diagnostics;
        out
    }
}

// === impl Label ===

impl Label<'_> {
    /// The piece in its element.
    fn shown(&self, piece: &Piece) -> String {
        let text = &piece.text.text;
        match self {
            Self::Prompt { identifier } => {
                let attributes = [("identifier", *identifier), ("role", piece.role.name())];
                element("st-prompt", &attributes, text)
            }
            Self::CharacterField { name } => element("st-character-field", &[("name", name)], text),
            Self::UserField { name } => element("st-user-field", &[("name", name)], text),
            Self::Lore { position } => {
                let entry = piece.key.strip_prefix("lore:").unwrap_or(&piece.key);
                element("st-world-info", &[("entry", entry), ("position", position)], text)
            }
        }
    }
}
