//! Which entries take part in a scan, and in which order (reference A4).

use std::{collections::HashMap, sync::Arc};

use kernel::{WorldId, limits};

use super::{
    compiled::{CompiledEntry, CompiledWorld, order_descending},
    diagnostic::{Code, Diagnostic},
    settings::CandidateOrder,
};

/// Why a world takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceKind {
    /// Bound to the session: SillyTavern's chat book.
    Session,
    /// Bound to the user: its persona book.
    User,
    /// Bound to or embedded in the character.
    Character,
    /// For all sessions, or by the preset.
    Global,
}

/// A world and why it takes part.
#[derive(Debug, Clone)]
pub struct Source {
    pub world: Arc<CompiledWorld>,
    pub kind: SourceKind,
}

/// An entry that takes part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'s> {
    /// Index into the worlds of the scan.
    pub world: usize,
    pub compiled: &'s CompiledEntry,
}

/// A row of the candidate list. Small: the whole list is written for each request.
#[derive(Debug, Clone, Copy)]
struct Row {
    world: u32,
    entry: u32,
}

/// The worlds of a scan and their entries in order.
#[derive(Debug)]
pub(super) struct Candidates<'s> {
    pub worlds: Vec<&'s CompiledWorld>,
    rows: Vec<Row>,
    /// For each world the place of each of its entries in the list.
    pub places: Vec<Vec<u32>>,
}

// === impl Candidates ===

impl<'s> Candidates<'s> {
    /// Lists the entries of all sources. Of a world that is named twice one source counts: the global
    /// one, then the session's, the user's, the character's; with `PerWorld` the first. A world that
    /// would go over the limit of entries is left out whole.
    pub fn new(
        sources: &'s [Source],
        order: CandidateOrder,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let kept = reserve(once_each(sources, order), diagnostics);
        let worlds: Vec<&CompiledWorld> = kept.iter().map(|source| &*source.world).collect();
        let count = worlds.iter().map(|world| world.entries().len()).sum();
        let mut rows: Vec<Row> = Vec::with_capacity(count);
        let compiled = |row: &Row| &worlds[row.world as usize].entries()[row.entry as usize];
        for turn in turns(order, &kept) {
            let from = rows.len();
            for &world in &turn {
                let entries = worlds[world].by_order().iter();
                rows.extend(entries.map(|&entry| Row { world: world as u32, entry }));
            }
            if turn.len() > 1 {
                rows[from..].sort_by(|a, b| order_descending(compiled(a), compiled(b)));
            }
        }
        let mut places: Vec<Vec<u32>> =
            worlds.iter().map(|world| vec![0; world.entries().len()]).collect();
        for (place, row) in (0u32..).zip(&rows) {
            places[row.world as usize][row.entry as usize] = place;
        }
        Self { worlds, rows, places }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The candidate in a place of the list.
    pub fn at(&self, place: usize) -> Candidate<'s> {
        let Row { world, entry } = self.rows[place];
        let world = world as usize;
        Candidate { world, compiled: &self.worlds[world].entries()[entry as usize] }
    }

    pub fn iter(&self) -> impl Iterator<Item = Candidate<'s>> {
        (0..self.len()).map(|place| self.at(place))
    }
}

// The worlds whose entries are sorted together, turn after turn.
fn turns(order: CandidateOrder, kept: &[&Source]) -> Vec<Vec<usize>> {
    use SourceKind::{Character, Global, Session, User};
    let of = |kind| (0..kept.len()).filter(move |&world| kept[world].kind == kind);
    let all = |kind| of(kind).collect();
    match order {
        CandidateOrder::Evenly => {
            vec![all(Session), all(User), of(Global).chain(of(Character)).collect()]
        }
        CandidateOrder::CharacterFirst => [Session, User, Character, Global].map(all).into(),
        CandidateOrder::GlobalFirst => [Session, User, Global, Character].map(all).into(),
        CandidateOrder::PerWorld => (0..kept.len()).map(|world| vec![world]).collect(),
    }
}

// The worlds that are switched on, each by one source, in the order of these sources.
fn once_each(sources: &[Source], order: CandidateOrder) -> Vec<&Source> {
    let rank = |kind: SourceKind| match kind {
        _ if order == CandidateOrder::PerWorld => 0,
        SourceKind::Global => 0,
        SourceKind::Session => 1,
        SourceKind::User => 2,
        SourceKind::Character => 3,
    };
    let mut chosen: HashMap<&WorldId, usize> = HashMap::new();
    for (at, source) in sources.iter().enumerate() {
        let known = chosen.entry(&source.world.world.id).or_insert(at);
        if rank(source.kind) < rank(sources[*known].kind) {
            *known = at;
        }
    }
    let is_chosen = |at: usize, source: &Source| chosen[&source.world.world.id] == at;
    let sources = sources.iter().enumerate();
    let chosen =
        sources.filter(|&(at, source)| source.world.world.enabled && is_chosen(at, source));
    chosen.map(|(_, source)| source).collect()
}

fn reserve<'s>(sources: Vec<&'s Source>, diagnostics: &mut Vec<Diagnostic>) -> Vec<&'s Source> {
    let mut kept: Vec<&Source> = Vec::new();
    let mut reserved = 0;
    for source in sources {
        let world = &source.world.world;
        let count = source.world.entries().len();
        if reserved + count > limits::RUNTIME_ENTRIES_MAX {
            let detail = format!(
                "{count} entries beside {reserved}, at most {}",
                limits::RUNTIME_ENTRIES_MAX
            );
            diagnostics.push(Diagnostic::of_world(Code::RuntimeTotalLimit, &world.id, detail));
            continue;
        }
        reserved += count;
        kept.push(source);
    }
    kept
}
