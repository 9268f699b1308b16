//! What one answer holds: texts that do not fit are left out, and the answer names them.

use kernel::limits::{ANSWER_BYTES_MAX, DIAGNOSTIC_CHARS_MAX};
use prost::Message;
use wire::common::v1::Omission;

/// A field that an answer can do without, and its name.
pub type Field<M> = (&'static str, fn(&mut M) -> &mut dyn Spared);

/// What can be emptied for want of room.
pub trait Spared {
    fn bytes(&self) -> usize;
    fn empty(&mut self);
}

/// Empties the largest of `fields`, one after the other, until the message fits into one answer.
pub fn fit<M: Message>(message: &mut M, fields: &[Field<M>]) -> Vec<Omission> {
    let mut omitted: Vec<Omission> = Vec::new();
    // The list itself takes room, too: a name and a number for each field.
    let most = ANSWER_BYTES_MAX - fields.iter().map(|(name, _)| name.len() + 32).sum::<usize>();
    while message.encoded_len() > most {
        let sized = fields.iter().map(|(name, field)| (field(message).bytes(), *name, field));
        let Some((bytes, name, field)) = sized.max_by_key(|(bytes, ..)| *bytes) else { break };
        if bytes == 0 {
            break;
        }
        field(message).empty();
        omitted.push(Omission { field: name.to_owned(), bytes: bytes as u64 });
    }
    omitted
}

/// A diagnostic's words: of longer ones the beginning.
pub fn brief(text: String) -> String {
    match text.char_indices().nth(DIAGNOSTIC_CHARS_MAX) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

// === impl Spared ===

impl Spared for String {
    fn bytes(&self) -> usize {
        self.len()
    }

    fn empty(&mut self) {
        self.clear();
    }
}

/// Also for texts: each is a message of its own.
impl<T: Message> Spared for Vec<T> {
    fn bytes(&self) -> usize {
        self.iter().map(Message::encoded_len).sum()
    }

    fn empty(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use wire::loader::v1::Preset;

    use super::*;

    const FIELDS: [Field<Preset>; 2] = [
        ("name", |preset| &mut preset.name),
        ("document_json", |preset| &mut preset.document_json),
    ];

    #[track_caller]
    fn check(name: usize, document: usize, left_out: &[(&str, u64)]) {
        let (name, document_json) = ("n".repeat(name), "d".repeat(document));
        let mut preset = Preset { name, document_json, ..Default::default() };
        let omitted = fit(&mut preset, &FIELDS);
        let told: Vec<_> = omitted.iter().map(|one| (one.field.as_str(), one.bytes)).collect();
        assert_eq!(told, left_out);
        assert!(preset.encoded_len() <= ANSWER_BYTES_MAX);
    }

    #[test]
    fn what_fits_is_whole() {
        check(10, 1_000_000, &[]);
    }

    #[test]
    fn the_largest_field_goes_first() {
        check(3_000_000, 4_000_000, &[("document_json", 4_000_000)]);
        check(4_000_000, 3_000_000, &[("name", 4_000_000)]);
    }

    #[test]
    fn all_that_does_not_fit_goes() {
        let both = [("document_json", 6_000_000), ("name", 5_000_000)];
        check(5_000_000, 6_000_000, &both);
    }
}
