//! The model's answer becomes operations of the stored kinds, or is rejected with a reason, one by one.
//!
//! The model has three verbs; what a revise or a retract is in the table follows from the row it aims at,
//! never from the model (seed 004, section 3). Whatever the worlds already say is read off them.

use std::collections::HashSet;

use kernel::{EntryId, limits};
use serde_json::{Map, Value};

use crate::{
    catalogue::Catalogue,
    evaluation::{Judgement, Rejected},
    operation::{Kind, Operation},
    world::{Row, World},
};

/// What the model wants done, whatever word it used for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Create,
    Revise,
    Retract,
}

/// Why an answer is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    #[error("the arguments are not an object")]
    NotAnObject,
    #[error("operations is not a list")]
    NotAList,
}

/// Checks an answer against the worlds that were listed for it.
pub fn validate(
    arguments: &Value,
    worlds: &[World],
    catalogue: &Catalogue,
) -> Result<Judgement, Unusable> {
    let arguments = arguments.as_object().ok_or(Unusable::NotAnObject)?;
    let proposed = match arguments.get("operations") {
        None | Some(Value::Null) => &[],
        Some(Value::Array(proposed)) => proposed.as_slice(),
        Some(_) => return Err(Unusable::NotAList),
    };
    let mut bench = Bench::new(worlds, catalogue);
    for (index, proposal) in proposed.iter().enumerate().take(limits::CHANGE_OPERATIONS_MAX) {
        bench.judge(index, proposal);
    }
    if proposed.len() > limits::CHANGE_OPERATIONS_MAX {
        let over = proposed.len() - limits::CHANGE_OPERATIONS_MAX;
        let reason =
            format!("{over} operations beyond the first {}", limits::CHANGE_OPERATIONS_MAX);
        bench.reject(limits::CHANGE_OPERATIONS_MAX, &Value::Null, reason);
    }
    bench.judgement.summary = text(arguments, "summary").unwrap_or_default();
    truncate(&mut bench.judgement.summary, limits::CHANGE_NOTE_CHARS_MAX);
    Ok(bench.judgement)
}

/// The state of one judgement: what earlier operations of the same answer have taken.
struct Bench<'a> {
    worlds: &'a [World],
    catalogue: &'a Catalogue,
    targeted: HashSet<&'a EntryId>,
    /// Per world the names, in lower case, of dynamic entries in effect once the accepted ones apply.
    names: Vec<Vec<String>>,
    judgement: Judgement,
}

// === impl Bench ===

impl<'a> Bench<'a> {
    fn new(worlds: &'a [World], catalogue: &'a Catalogue) -> Self {
        let names = |world: &World| {
            let dynamic = world.targets().filter(|row| !row.is_authored() && !row.is_marker());
            dynamic.map(|row| row.name.trim().to_lowercase()).collect()
        };
        Self {
            worlds,
            catalogue,
            targeted: HashSet::new(),
            names: worlds.iter().map(names).collect(),
            judgement: Judgement::default(),
        }
    }

    fn judge(&mut self, index: usize, proposal: &Value) {
        match self.accept(proposal) {
            Ok((world, operation)) => {
                let id = &self.worlds[world].id;
                let worlds = &mut self.judgement.worlds;
                match worlds.iter_mut().find(|(known, _)| known == id) {
                    Some((_, operations)) => operations.push(operation),
                    None => worlds.push((id.clone(), vec![operation])),
                }
            }
            Err(reason) => self.reject(index, proposal, reason),
        }
    }

    fn reject(&mut self, index: usize, proposal: &Value, reason: String) {
        let mut operation = proposal.to_string();
        truncate(&mut operation, limits::CHANGE_REJECTED_CHARS_MAX);
        self.judgement.rejected.push(Rejected { index, reason, operation });
    }

    /// The world's place and the operation. Nothing is taken unless all of it holds.
    fn accept(&mut self, proposal: &Value) -> Result<(usize, Operation), String> {
        let proposal = proposal.as_object().ok_or("it is not an object")?;
        let verb = verb(proposal)?;
        let target = target(proposal)?;
        let (world, row) = match (verb, target) {
            (Verb::Create, None) => (self.world_of_create(proposal)?, None),
            (Verb::Create, Some(_)) => return Err("a create must not name a target".into()),
            (_, None) => return Err("target_entry_id is missing".into()),
            (_, Some(number)) => {
                let (world, row) = self.row(number)?;
                (world, Some(row))
            }
        };
        let operation = match (verb, row) {
            (Verb::Retract, Some(row)) => retract(row, proposal),
            (_, row) => body(row, proposal)?,
        };
        operation.check_caps().map_err(|over| over.to_string())?;
        self.take_name(world, row, &operation)?;
        self.targeted.extend(row.map(|row| &row.id));
        Ok((world, operation))
    }

    fn world_of_create(&self, proposal: &Map<String, Value>) -> Result<usize, String> {
        if self.worlds.len() == 1 {
            return Ok(0);
        }
        let asked = text(proposal, "target_world").unwrap_or_default();
        let asked = asked.trim();
        if asked.is_empty() {
            return Err("target_world is missing, and several worlds are listed".into());
        }
        if let Some(at) = self.worlds.iter().position(|world| world.id.as_str() == asked) {
            return Ok(at);
        }
        let named = |world: &World| world.name.trim().to_lowercase() == asked.to_lowercase();
        let mut places = (0..self.worlds.len()).filter(|&at| named(&self.worlds[at]));
        match (places.next(), places.next()) {
            (Some(at), None) => Ok(at),
            (Some(_), Some(_)) => Err("target_world is the name of several worlds".into()),
            (None, _) => Err("target_world is none of the listed worlds".into()),
        }
    }

    fn row(&self, number: u64) -> Result<(usize, &'a Row), String> {
        let unknown = || format!("entry {number} is not listed");
        let (world, id) = self.catalogue.entry(number).ok_or_else(unknown)?;
        let row = self.worlds[world].row(id).ok_or_else(unknown)?;
        if row.locked {
            return Err(format!("entry {number} is locked"));
        }
        if self.targeted.contains(&row.id) {
            return Err(format!("entry {number} is the target of an earlier operation"));
        }
        Ok((world, row))
    }

    /// A dynamic entry's name must tell it from the others; its own is free to it.
    fn take_name(&mut self, world: usize, row: Option<&Row>, op: &Operation) -> Result<(), String> {
        let names = &mut self.names[world];
        let own = row.filter(|row| !row.is_authored() && !row.is_marker());
        let freed = own.and_then(|row| {
            let own_name = row.name.trim().to_lowercase();
            names.iter().position(|name| *name == own_name)
        });
        let wanted = match op.kind {
            Kind::Create | Kind::Replace | Kind::Update => op.name.as_ref(),
            Kind::Suppress | Kind::Archive => None,
        };
        let wanted = wanted.map(|name| name.trim().to_lowercase());
        let clash =
            |name: &String| names.iter().enumerate().any(|(at, n)| n == name && Some(at) != freed);
        if let Some(name) = wanted.as_ref().filter(|name| clash(name)) {
            return Err(format!("another dynamic entry of this world is named {name:?}"));
        }
        let moves_on = op.kind == Kind::Archive || wanted.is_some();
        if let Some(at) = freed.filter(|_| moves_on) {
            names.swap_remove(at);
        }
        names.extend(wanted);
        Ok(())
    }
}

fn verb(proposal: &Map<String, Value>) -> Result<Verb, String> {
    let word = text(proposal, "op").unwrap_or_default().trim().to_lowercase();
    match word.as_str() {
        "create" => Ok(Verb::Create),
        "revise" | "replace" | "update" => Ok(Verb::Revise),
        "retract" | "suppress" | "archive" => Ok(Verb::Retract),
        "" => Err("op is missing".into()),
        _ => Err(format!("op {word:.40?} is not create, revise or retract")),
    }
}

/// A number, or a text that is one; brackets around it are forgiven.
fn target(proposal: &Map<String, Value>) -> Result<Option<u64>, String> {
    let number = match proposal.get("target_entry_id") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => return Ok(None),
        Some(Value::Number(number)) => number.as_u64(),
        Some(Value::String(text)) => text.trim().trim_matches(['[', ']']).parse().ok(),
        Some(_) => None,
    };
    number.map(Some).ok_or_else(|| "target_entry_id is not a number".into())
}

fn retract(row: &Row, proposal: &Map<String, Value>) -> Operation {
    let kind = if row.is_authored() { Kind::Suppress } else { Kind::Archive };
    Operation {
        kind,
        target: Some(row.id.clone()),
        name: None,
        content: None,
        constant: None,
        keywords: None,
        rationale: rationale(proposal),
    }
}

/// A create, or what a revise is for its row. What it does not restate is inherited.
fn body(row: Option<&Row>, proposal: &Map<String, Value>) -> Result<Operation, String> {
    if row.is_some_and(Row::is_marker) {
        return Err("this entry only hides another and can only be retracted".into());
    }
    let kind = match row {
        None => Kind::Create,
        Some(row) if row.is_authored() => Kind::Replace,
        Some(_) => Kind::Update,
    };
    let stated = |field| text(proposal, field).filter(|text| !text.trim().is_empty());
    let name = stated("name").map(|name| name.trim().to_owned());
    let content = stated("content");
    if kind != Kind::Update {
        name.as_ref().ok_or("name is empty")?;
        content.as_ref().ok_or("content is empty")?;
    }
    let title = name.as_deref().or(row.map(|row| row.name.trim())).unwrap_or_default();
    let (constant, keywords) = activation(row, title, proposal);
    let operation = Operation {
        kind,
        target: row.map(|row| row.id.clone()),
        name,
        content,
        constant,
        keywords,
        rationale: rationale(proposal),
    };
    match row.filter(|_| kind == Kind::Update).is_some_and(|row| changes_nothing(&operation, row)) {
        true => Err("it changes nothing".into()),
        false => Ok(operation),
    }
}

/// What the operation says about activation; `None` leaves it as the target has it.
fn activation(
    row: Option<&Row>,
    title: &str,
    proposal: &Map<String, Value>,
) -> (Option<bool>, Option<Vec<String>>) {
    let stated_constant = match text(proposal, "activation").as_deref().map(str::trim) {
        Some("constant") => Some(true),
        Some("keywords") => Some(false),
        _ => None,
    };
    let stated_keywords = proposal.get("keywords").and_then(Value::as_array).map(|k| cleaned(k));
    let constant = stated_constant.or(row.map(|row| row.constant)).unwrap_or(false);
    if constant {
        let restated = stated_constant.is_some() || stated_keywords.is_some();
        return (stated_constant, restated.then(Vec::new));
    }
    let inherited = || row.map(|row| row.keywords.clone()).unwrap_or_default();
    let keywords = stated_keywords.clone().unwrap_or_else(inherited);
    match keywords.is_empty() {
        true => (stated_constant.or(Some(false)), Some(vec![title.to_owned()])),
        false if row.is_none() => (Some(false), Some(keywords)),
        false => (stated_constant, stated_keywords),
    }
}

/// Trimmed, without blanks, each once in its first spelling.
fn cleaned(keywords: &[Value]) -> Vec<String> {
    let mut seen = HashSet::new();
    let texts = keywords.iter().filter_map(Value::as_str).map(str::trim);
    texts
        .filter(|keyword| !keyword.is_empty() && seen.insert(keyword.to_lowercase()))
        .map(str::to_owned)
        .collect()
}

fn changes_nothing(operation: &Operation, row: &Row) -> bool {
    operation.name.as_ref().is_none_or(|name| *name == row.name)
        && operation.content.as_ref().is_none_or(|content| *content == row.content)
        && operation.constant.is_none_or(|constant| constant == row.constant)
        && operation.keywords.as_ref().is_none_or(|keywords| *keywords == row.keywords)
}

fn rationale(proposal: &Map<String, Value>) -> String {
    let mut rationale = text(proposal, "rationale").unwrap_or_default().trim().to_owned();
    truncate(&mut rationale, limits::CHANGE_NOTE_CHARS_MAX);
    rationale
}

fn text(object: &Map<String, Value>, field: &str) -> Option<String> {
    object.get(field).and_then(Value::as_str).map(str::to_owned)
}

fn truncate(text: &mut String, chars: usize) {
    if let Some((at, _)) = text.char_indices().nth(chars) {
        text.truncate(at);
    }
}

#[cfg(test)]
mod tests;
