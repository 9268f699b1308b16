//! SillyTavern's World Info (reference A1), its list form, and KoboldAI's ancestral form.

use serde_json::{Map, Value};

use crate::{
    entry::{CharacterFilter, EntryBody},
    import::{
        Format, ImportError, Imported,
        lenient::{self, Dialect, Read},
        reader::EntryReader,
        report::{Code, Place, Report},
        rows::{self, Draft},
        shape,
        stamp::{self, BookStamp},
    },
    world::WorldSettings,
};

pub(super) fn read(mut root: Map<String, Value>, format: Format) -> Result<Imported, ImportError> {
    let mut report = Report::default();
    let entries = root.shift_remove("entries").unwrap_or_default();
    let drafts = match entries {
        Value::Object(map) => in_js_order(map)
            .into_iter()
            .filter_map(|(key, value)| {
                let at = Place::at(format!("$.entries.{key}"), "$.entries.*");
                entry(value, at, key.parse().ok(), &mut report)
            })
            .collect(),
        Value::Array(list) => list
            .into_iter()
            .enumerate()
            .filter_map(|(index, value)| {
                let at = Place::at(format!("$.entries[{index}]"), "$.entries.*");
                entry(value, at, None, &mut report)
            })
            .collect(),
        other => return Err(shape("$.entries", &other, "an object or a list")),
    };
    let rows = rows::number(drafts, &mut report);
    let stamp = root.shift_remove(stamp::KEY).and_then(|value| book_stamp(value, &mut report));
    let (name, settings) = head(root, &Place::root(), &mut report);
    Ok(Imported { format, name, settings, rows, stamp, report })
}

/// The head of a book: its name, its scan settings under either spelling, and the rest.
pub(super) fn head(
    mut root: Map<String, Value>,
    at: &Place,
    report: &mut Report,
) -> (Option<String>, WorldSettings) {
    let mut settings = WorldSettings::default();
    let name = setting(&mut root, at, &["name"], lenient::text, report);
    if let Some(text) = setting(&mut root, at, &["description"], lenient::text, report) {
        settings.description = text;
    }
    let depth = ["scan_depth", "scanDepth"];
    settings.scan_depth = setting(&mut root, at, &depth, lenient::count, report);
    let budget = ["token_budget", "tokenBudget"];
    settings.token_budget = setting(&mut root, at, &budget, lenient::count, report);
    let recursive = ["recursive_scanning", "recursiveScanning"];
    settings.recursive_scanning = setting(&mut root, at, &recursive, lenient::flag, report);
    match root.shift_remove("extensions") {
        Some(Value::Object(extensions)) => settings.extensions = extensions,
        None | Some(Value::Null) => {}
        Some(_) => report.add(Code::ValueUnusable, at, "extensions", "not an object"),
    }
    for name in root.keys() {
        report.add(Code::UnknownField, at, name, "");
    }
    settings.extra = root;
    (name, settings)
}

/// JavaScript's order of an object's keys: integer-like ones ascending, then the others as written.
fn in_js_order(map: Map<String, Value>) -> Vec<(String, Value)> {
    let index = |key: &str| {
        let number: u32 = key.parse().ok()?;
        (number != u32::MAX && number.to_string() == key).then_some(number)
    };
    let mut entries: Vec<(String, Value)> = map.into_iter().collect();
    entries.sort_by_key(|(key, _)| match index(key) {
        Some(number) => (0, number),
        None => (1, 0),
    });
    entries
}

fn entry(value: Value, at: Place, key: Option<i64>, report: &mut Report) -> Option<Draft> {
    let Value::Object(map) = value else {
        report.add(Code::EntryUnusable, &at, "", super::kind(&value));
        return None;
    };
    let mut body = EntryBody::default();
    let mut reader = EntryReader::new(map, at.clone(), report);
    let stamp = reader.stamp();
    let wanted = reader.wanted(&["uid"]).or(key);
    reader.fields(&mut body, Dialect::Native);
    flat_filter(&mut reader, &mut body);
    reader.keep_rest(&mut body, stamp.as_ref());
    Some(Draft { at, wanted, body, stamp })
}

/// `characterFilterNames` and its like, as some tools flatten the filter.
fn flat_filter(reader: &mut EntryReader<'_>, body: &mut EntryBody) {
    let names = ["characterFilterNames", "characterFilterTags", "characterFilterExclude"];
    if body.character_filter.is_some() || !names.iter().any(|n| reader.rest.contains_key(*n)) {
        return;
    }
    let mut take = |name: &str| reader.rest.shift_remove(name).unwrap_or_default();
    let (names, tags, exclude) = (take(names[0]), take(names[1]), take(names[2]));
    let texts = |value: &Value| match lenient::list(value) {
        Read::As(list) | Read::Bent(list, _) => list,
        Read::Empty | Read::Refused(_) => Vec::new(),
    };
    let filter = CharacterFilter {
        is_exclude: matches!(lenient::flag(&exclude), Read::As(true) | Read::Bent(true, _)),
        names: texts(&names),
        tags: texts(&tags),
    };
    let how = "three flat fields taken as one filter";
    reader.report.add(Code::FieldRespelled, &reader.at, "characterFilterNames", how);
    if filter != CharacterFilter::default() {
        body.character_filter = Some(filter);
    }
}

fn book_stamp(value: Value, report: &mut Report) -> Option<BookStamp> {
    match serde_json::from_value(value) {
        Ok(stamp) => Some(stamp),
        Err(error) => {
            report.add(Code::ValueUnusable, &Place::root(), stamp::KEY, error.to_string());
            None
        }
    }
}

fn setting<T>(
    root: &mut Map<String, Value>,
    at: &Place,
    names: &[&str],
    read: fn(&Value) -> Read<T>,
    report: &mut Report,
) -> Option<T> {
    let name = names.iter().copied().find(|name| root.contains_key(*name))?;
    let value = root.shift_remove(name)?;
    match read(&value) {
        Read::As(value) => Some(value),
        Read::Bent(value, how) => {
            report.add(Code::ValueCoerced, at, name, how);
            Some(value)
        }
        Read::Empty => None,
        Read::Refused(why) => {
            report.add(Code::ValueUnusable, at, name, why);
            None
        }
    }
}
