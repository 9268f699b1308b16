//! SillyTavern's World Info (reference A1): every field written, since its scan reads raw data.

use serde_json::{Map, Value};

use super::{View, head, keep, members, put_stamp};
use crate::{
    change::Record,
    entry::{Entry, Layer},
    fields::{FIELDS, Slot},
    import::{BookStamp, EntryStamp},
    world::World,
};

pub(super) fn pieces<'b>(
    world: &'b World,
    rows: Vec<(i64, &'b Entry)>,
    view: View,
    history: Vec<Record>,
) -> impl Iterator<Item = String> + Send + use<'b> {
    let mut head = head(world, false);
    if view == View::All {
        let (enabled, dynamic_enabled) = (world.enabled, world.dynamic_enabled);
        put_stamp(&mut head, &BookStamp { enabled, dynamic_enabled, history });
    }
    // JavaScript reads number-like keys in ascending order, so another order must be written down.
    let ordered = rows.windows(2).all(|pair| pair[0].0 < pair[1].0)
        && rows.first().is_none_or(|(uid, _)| *uid >= 0);
    let rows = rows.into_iter().zip(0..).map(move |((uid, row), place)| {
        let comma = if place == 0 { "" } else { "," };
        let (mut entry, extra) = entry(uid, row);
        let ordinal = (!ordered).then_some(place);
        let stamp = EntryStamp { ordinal, extra, ..EntryStamp::default() };
        stamp_entry(&mut entry, row, view, stamp);
        format!("{comma}\"{uid}\":{}", Value::Object(entry))
    });
    let end = format!("}},{}}}", members(head));
    std::iter::once("{\"entries\":{".to_owned()).chain(rows).chain(std::iter::once(end))
}

fn entry(uid: i64, row: &Entry) -> (Map<String, Value>, Map<String, Value>) {
    let mut entry = Map::new();
    entry.insert("uid".into(), Value::from(uid));
    for field in &FIELDS {
        let value = match field.slot {
            Slot::Inverted(door) => Value::from(!*(door.get)(&row.body)),
            slot => slot.write(&row.body),
        };
        let absent = value.is_null() && matches!(field.slot, Slot::Filter(_) | Slot::MaybeIndex(_));
        if !absent {
            entry.insert(field.native.into(), value);
        }
    }
    if !row.body.extensions.is_empty() {
        entry.insert("extensions".into(), Value::Object(row.body.extensions.clone()));
    }
    let displaced = keep(&mut entry, &row.body.extra);
    (entry, displaced)
}

fn stamp_entry(entry: &mut Map<String, Value>, row: &Entry, view: View, mut stamp: EntryStamp) {
    if view == View::All {
        stamp.id = Some(row.id.clone());
        stamp.locked = row.locked;
        stamp.entry_revision = row.entry_revision;
        if row.layer == Layer::Dynamic {
            stamp.enabled = Some(row.body.enabled);
            stamp.overlay_action = row.overlay_action;
            stamp.supersedes.clone_from(&row.supersedes_entry_id);
            stamp.archived = row.archived;
            entry.insert("disable".into(), Value::Bool(true));
        }
    }
    if stamp != EntryStamp::default() {
        put_stamp(entry, &stamp);
    }
}
