//! Walks the field table over one entry of a file, taking each field from wherever it is spelled.

use std::{collections::HashSet, sync::LazyLock};

use serde_json::{Map, Value};

use crate::{
    entry::EntryBody,
    fields::{FIELDS, Field},
    import::{
        lenient::{self, Dialect, Taken},
        report::{Code, Place, Report},
        stamp::{self, EntryStamp},
    },
};

/// One entry of a file with what has not been read yet.
pub(super) struct EntryReader<'r> {
    pub at: Place,
    pub rest: Map<String, Value>,
    pub extensions: Map<String, Value>,
    pub report: &'r mut Report,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Entry,
    Extensions,
}

type Spelling = (Source, &'static str, Dialect);

static NATIVE: LazyLock<Vec<Vec<Spelling>>> = LazyLock::new(|| all_spellings(Dialect::Native));
static CARD: LazyLock<Vec<Vec<Spelling>>> = LazyLock::new(|| all_spellings(Dialect::Card));

// === impl EntryReader ===

impl<'r> EntryReader<'r> {
    pub fn new(mut map: Map<String, Value>, at: Place, report: &'r mut Report) -> Self {
        let extensions = match map.shift_remove("extensions") {
            Some(Value::Object(extensions)) => extensions,
            None | Some(Value::Null) => Map::new(),
            Some(other) => {
                let kind = super::kind(&other);
                let why = format!("{kind}, not an object");
                report.add(Code::ValueUnusable, &at, "extensions", why);
                Map::new()
            }
        };
        Self { at, rest: map, extensions, report }
    }

    /// Reads every field of the table; true for those that the file gives.
    pub fn fields(&mut self, body: &mut EntryBody, dialect: Dialect) -> [bool; FIELDS.len()] {
        let mut given = [false; FIELDS.len()];
        let spellings = match dialect {
            Dialect::Native => &*NATIVE,
            Dialect::Card => &*CARD,
        };
        for (place, field) in FIELDS.iter().enumerate() {
            given[place] = self.field(field, &spellings[place], body);
        }
        given
    }

    fn field(&mut self, field: &Field, spellings: &[Spelling], body: &mut EntryBody) -> bool {
        let found = self.choose(spellings);
        let Some((place, value)) = found else {
            self.note(Code::FieldDefaulted, spellings[0], "");
            return false;
        };
        let spelling = spellings[place];
        match lenient::take(field.slot, &value, body, spelling.2) {
            Taken::Exactly if place == 0 => {}
            Taken::Exactly => self.note(Code::FieldRespelled, spelling, spellings[0].1),
            Taken::Bent(how) => self.note(Code::ValueCoerced, spelling, &how),
            Taken::Unknown(how) => self.note(Code::ValueUnknown, spelling, &how),
            Taken::Empty => {
                self.note(Code::FieldDefaulted, spelling, "");
                return false;
            }
            Taken::Refused(why) => {
                self.note(Code::ValueUnusable, spelling, &why);
                return false;
            }
        }
        true
    }

    /// The first spelling with a value, else the first with a null; others that say the same go. A card's extensions give up what
    /// is read from them; World Info keeps them whole, as the copy of a card that they are.
    fn choose(&mut self, spellings: &[Spelling]) -> Option<(usize, Value)> {
        let native = spellings[0].2 == Dialect::Native;
        let look = |(source, name, _): &Spelling| match source {
            Source::Entry => self.rest.get(*name),
            Source::Extensions => self.extensions.get(*name),
        };
        let place = spellings
            .iter()
            .position(|s| look(s).is_some_and(|value| !value.is_null()))
            .or_else(|| spellings.iter().position(|s| look(s).is_some()))?;
        let taken = match spellings[place] {
            (Source::Entry, name, _) => self.rest.shift_remove(name),
            (Source::Extensions, name, _) if native => self.extensions.get(name).cloned(),
            (Source::Extensions, name, _) => self.extensions.shift_remove(name),
        };
        for (source, name, _) in spellings {
            let from = match source {
                Source::Entry => &mut self.rest,
                Source::Extensions if native => continue,
                Source::Extensions => &mut self.extensions,
            };
            let idle = |value: &Value| value.is_null() || Some(value) == taken.as_ref();
            if from.get(*name).is_some_and(idle) {
                from.shift_remove(*name);
            }
        }
        Some((place, taken?))
    }

    fn note(&mut self, code: Code, (source, name, _): Spelling, detail: &str) {
        match source {
            Source::Entry => self.report.add(code, &self.at, name, detail),
            Source::Extensions => {
                self.report.add(code, &self.at, &format!("extensions.{name}"), detail);
            }
        }
    }

    /// The entry's own number under one of these names.
    pub fn wanted(&mut self, names: &[&str]) -> Option<i64> {
        let name = names.iter().copied().find(|name| self.rest.contains_key(*name))?;
        let value = self.rest.shift_remove(name)?;
        match lenient::index(&value) {
            lenient::Read::As(uid) => Some(uid),
            lenient::Read::Bent(uid, how) => {
                self.report.add(Code::ValueCoerced, &self.at, name, how);
                Some(uid)
            }
            lenient::Read::Empty => None,
            lenient::Read::Refused(why) => {
                self.report.add(Code::ValueUnusable, &self.at, name, why);
                None
            }
        }
    }

    pub fn stamp(&mut self) -> Option<EntryStamp> {
        let value = self
            .rest
            .shift_remove(stamp::KEY)
            .or_else(|| self.extensions.shift_remove(stamp::KEY))?;
        match serde_json::from_value(value) {
            Ok(stamp) => Some(stamp),
            Err(error) => {
                self.report.add(Code::ValueUnusable, &self.at, stamp::KEY, error.to_string());
                None
            }
        }
    }

    /// What nobody has read stays with the entry.
    pub fn keep_rest(mut self, body: &mut EntryBody, stamp: Option<&EntryStamp>) {
        for name in self.rest.keys() {
            self.report.add(Code::UnknownField, &self.at, name, "");
        }
        for (name, value) in stamp.into_iter().flat_map(|stamp| &stamp.extra) {
            self.rest.entry(name.clone()).or_insert_with(|| value.clone());
        }
        body.extra = self.rest;
        body.extensions = self.extensions;
    }
}

fn all_spellings(dialect: Dialect) -> Vec<Vec<Spelling>> {
    FIELDS.iter().map(|field| spellings(field, dialect)).collect()
}

/// Where a field may stand, the format's own place first.
fn spellings(field: &Field, dialect: Dialect) -> Vec<Spelling> {
    let native = (Source::Entry, field.native, Dialect::Native);
    let card = (Source::Entry, field.card_name(), Dialect::Card);
    let in_extensions = [
        (Source::Extensions, field.card_name(), Dialect::Card),
        (Source::Extensions, field.native, Dialect::Native),
    ];
    let mut all = match (dialect, field.in_extensions()) {
        (Dialect::Native, false) => vec![native, card],
        (Dialect::Native, true) => vec![native, card, in_extensions[0]],
        (Dialect::Card, false) => vec![card, native],
        (Dialect::Card, true) => vec![in_extensions[0], in_extensions[1], card, native],
    };
    let mut seen = HashSet::new();
    all.retain(|(source, name, _)| seen.insert((*source == Source::Entry, *name)));
    all
}
