//! The author's note with the lore around it (reference A11, B3.6).

use prompt::{Placement, Role};

use super::{
    input::{Input, LoreEntry},
    lore::{self, Lore},
    text::{Expander, Text},
};
use crate::{
    diagnostic::{Code, Diagnostic},
    selection::{AuthorsNote, NotePosition},
};

/// The section key of the note.
pub(super) const KEY: &str = "author-note";

/// The note as it takes part in this request.
#[derive(Debug)]
pub(super) struct Note {
    /// Empty when there is none, or it is not due.
    pub text: Text,
    pub position: NotePosition,
    pub depth: u32,
    pub role: Role,
}

// === impl Note ===

impl Note {
    /// Expands the note, if it is due or `stays` (a section that has landed already).
    pub fn of(input: &Input, stays: bool, expander: &mut Expander) -> Self {
        let Some(note) = &input.options.authors_note else {
            return Self {
                text: Text::default(),
                position: NotePosition::InChat,
                depth: AuthorsNote::DEPTH_DEFAULT,
                role: Role::System,
            };
        };
        let due = is_due(note, input.user_message_count);
        let text = if note.text.trim().is_empty() {
            Text::default()
        } else if due || stays {
            expander.expand(KEY, &note.text.as_str().into())
        } else {
            let said = Diagnostic::new(Code::AuthorNoteNotDue, KEY).with("interval", note.interval);
            expander.diagnostics.push(said);
            Text::default()
        };
        Self { text, position: note.position, depth: note.depth, role: note.role }
    }

    /// Says so of lore that belongs around a note that is not there.
    pub fn report_absent(&self, lore: &Lore, expander: &mut Expander) {
        if self.text.is_blank() {
            for entry in lore.note_top.iter().chain(&lore.note_bottom) {
                expander.say(Code::AuthorNoteAbsent, &entry.key());
            }
        }
    }

    /// The note between its lore, as one text.
    pub fn with_lore(&self, top: &[&LoreEntry], bottom: &[&LoreEntry]) -> Text {
        let parts = [lore::block(top), self.text.clone(), lore::block(bottom)];
        Text::joined(parts.into_iter().filter(|part| !part.is_blank()), "\n")
    }

    /// Where it wants to be in a mode that has no main message to stand next to.
    pub fn placement(&self) -> Placement {
        match self.position {
            NotePosition::InChat => Placement::InChat { depth: self.depth },
            NotePosition::AfterMain | NotePosition::BeforeMain => Placement::Before,
        }
    }
}

/// On each nth message of the user; 0 is never.
fn is_due(note: &AuthorsNote, user_message_count: u64) -> bool {
    note.interval > 0
        && user_message_count > 0
        && user_message_count.is_multiple_of(u64::from(note.interval))
}
