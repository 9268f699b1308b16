//! Reference A11: where the texts go.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Row, Scan, text, timed::Effect};

pub fn render(scan: &Scan<'_>) -> Value {
    let rows: Vec<&Row<'_>> = scan.activated.iter().map(|&at| &scan.rows[at]).collect();
    let activated: Vec<Value> = rows.iter().map(|row| json!([row.book, row.uid])).collect();
    let mut sorted = rows;
    sorted.sort_by(|a, b| b.number("order", 100.0).total_cmp(&a.number("order", 100.0)));
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let (mut top, mut bottom, mut examples) = (Vec::new(), Vec::new(), Vec::new());
    let mut depths: Vec<(i64, i64, Vec<&str>)> = Vec::new();
    let mut outlets: Map<String, Value> = Map::new();
    for row in sorted.iter().filter(|row| !row.content.is_empty()) {
        let content = row.content.as_str();
        let own = |name: &str, default: f64| row.number(name, default) as i64;
        match row.decorators.position.unwrap_or(own("position", 0.0)) {
            0 => before.insert(0, content),
            1 => after.insert(0, content),
            2 => top.insert(0, content),
            3 => bottom.insert(0, content),
            4 => {
                let depth = row.decorators.depth.unwrap_or(own("depth", 4.0));
                let role = row.decorators.role.unwrap_or(own("role", 0.0));
                match depths.iter_mut().find(|at| (at.0, at.1) == (depth, role)) {
                    Some(block) => block.2.insert(0, content),
                    None => depths.push((depth, role, vec![content])),
                }
            }
            5 => examples.insert(0, json!({"position": 0, "content": content})),
            6 => examples.insert(0, json!({"position": 1, "content": content})),
            7 if !text(&row.file["outletName"]).is_empty() => {
                let outlet = outlets.entry(text(&row.file["outletName"])).or_insert(json!([]));
                outlet.as_array_mut().expect("a list").push(json!(content));
            }
            _ => {}
        }
    }
    let depth: Vec<Value> = depths
        .into_iter()
        .map(|(depth, role, entries)| json!({"depth": depth, "role": role, "entries": entries}))
        .collect();
    json!({
        "activated": activated,
        "before": before.join("\n"),
        "after": after.join("\n"),
        "em": examples,
        "depth": depth,
        "anTop": top,
        "anBottom": bottom,
        "outlets": outlets,
        "timed": {"sticky": spans(&scan.timed.sticky), "cooldown": spans(&scan.timed.cooldown)},
    })
}

fn spans(effects: &BTreeMap<String, Effect>) -> BTreeMap<&str, Value> {
    let span = |effect: &Effect| json!({"start": effect.start, "end": effect.end, "protected": effect.protected});
    effects.iter().map(|(key, effect)| (key.as_str(), span(effect))).collect()
}
