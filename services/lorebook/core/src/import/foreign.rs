//! The lorebooks of NovelAI, Agnai and RisuAI (reference A3, foreign formats).

use serde_json::{Map, Value, json};

use crate::{
    import::{
        Format, ImportError, Imported,
        lenient::{self, Read},
        report::{Code, Place},
        shape, world_info,
    },
    keys_text,
};

/// A name of theirs and ours; what is not renamed stays with the entry.
type Rename = (&'static str, &'static str);

/// NovelAI's `.lorebook`: keys, text, and a budget priority that serves as the order.
pub(super) fn novel_ai(root: Map<String, Value>) -> Result<Imported, ImportError> {
    let renames: [Rename; 4] = [
        ("displayName", "comment"),
        ("text", "content"),
        ("keys", "key"),
        ("forceActivation", "constant"),
    ];
    translate(root, "entries", "lorebookVersion", Format::NovelAi, |entry| {
        rename(entry, &renames);
        invert(entry, "enabled");
        let order = entry.get("contextConfig").and_then(|config| config.get("budgetPriority"));
        let order = order.cloned().unwrap_or_else(|| json!(0));
        entry.insert("order".into(), order);
        entry.insert("selective".into(), json!(false));
    })
}

/// Agnai's memory book: keywords, entry, weight.
pub(super) fn agnai(root: Map<String, Value>) -> Result<Imported, ImportError> {
    let renames: [Rename; 4] =
        [("name", "comment"), ("entry", "content"), ("keywords", "key"), ("weight", "order")];
    translate(root, "entries", "kind", Format::Agnai, |entry| {
        rename(entry, &renames);
        invert(entry, "enabled");
        entry.insert("selective".into(), json!(false));
    })
}

/// RisuAI's lore: comma-separated keys, insertion order, a percentage. Its folders hold no lore.
pub(super) fn risu_ai(root: Map<String, Value>) -> Result<Imported, ImportError> {
    let renames: [Rename; 3] = [
        ("insertorder", "order"),
        ("alwaysActive", "constant"),
        ("activationPercent", "probability"),
    ];
    translate(root, "data", "type", Format::RisuAi, |entry| {
        rename(entry, &renames);
        if entry.get("probability").is_some_and(Value::is_null) {
            entry.shift_remove("probability");
        }
        for (theirs, ours) in [("key", "key"), ("secondkey", "keysecondary")] {
            if let Some(Value::String(text)) = entry.shift_remove(theirs) {
                entry.insert(ours.into(), json!(keys_text::split(&text)));
            }
        }
        if entry.get("mode").and_then(Value::as_str) == Some("folder") {
            entry.insert("disable".into(), json!(true));
        }
        if entry.get("mode").and_then(Value::as_str) == Some("constant") {
            entry.insert("constant".into(), json!(true));
        }
        entry.insert("useProbability".into(), json!(true));
    })
}

/// Rewrites each entry in the native spelling and reads the result as World Info. The `mark` of the
/// other form goes, as the export will not have that form.
fn translate(
    mut root: Map<String, Value>,
    list: &str,
    mark: &str,
    format: Format,
    rewrite: impl Fn(&mut Map<String, Value>),
) -> Result<Imported, ImportError> {
    root.shift_remove(mark);
    let mut entries = match root.shift_remove(list).unwrap_or_default() {
        Value::Array(entries) => entries,
        other => return Err(shape(&format!("$.{list}"), &other, "a list")),
    };
    for entry in &mut entries {
        if let Value::Object(entry) = entry {
            rewrite(entry);
        }
    }
    root.insert("entries".into(), Value::Array(entries));
    let mut imported = world_info::read(root, format)?;
    imported.report.add(Code::FormatTranslated, &Place::root(), list, format.name());
    Ok(imported)
}

fn rename(entry: &mut Map<String, Value>, renames: &[Rename]) {
    for (theirs, ours) in renames {
        if let Some(value) = entry.shift_remove(*theirs) {
            entry.insert((*ours).to_owned(), value);
        }
    }
}

/// Their `enabled` as our `disable`.
fn invert(entry: &mut Map<String, Value>, name: &str) {
    if let Some(value) = entry.shift_remove(name)
        && let Read::As(on) | Read::Bent(on, _) = lenient::flag(&value)
    {
        entry.insert("disable".into(), json!(!on));
    }
}
