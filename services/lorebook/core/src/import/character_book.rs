//! The `character_book` of cards V2 and V3, and V3's stand-alone `lorebook_v3` (reference A3).

use serde_json::{Map, Value};

use crate::{
    entry::{EntryBody, Position},
    fields::FIELDS,
    import::{
        Format, ImportError, Imported,
        lenient::{self, Dialect, Read},
        reader::EntryReader,
        report::{Code, Place, Report},
        rows::{self, Draft},
        shape, world_info,
    },
};

pub(super) fn read(
    mut book: Map<String, Value>,
    path: &str,
    format: Format,
) -> Result<Imported, ImportError> {
    let mut report = Report::default();
    let list: Vec<(String, Value)> = match book.shift_remove("entries").unwrap_or_default() {
        Value::Array(list) => {
            list.into_iter().enumerate().map(|(at, value)| (format!("[{at}]"), value)).collect()
        }
        Value::Object(map) => {
            let at = Place::at(path.to_owned(), "book");
            report.add(Code::ValueCoerced, &at, "entries", "a map, taken as a list");
            map.into_iter().map(|(key, value)| (format!(".{key}"), value)).collect()
        }
        other => return Err(shape(&format!("{path}.entries"), &other, "a list")),
    };
    let drafts = list
        .into_iter()
        .zip(0..)
        .filter_map(|((step, value), index)| {
            let at = Place::at(format!("{path}.entries{step}"), "$.entries.*");
            entry(value, at, index, &mut report)
        })
        .collect();
    let rows = rows::number(drafts, &mut report);
    let (name, settings) = world_info::head(book, &Place::at(path.to_owned(), "book"), &mut report);
    Ok(Imported { format, name, settings, rows, stamp: None, report })
}

fn entry(value: Value, at: Place, index: i64, report: &mut Report) -> Option<Draft> {
    let Value::Object(map) = value else {
        report.add(Code::EntryUnusable, &at, "", super::kind(&value));
        return None;
    };
    let mut body = EntryBody::default();
    let mut reader = EntryReader::new(map, at.clone(), report);
    let stamp = reader.stamp();
    let wanted = reader.wanted(&["id", "uid"]);
    let given = reader.fields(&mut body, Dialect::Card);
    let given =
        |name: &str| FIELDS.iter().zip(given).any(|(field, given)| field.name == name && given);
    if !given("position") {
        body.position = Position::AfterChar;
    }
    // Where the extensions say more, the coarse word beside them says nothing.
    reader.rest.shift_remove("position");
    if !given("selective") {
        body.selective = false;
    }
    if !given("display_index") {
        body.display_index = Some(index);
    }
    name_as_comment(&mut reader, &mut body);
    if !given("add_memo") {
        body.add_memo = !body.comment.is_empty();
    }
    use_regex(&mut reader);
    reader.keep_rest(&mut body, stamp.as_ref());
    Some(Draft { at, wanted, body, stamp: None })
}

/// V2's `name` titles an entry that has no comment; it stays for the export.
fn name_as_comment(reader: &mut EntryReader<'_>, body: &mut EntryBody) {
    if let (true, Some(Value::String(name))) = (body.comment.is_empty(), reader.rest.get("name")) {
        body.comment.clone_from(name);
        let how = "the title, as there is no comment";
        reader.report.add(Code::FieldRespelled, &reader.at, "name", how);
    }
}

/// SillyTavern writes `use_regex: true` over every entry, so the flag says nothing: a key is a pattern
/// by its own form. False is kept for the export, true is what the export writes anyway.
fn use_regex(reader: &mut EntryReader<'_>) {
    let Some(value) = reader.rest.get("use_regex") else { return };
    if matches!(lenient::flag(value), Read::As(true) | Read::Bent(true, _)) {
        reader.rest.shift_remove("use_regex");
        let why = "a key is a pattern by its own form, /…/";
        reader.report.add(Code::FieldWithoutEffect, &reader.at, "use_regex", why);
    }
}
