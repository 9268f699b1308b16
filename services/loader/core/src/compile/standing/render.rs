//! The written form of a standing profile: sections for JOURNAL, one text for CONTRACT.

use kernel::{digest_parts_joined, name::DYNAMIC_HEADING};
use prompt::contract::{element, push_element};

use super::*;

/// What stands between two blocks of a contract.
const BETWEEN: &str = "\n\n";
/// What an element adds to its text, about.
const ELEMENT_BYTES: usize = 128;
/// The first line of a profile.
const PROFILE_HEADING: &str = "[skald profile]";
/// The first line where nothing but a preset takes part.
const PRESET_HEADING: &str = "[skald selected preset]";

impl Composer<'_, '_> {
    /// A segment for each piece; dynamic lore comes after everything authored.
    pub(super) fn journal(mut self) -> Composed {
        let mut out = Composed::with_capacity(self.pieces.len());
        if self.pieces.iter().any(|wrapped| wrapped.piece.dynamic) {
            self.pieces.sort_by_key(|wrapped| wrapped.piece.dynamic);
        }
        for Wrapped { piece, label } in std::mem::take(&mut self.pieces) {
            out.push_as(piece, |piece| label.write(piece, element));
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
        let heading = self.heading();
        let (key, role) = ("profile", Role::System);
        let stable = pieces.iter().map(|wrapped| wrapped.piece.text.stable());
        let stable = std::iter::once(heading.as_str()).chain(stable);
        let named = [key.as_bytes(), role.name().as_bytes()];
        let source_hash = digest_parts_joined(&named, stable, BETWEEN);

        let bytes = pieces.iter().map(|wrapped| wrapped.piece.text.text.len() + ELEMENT_BYTES);
        let mut shown = String::with_capacity(heading.len() + bytes.sum::<usize>());
        shown.push_str(&heading);
        let mut all = Text::default();
        let mut dynamic = false;
        for Wrapped { piece, label } in pieces {
            if piece.dynamic && !dynamic {
                shown.push_str(BETWEEN);
                shown.push_str(DYNAMIC_HEADING);
            }
            dynamic = piece.dynamic;
            shown.push_str(BETWEEN);
            label.write(&piece, |tag, attributes, text| {
                push_element(&mut shown, tag, attributes, text);
            });
            all.inherit(&piece.text);
        }
        let profile = Piece::new(key, SegmentKind::Profile, role, all);
        out.push_shown(profile, source_hash, shown);
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
    /// Writes the piece in its element.
    fn write<T>(&self, piece: &Piece, write: impl FnOnce(&str, &[(&str, &str)], &str) -> T) -> T {
        let text = &piece.text.text;
        match self {
            Self::Prompt { identifier } => {
                let attributes = [("identifier", *identifier), ("role", piece.role.name())];
                write("st-prompt", &attributes, text)
            }
            Self::CharacterField { name } => write("st-character-field", &[("name", name)], text),
            Self::UserField { name } => write("st-user-field", &[("name", name)], text),
            Self::Lore { position } => {
                let entry = piece.key.strip_prefix("lore:").unwrap_or(&piece.key);
                write("st-world-info", &[("entry", entry), ("position", position)], text)
            }
        }
    }
}
