//! Checks each operation against the live rows and works out the rows it would leave: all or nothing.

use std::collections::{HashMap, HashSet};

use kernel::{EntryId, limits};

use super::{Operation, Pair, Patch};
use crate::{
    entry::{Entry, EntryBody, Layer, OverlayAction},
    projection,
    world::Book,
};

/// What a change will write: one pair per operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    pub pairs: Vec<Pair>,
}

/// Why a change as a whole is not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("an embedded book is immutable")]
    Embedded,
    #[error("a change needs an operation")]
    Empty,
    #[error("{count} operations, at most {} are allowed", limits::CHANGE_OPERATIONS_MAX)]
    TooMany { count: usize },
    #[error("the world would have more than {} entries", limits::BOOK_ENTRIES_MAX)]
    WorldFull,
    #[error("{} of the operations no longer hold", .0.len())]
    Operations(Vec<Rejected>),
}

/// One operation that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("operation {index}: {reason}")]
pub struct Rejected {
    pub index: usize,
    pub reason: Reason,
}

/// Why an operation does not hold (seed 004, section 3; the caps of 50-proposal).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Reason {
    #[error("the target is not an entry of this world")]
    TargetUnknown,
    #[error("the target is switched off or retired")]
    TargetNotLive,
    #[error("the target is locked")]
    TargetLocked,
    #[error("the target is hidden by another overlay")]
    TargetNotInEffect,
    #[error("another operation has the same target")]
    TargetTwice,
    #[error("the target is authored, which no change may write")]
    TargetAuthored,
    #[error("the target is of the dynamic layer, so it cannot be overlaid")]
    TargetDynamic,
    #[error("a suppress marker can only be retired")]
    TargetMarker,
    #[error("it changes nothing")]
    ChangesNothing,
    #[error("the entry would have no name")]
    NameMissing,
    #[error("the name is longer than {} characters", limits::CHANGE_NAME_CHARS_MAX)]
    NameTooLong,
    #[error("another dynamic entry in effect has this name")]
    NameTaken,
    #[error("the entry would have no content")]
    ContentMissing,
    #[error("the content is longer than {} bytes", limits::CHANGE_CONTENT_BYTES_MAX)]
    ContentTooLong,
    #[error("more than {} keywords", limits::CHANGE_KEYWORDS_MAX)]
    TooManyKeywords,
    #[error("a keyword is longer than {} characters", limits::CHANGE_KEYWORD_CHARS_MAX)]
    KeywordTooLong,
    #[error("this operation is recorded only, never applied")]
    NotApplicable,
}

/// Plans a change on the rows as they stand. `new_id` names the row that an operation creates.
pub fn plan(
    book: &Book,
    operations: &[Operation],
    new_id: impl Fn(usize) -> EntryId,
) -> Result<Planned, Refusal> {
    if book.world.embedded {
        return Err(Refusal::Embedded);
    }
    match operations.len() {
        0 => return Err(Refusal::Empty),
        count if count > limits::CHANGE_OPERATIONS_MAX => return Err(Refusal::TooMany { count }),
        _ => {}
    }
    let mut planner = Planner::new(book);
    let mut pairs = Vec::with_capacity(operations.len());
    let mut rejected = Vec::new();
    for (index, operation) in operations.iter().enumerate() {
        match planner.plan(operation, || new_id(index)) {
            Ok(pair) => pairs.push(pair),
            Err(reason) => rejected.push(Rejected { index, reason }),
        }
    }
    if !rejected.is_empty() {
        return Err(Refusal::Operations(rejected));
    }
    let created = pairs.iter().filter(|pair| pair.before.is_none()).count();
    if book.entries.len() + created > limits::BOOK_ENTRIES_MAX {
        return Err(Refusal::WorldFull);
    }
    Ok(Planned { pairs })
}

struct Planner<'b> {
    rows: HashMap<&'b EntryId, &'b Entry>,
    hidden: HashSet<&'b EntryId>,
    /// Folded names of the dynamic rows in effect, with how many bear each.
    names: HashMap<String, usize>,
    claimed: HashSet<EntryId>,
    next_uid: i64,
    next_ordinal: i64,
}

// === impl Planner ===

impl<'b> Planner<'b> {
    fn new(book: &'b Book) -> Self {
        let mut names = HashMap::new();
        for row in projection::effective(&book.entries) {
            if row.layer == Layer::Dynamic {
                *names.entry(folded(&row.body.comment)).or_default() += 1;
            }
        }
        let above = |value: fn(&Entry) -> i64| {
            book.entries.iter().map(value).max().map_or(0, |highest| highest.saturating_add(1))
        };
        Self {
            rows: book.entries.iter().map(|row| (&row.id, row)).collect(),
            hidden: projection::hidden(&book.entries),
            names,
            claimed: HashSet::new(),
            next_uid: above(|row| row.uid).max(0),
            next_ordinal: above(|row| row.ordinal),
        }
    }

    fn plan(&mut self, operation: &Operation, id: impl Fn() -> EntryId) -> Result<Pair, Reason> {
        match operation {
            Operation::Create { fields } => self.create(fields, id()),
            Operation::Update { target, fields } => self.update(target, fields),
            Operation::Replace { target, fields } => self.replace(target, fields, id()),
            Operation::Suppress { target } => self.suppress(target, id()),
            Operation::Archive { target } => self.archive(target),
            Operation::Restore { .. } | Operation::Delete { .. } => Err(Reason::NotApplicable),
        }
    }

    fn create(&mut self, fields: &Patch, id: EntryId) -> Result<Pair, Reason> {
        let body = finished(fields, &EntryBody::default())?;
        self.claim_name(&body.comment)?;
        Ok(self.inserted(id, OverlayAction::Add, None, body))
    }

    fn replace(&mut self, target: &EntryId, fields: &Patch, id: EntryId) -> Result<Pair, Reason> {
        let row = self.overlayable(target)?;
        let body = finished(fields, &row.body)?;
        if body == row.body {
            return Err(Reason::ChangesNothing);
        }
        self.claim_name(&body.comment)?;
        self.claimed.insert(target.clone());
        Ok(self.inserted(id, OverlayAction::Replace, Some(target), body))
    }

    fn suppress(&mut self, target: &EntryId, id: EntryId) -> Result<Pair, Reason> {
        let row = self.overlayable(target)?;
        let body = EntryBody { comment: row.body.comment.clone(), ..EntryBody::default() };
        self.claimed.insert(target.clone());
        Ok(self.inserted(id, OverlayAction::Suppress, Some(target), body))
    }

    fn update(&mut self, target: &EntryId, fields: &Patch) -> Result<Pair, Reason> {
        let row = self.writable(target)?;
        if row.is_marker() {
            return Err(Reason::TargetMarker);
        }
        let body = finished(fields, &row.body)?;
        if body == row.body {
            return Err(Reason::ChangesNothing);
        }
        self.free_name(&row.body.comment);
        if let Err(taken) = self.claim_name(&body.comment) {
            self.hold_name(&row.body.comment);
            return Err(taken);
        }
        self.claimed.insert(target.clone());
        let entry_revision = row.entry_revision + 1;
        Ok(pair(Some(row), Entry { body, entry_revision, ..row.clone() }))
    }

    fn archive(&mut self, target: &EntryId) -> Result<Pair, Reason> {
        let row = self.writable(target)?;
        if !row.is_marker() {
            self.free_name(&row.body.comment);
        }
        self.claimed.insert(target.clone());
        let entry_revision = row.entry_revision + 1;
        Ok(pair(Some(row), Entry { archived: true, entry_revision, ..row.clone() }))
    }

    /// A row that may be a target at all, checked in this order.
    fn target(&self, id: &EntryId) -> Result<&'b Entry, Reason> {
        let row = *self.rows.get(id).ok_or(Reason::TargetUnknown)?;
        if !row.is_live() {
            return Err(Reason::TargetNotLive);
        }
        if row.locked {
            return Err(Reason::TargetLocked);
        }
        if self.claimed.contains(id) {
            return Err(Reason::TargetTwice);
        }
        Ok(row)
    }

    fn overlayable(&self, id: &EntryId) -> Result<&'b Entry, Reason> {
        let row = self.target(id)?;
        match row.layer {
            Layer::Dynamic => Err(Reason::TargetDynamic),
            Layer::Authored if self.hidden.contains(id) => Err(Reason::TargetNotInEffect),
            Layer::Authored => Ok(row),
        }
    }

    fn writable(&self, id: &EntryId) -> Result<&'b Entry, Reason> {
        let row = self.target(id)?;
        match row.layer {
            Layer::Authored => Err(Reason::TargetAuthored),
            Layer::Dynamic => Ok(row),
        }
    }

    fn claim_name(&mut self, name: &str) -> Result<(), Reason> {
        if self.names.get(&folded(name)).is_some_and(|bearers| *bearers > 0) {
            return Err(Reason::NameTaken);
        }
        self.hold_name(name);
        Ok(())
    }

    fn hold_name(&mut self, name: &str) {
        *self.names.entry(folded(name)).or_default() += 1;
    }

    fn free_name(&mut self, name: &str) {
        if let Some(bearers) = self.names.get_mut(&folded(name)) {
            *bearers = bearers.saturating_sub(1);
        }
    }

    fn inserted(
        &mut self,
        id: EntryId,
        action: OverlayAction,
        supersedes: Option<&EntryId>,
        body: EntryBody,
    ) -> Pair {
        let mut row = Entry::authored(id, self.next_uid, self.next_ordinal, body);
        row.layer = Layer::Dynamic;
        row.overlay_action = Some(action);
        row.supersedes_entry_id = supersedes.cloned();
        self.next_uid = self.next_uid.saturating_add(1);
        self.next_ordinal = self.next_ordinal.saturating_add(1);
        pair(None, row)
    }
}

/// The body that results, inherited where it is not restated, held to the rules and the caps.
fn finished(fields: &Patch, base: &EntryBody) -> Result<EntryBody, Reason> {
    let mut body = fields.apply(base);
    // A blank name or text says nothing, so it is inherited too.
    if body.comment.trim().is_empty() {
        body.comment.clone_from(&base.comment);
    }
    if body.content.trim().is_empty() {
        body.content.clone_from(&base.content);
    }
    if fields.restates("comment") {
        body.comment = body.comment.trim().to_owned();
        check(body.comment.chars().count(), limits::CHANGE_NAME_CHARS_MAX, Reason::NameTooLong)?;
    }
    if fields.restates("content") {
        check(body.content.len(), limits::CHANGE_CONTENT_BYTES_MAX, Reason::ContentTooLong)?;
    }
    if body.comment.trim().is_empty() {
        return Err(Reason::NameMissing);
    }
    if body.content.trim().is_empty() {
        return Err(Reason::ContentMissing);
    }
    if fields.restates("keys") {
        body.keys = cleaned(&body.keys);
        check(body.keys.len(), limits::CHANGE_KEYWORDS_MAX, Reason::TooManyKeywords)?;
        let longest = body.keys.iter().map(|key| key.chars().count()).max().unwrap_or(0);
        check(longest, limits::CHANGE_KEYWORD_CHARS_MAX, Reason::KeywordTooLong)?;
    }
    if fields.restates("constant") && body.constant {
        body.keys.clear();
    }
    if !body.constant && !body.vectorized && body.keys.is_empty() {
        body.keys.push(body.comment.clone());
    }
    Ok(body)
}

/// Keywords trimmed, without blanks, and without repetitions in another case: the first spelling stays.
fn cleaned(keys: &[String]) -> Vec<String> {
    let mut seen = HashSet::new();
    let trimmed = keys.iter().map(|key| key.trim());
    trimmed.filter(|key| !key.is_empty() && seen.insert(folded(key))).map(str::to_owned).collect()
}

fn check(found: usize, most: usize, reason: Reason) -> Result<(), Reason> {
    if found > most { Err(reason) } else { Ok(()) }
}

fn folded(name: &str) -> String {
    name.trim().to_lowercase()
}

fn pair(before: Option<&Entry>, after: Entry) -> Pair {
    Pair { before: before.cloned(), after: Some(after) }
}

// === impl Reason ===

impl Reason {
    /// A stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::TargetUnknown => "TARGET_UNKNOWN",
            Self::TargetNotLive => "TARGET_NOT_LIVE",
            Self::TargetLocked => "TARGET_LOCKED",
            Self::TargetNotInEffect => "TARGET_NOT_IN_EFFECT",
            Self::TargetTwice => "TARGET_TWICE",
            Self::TargetAuthored => "TARGET_AUTHORED",
            Self::TargetDynamic => "TARGET_DYNAMIC",
            Self::TargetMarker => "TARGET_MARKER",
            Self::ChangesNothing => "CHANGES_NOTHING",
            Self::NameMissing => "NAME_MISSING",
            Self::NameTooLong => "NAME_TOO_LONG",
            Self::NameTaken => "NAME_TAKEN",
            Self::ContentMissing => "CONTENT_MISSING",
            Self::ContentTooLong => "CONTENT_TOO_LONG",
            Self::TooManyKeywords => "TOO_MANY_KEYWORDS",
            Self::KeywordTooLong => "KEYWORD_TOO_LONG",
            Self::NotApplicable => "NOT_APPLICABLE",
        }
    }
}
