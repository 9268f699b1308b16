//! A world leaves as SillyTavern's World Info or as a card's book; what came in unknown goes out too.
//!
//! The text comes in pieces, one entry each, so that a large book streams.

mod card;
mod world_info;

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    change::Record,
    entry::{Entry, Layer},
    import::stamp,
    projection,
    world::{Book, World},
};

/// Which rows of a world are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum View {
    /// The user's own rows.
    #[default]
    Authored,
    /// What is in effect, as plain rows.
    Effective,
    /// Everything, overlays and history included: a backup.
    All,
}

/// The forms that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ExportFormat {
    #[default]
    WorldInfo,
    CharacterBookV2,
    CharacterBookV3,
    /// `{"spec": "lorebook_v3", "data": …}`.
    LorebookV3,
}

/// A card's book has no place for overlays and history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("ALL is written as World Info only")]
pub struct ViewNeedsWorldInfo;

/// The rows that a view shows, in order.
pub fn rows(entries: &[Entry], view: View) -> Vec<&Entry> {
    match view {
        View::Authored => entries.iter().filter(|row| row.layer == Layer::Authored).collect(),
        View::Effective => projection::effective(entries),
        View::All => entries.iter().collect(),
    }
}

/// The file in pieces: its beginning, one piece per entry, its end. History belongs to ALL only.
pub fn pieces<'b>(
    book: &'b Book,
    view: View,
    format: ExportFormat,
    history: Vec<Record>,
) -> Result<Box<dyn Iterator<Item = String> + Send + 'b>, ViewNeedsWorldInfo> {
    let rows = numbered(rows(&book.entries, view));
    match format {
        ExportFormat::WorldInfo => {
            Ok(Box::new(world_info::pieces(&book.world, rows, view, history)))
        }
        _ if view == View::All => Err(ViewNeedsWorldInfo),
        format => Ok(Box::new(card::pieces(&book.world, rows, format))),
    }
}

/// The whole file as one text.
pub fn text(book: &Book, view: View, format: ExportFormat) -> Result<String, ViewNeedsWorldInfo> {
    Ok(pieces(book, view, format, Vec::new())?.collect())
}

/// Rows under numbers of their own: a taken one gives way to the next free above all others.
fn numbered(rows: Vec<&Entry>) -> Vec<(i64, &Entry)> {
    let mut next = rows.iter().map(|row| row.uid).max().unwrap_or(-1);
    let mut taken = HashSet::new();
    rows.into_iter()
        .map(|row| {
            if taken.insert(row.uid) {
                return (row.uid, row);
            }
            next += 1;
            taken.insert(next);
            (next, row)
        })
        .collect()
}

/// The members of a book beside its entries.
fn head(world: &World, with_extensions: bool) -> Map<String, Value> {
    let settings = &world.settings;
    let mut head = Map::new();
    head.insert("name".into(), Value::from(world.name.as_str()));
    if !settings.description.is_empty() {
        head.insert("description".into(), Value::from(settings.description.as_str()));
    }
    let optional = [
        ("scan_depth", settings.scan_depth.map(Value::from)),
        ("token_budget", settings.token_budget.map(Value::from)),
        ("recursive_scanning", settings.recursive_scanning.map(Value::from)),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            head.insert(name.into(), value);
        }
    }
    if with_extensions || !settings.extensions.is_empty() {
        head.insert("extensions".into(), Value::Object(settings.extensions.clone()));
    }
    keep(&mut head, &settings.extra);
    head
}

/// Adds kept unknown members; answers those whose names mean something else in this form.
fn keep(into: &mut Map<String, Value>, extra: &Map<String, Value>) -> Map<String, Value> {
    let mut displaced = Map::new();
    for (name, value) in extra {
        let home = if into.contains_key(name) { &mut displaced } else { &mut *into };
        home.insert(name.clone(), value.clone());
    }
    displaced
}

fn put_stamp<T: Serialize>(map: &mut Map<String, Value>, stamp: &T) {
    if let Ok(stamp) = serde_json::to_value(stamp) {
        map.insert(stamp::KEY.into(), stamp);
    }
}

/// The members of an object as text, without its braces.
fn members(map: Map<String, Value>) -> String {
    let text = Value::Object(map).to_string();
    text[1..text.len() - 1].to_owned()
}

// === impl View ===

impl View {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Authored => "authored",
            Self::Effective => "effective",
            Self::All => "all",
        }
    }
}
