//! The `character_book` of V2 and V3 (reference A3), with what SillyTavern's own export loses.

use serde_json::{Map, Value};

use super::{ExportFormat, head, keep, members, put_stamp};
use crate::{
    entry::{Entry, Position},
    fields::{CardHome, FIELDS, Slot},
    import::EntryStamp,
    world::World,
};

pub(super) fn pieces<'b>(
    world: &'b World,
    rows: Vec<(i64, &'b Entry)>,
    format: ExportFormat,
) -> impl Iterator<Item = String> + Send + use<'b> {
    let (open, close) = match format {
        ExportFormat::LorebookV3 => ("{\"spec\":\"lorebook_v3\",\"data\":{", "}}"),
        _ => ("{", "}"),
    };
    let begin = format!("{open}{},\"entries\":[", members(head(world, true)));
    let rows = rows.into_iter().enumerate().map(|(place, (uid, row))| {
        let comma = if place == 0 { "" } else { "," };
        format!("{comma}{}", Value::Object(entry(uid, row)))
    });
    std::iter::once(begin).chain(rows).chain(std::iter::once(format!("]{close}")))
}

/// V2 and V3 share one form: V3 demands `use_regex`, V2 allows it, and SillyTavern writes true.
fn entry(uid: i64, row: &Entry) -> Map<String, Value> {
    let body = &row.body;
    let mut entry = Map::new();
    let mut extensions = body.extensions.clone();
    entry.insert("id".into(), Value::from(uid));
    for field in &FIELDS {
        let value = field.slot.write(body);
        match field.card {
            CardHome::Entry(name) => entry.insert(name.into(), value),
            CardHome::Extensions(_) if value.is_null() && matches!(field.slot, Slot::Filter(_)) => {
                None
            }
            CardHome::Extensions(name) => extensions.insert(name.into(), value),
        };
    }
    let before = body.position == Position::BeforeChar;
    let position = if before { "before_char" } else { "after_char" };
    entry.insert("position".into(), Value::from(position));
    if let Some(case_sensitive) = body.case_sensitive {
        entry.insert("case_sensitive".into(), Value::Bool(case_sensitive));
    }
    entry.insert("extensions".into(), Value::Null);
    let extra = keep(&mut entry, &body.extra);
    if !extra.is_empty() {
        put_stamp(&mut extensions, &EntryStamp { extra, ..EntryStamp::default() });
    }
    entry.insert("extensions".into(), Value::Object(extensions));
    if !entry.contains_key("use_regex") {
        entry.insert("use_regex".into(), Value::Bool(true));
    }
    entry
}
