//! The prompts of a preset and the order in force.

use std::collections::HashSet;

use serde_json::Value;

use crate::{
    format::{
        fields::{Fields, kind},
        report::{Code, Report},
        role_named,
    },
    preset::{Injection, OrderEntry, OrderSource, Prompt, builtin},
};

/// The list that SillyTavern uses (reference B2).
const GLOBAL: &str = "100001";
/// A leftover of older versions.
const LEGACY: &str = "100000";

pub struct Prompts {
    pub prompts: Vec<Prompt>,
    pub order: Vec<OrderEntry>,
    pub source: OrderSource,
}

pub fn read(root: &mut Fields, report: &mut Report) -> Prompts {
    let items = root.list("prompts", report).unwrap_or_default();
    let message = match items.len() {
        0 => "a preset without prompts: the built-in ones serve".to_owned(),
        count => format!("a preset of {count} prompts"),
    };
    report.format = "chat_completion_preset".to_owned();
    report.count("prompts", items.len());
    report.add(Code::FormatRecognised, "", message);
    let mut prompts: Vec<Prompt> =
        items.into_iter().enumerate().filter_map(|(at, item)| prompt(at, item, report)).collect();
    report_repeated(&prompts, report);
    builtin::complete(&mut prompts);
    read_old_texts(root, &mut prompts, report);
    let (order, source) = order(root, report);
    report_order(&prompts, &order, source, report);
    Prompts { prompts, order, source }
}

fn prompt(at: usize, item: Value, report: &mut Report) -> Option<Prompt> {
    let path = format!("prompts[{at}]");
    let Value::Object(item) = item else {
        report.add(Code::ValueUnusable, path, format!("is {}, not a prompt", kind(&item)));
        return None;
    };
    let mut item = Fields::new(item, path);
    let mut prompt = Prompt::new(identifier(at, &mut item, report), "");
    prompt.name = item.text("name", report).unwrap_or_else(|| prompt.identifier.clone());
    prompt.role = role_named(&mut item, "role", report);
    prompt.content = item.text("content", report).unwrap_or_default().into();
    prompt.system_prompt = item.flag("system_prompt", report);
    prompt.marker = item.flag("marker", report).unwrap_or(false);
    prompt.forbid_overrides = item.flag("forbid_overrides", report).unwrap_or(false);
    prompt.triggers = item.texts("injection_trigger", report);
    prompt.injection = injection(&mut item, report);
    item.drop_all(&["enabled", "extension"]);
    item.report_unknown(report);
    Some(prompt)
}

/// SillyTavern makes a random one, which nothing can refer to; ours is stable.
fn identifier(at: usize, item: &mut Fields, report: &mut Report) -> String {
    if let Some(identifier) = item.text("identifier", report).filter(|id| !id.is_empty()) {
        return identifier;
    }
    if let Some(identifier) = item.text("id", report).filter(|id| !id.is_empty()) {
        report.add(Code::OldKey, item.path("id"), "was read as identifier");
        return identifier;
    }
    let identifier = format!("prompt-{at}");
    let message = format!("is missing: the prompt is called {identifier:?}");
    report.add(Code::PromptIdentifierMade, item.path("identifier"), message);
    identifier
}

fn injection(item: &mut Fields, report: &mut Report) -> Injection {
    let depth = item.count("injection_depth", report);
    let order = item.integer("injection_order", report).unwrap_or(Injection::ORDER_DEFAULT);
    match item.integer("injection_position", report) {
        Some(1) => Injection::Absolute { depth, order },
        None | Some(0) => Injection::Relative,
        Some(number) => {
            let message = format!("is {number}, which nobody defined: the prompt is relative");
            report.add(Code::ValueUnusable, item.path("injection_position"), message);
            Injection::Relative
        }
    }
}

/// From before the prompt manager: three texts at the root.
fn read_old_texts(root: &mut Fields, prompts: &mut [Prompt], report: &mut Report) {
    let pairs =
        [("main_prompt", "main"), ("nsfw_prompt", "nsfw"), ("jailbreak_prompt", "jailbreak")];
    for (old, identifier) in pairs {
        let Some(text) = root.text(old, report).filter(|text| !text.is_empty()) else { continue };
        if let Some(prompt) = prompts.iter_mut().find(|prompt| prompt.identifier == identifier) {
            report.add(Code::OldKey, old, format!("was read as the text of prompt {identifier:?}"));
            prompt.content = text.into();
        }
    }
}

fn order(root: &mut Fields, report: &mut Report) -> (Vec<OrderEntry>, OrderSource) {
    let lists = root.list("prompt_order", report).unwrap_or_default();
    if lists.iter().any(|entry| entry.get("identifier").is_some()) {
        report.add(
            Code::OldKey,
            "prompt_order",
            "is one plain list: it was read as the global order",
        );
        return (entries(lists, "prompt_order", report), OrderSource::Global);
    }
    let mut lists: Vec<_> = lists.into_iter().map(Some).collect();
    for (character, source) in [(GLOBAL, OrderSource::Global), (LEGACY, OrderSource::Legacy)] {
        let found = lists
            .iter_mut()
            .enumerate()
            .find(|(_, list)| list.as_ref().is_some_and(|list| is_for(list, character)));
        let Some((at, list)) = found else { continue };
        let path = format!("prompt_order[{at}].order");
        let items = match list.take().as_mut().map(|list| list["order"].take()) {
            Some(Value::Array(items)) => items,
            _ => {
                report.add(Code::ValueUnusable, path, "is no list: the order is passed over");
                continue;
            }
        };
        if source == OrderSource::Legacy {
            let message = "is for character 100000, the only one there: it is used";
            report.add(Code::PresetOrderFallback, format_args!("prompt_order[{at}]"), message);
        }
        return (entries(items, &path, report), source);
    }
    if !lists.is_empty() {
        let message = "holds no order for character 100001: the built-in one serves";
        report.add(Code::ValueUnusable, "prompt_order", message);
    }
    (builtin::order(), OrderSource::BuiltIn)
}

fn is_for(list: &Value, character: &str) -> bool {
    match list.get("character_id") {
        Some(Value::String(id)) => id.trim() == character,
        Some(Value::Number(id)) => id.to_string() == character,
        _ => false,
    }
}

fn entries(items: Vec<Value>, path: &str, report: &mut Report) -> Vec<OrderEntry> {
    let mut entries = Vec::with_capacity(items.len());
    for (at, item) in items.into_iter().enumerate() {
        let path = format!("{path}[{at}]");
        let Value::Object(item) = item else {
            report.add(Code::OrderEntryUnusable, path, format!("is {}, not an entry", kind(&item)));
            continue;
        };
        let mut item = Fields::new(item, path);
        match item.text("identifier", report) {
            Some(identifier) => {
                let enabled = item.flag("enabled", report).unwrap_or(false);
                entries.push(OrderEntry { identifier, enabled });
            }
            None => report.add(Code::OrderEntryUnusable, item.path("identifier"), "is missing"),
        }
    }
    entries
}

fn report_repeated(prompts: &[Prompt], report: &mut Report) {
    let mut seen = HashSet::new();
    for (at, prompt) in prompts.iter().enumerate() {
        if !seen.insert(prompt.identifier.as_str()) {
            let message = format!("repeats {}: the first one counts", shown(&prompt.identifier));
            report.add(Code::PromptRepeated, format_args!("prompts[{at}].identifier"), message);
        }
    }
}

/// What the order names without there being such a prompt, and what it leaves out.
fn report_order(
    prompts: &[Prompt],
    order: &[OrderEntry],
    source: OrderSource,
    report: &mut Report,
) {
    let known: HashSet<&str> = prompts.iter().map(|prompt| prompt.identifier.as_str()).collect();
    let mut placed = HashSet::new();
    for entry in order {
        let name = shown(&entry.identifier);
        if !known.contains(entry.identifier.as_str()) {
            let message = format!("names {name}, which is no prompt");
            report.add(Code::PromptUnknown, "prompt_order", message);
        } else if !placed.insert(entry.identifier.as_str()) {
            let message = format!("names {name} twice: the first place counts");
            report.add(Code::PromptDuplicated, "prompt_order", message);
        }
    }
    let left_out: Vec<String> = prompts
        .iter()
        .filter(|prompt| !placed.contains(prompt.identifier.as_str()))
        .filter(|prompt| !builtin::is_builtin(&prompt.identifier))
        .map(|prompt| shown(&prompt.identifier))
        .collect();
    if left_out.is_empty() {
        return;
    }
    let why = match source {
        OrderSource::BuiltIn => {
            "the file has no usable order and the built-in one does not name them"
        }
        OrderSource::Global | OrderSource::Legacy => "the order does not name them",
    };
    let first = left_out.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
    let message = format!("{} prompts are never sent, {why}: {first}", left_out.len());
    report.add(Code::PromptNotInOrder, "prompt_order", message);
}

fn shown(identifier: &str) -> String {
    format!("{:?}", identifier.chars().take(60).collect::<String>())
}
