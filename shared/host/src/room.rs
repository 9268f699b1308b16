//! What one answer holds: texts that do not fit are left out, and the answer names them.

use kernel::limits::DIAGNOSTIC_CHARS_MAX;
use prost::Message;
use wire::common::v1::Omission;

/// A field that an answer can do without, and its name.
pub type Field<M> = (&'static str, fn(&mut M) -> &mut dyn Spared);

/// What one [`Omission`] takes at the most: a name and a number.
const OMISSION_BYTES: usize = 64;

/// What can be emptied for want of room.
pub trait Spared {
    fn bytes(&self) -> usize;
    fn empty(&mut self);
}

/// Empties the largest of `fields`, one after the other, until the message has at most this many bytes.
pub fn fit<M: Message>(message: &mut M, most: usize, fields: &[Field<M>]) -> Vec<Omission> {
    let bytes = message.encoded_len();
    let sizes: Vec<usize> = fields.iter().map(|(_, field)| field(message).bytes()).collect();
    let spared = spare(bytes, most, &sizes).into_iter();
    spared
        .map(|at| {
            let (name, field) = fields[at];
            field(message).empty();
            omission(name, sizes[at])
        })
        .collect()
}

/// Which of the parts, the largest first, `bytes` in all can do without to be at most `most`; by their places.
pub fn spare(bytes: usize, most: usize, sizes: &[usize]) -> Vec<usize> {
    // What names them takes room, too.
    let most = most.saturating_sub(sizes.len() * OMISSION_BYTES);
    let mut left = bytes;
    let mut places: Vec<usize> = (0..sizes.len()).filter(|at| sizes[*at] > 0).collect();
    places.sort_by_key(|at| std::cmp::Reverse(sizes[*at]));
    let largest = places.into_iter().take_while(|at| {
        let spared = left > most;
        left = left.saturating_sub(if spared { sizes[*at] } else { 0 });
        spared
    });
    let mut spared: Vec<usize> = largest.collect();
    spared.sort_unstable();
    spared
}

pub fn omission(field: &str, bytes: usize) -> Omission {
    Omission { field: field.to_owned(), bytes: bytes as u64 }
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

impl<T: Message> Spared for Option<T> {
    fn bytes(&self) -> usize {
        self.as_ref().map_or(0, Message::encoded_len)
    }

    fn empty(&mut self) {
        *self = None;
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
    use kernel::limits::ANSWER_BYTES_MAX;
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
        let omitted = fit(&mut preset, ANSWER_BYTES_MAX, &FIELDS);
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
        let both = [("name", 5_000_000), ("document_json", 6_000_000)];
        check(5_000_000, 6_000_000, &both);
    }
}
