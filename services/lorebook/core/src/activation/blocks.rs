//! Puts fired entries where their text goes, in the order of the text (reference A11).

use std::cmp::Ordering;

use indexmap::IndexMap;
use kernel::name::DYNAMIC_HEADING;

use super::output::Activated;
use crate::vocabulary::{EntryRole, Layer, Position};

/// A place in a request that lore can be put.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    BeforeChar,
    AfterChar,
    /// Before the dialogue examples.
    EmTop,
    /// After the dialogue examples.
    EmBottom,
    /// Top of the author's note.
    AnTop,
    /// Bottom of the author's note.
    AnBottom,
    AtDepth {
        depth: u32,
        role: EntryRole,
    },
    Outlet(String),
}

/// The lore of one place, in the order of its text; never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Block<'a> {
    pub place: Place,
    pub entries: Vec<&'a Activated>,
}

/// The blocks of a scan, in the order in which their places first occur among the highest orders.
///
/// A text ascends in `order`, and of equal orders the later activated comes first. Outlets and the
/// top of the examples are the other way round. Empty texts are in no block.
pub fn blocks(entries: &[Activated]) -> Vec<Block<'_>> {
    let mut places: IndexMap<Place, Vec<&Activated>> = IndexMap::new();
    for entry in by_order(entries).into_iter().filter(|entry| !entry.text.is_empty()) {
        if let Some(place) = Place::of(entry) {
            places.entry(place).or_default().push(entry);
        }
    }
    let block = |(place, mut entries): (Place, Vec<_>)| {
        if !place.descends() {
            entries.reverse();
        }
        Block { place, entries }
    };
    places.into_iter().map(block).collect()
}

/// All fired entries, the highest order first, equal ones as they were activated.
pub fn by_order(entries: &[Activated]) -> Vec<&Activated> {
    let mut sorted: Vec<&Activated> = entries.iter().collect();
    sorted.sort_by(|a, b| b.order.partial_cmp(&a.order).unwrap_or(Ordering::Equal));
    sorted
}

// === impl Place ===

impl Place {
    /// Where an entry goes; None for an unknown position and an outlet without a name.
    pub fn of(entry: &Activated) -> Option<Self> {
        Some(match entry.position {
            Position::BeforeChar => Self::BeforeChar,
            Position::AfterChar => Self::AfterChar,
            Position::AnTop => Self::AnTop,
            Position::AnBottom => Self::AnBottom,
            Position::AtDepth => Self::AtDepth { depth: entry.depth, role: entry.role },
            Position::EmTop => Self::EmTop,
            Position::EmBottom => Self::EmBottom,
            Position::Outlet if !entry.outlet.is_empty() => Self::Outlet(entry.outlet.clone()),
            Position::Outlet | Position::Unknown(_) => return None,
        })
    }

    fn descends(&self) -> bool {
        matches!(self, Self::Outlet(_) | Self::EmTop)
    }
}

// === impl Block ===

impl Block<'_> {
    /// The texts joined by line breaks, authored before dynamic ones, these under their heading.
    pub fn text(&self) -> String {
        let of = |layer: Layer| self.entries.iter().filter(move |entry| entry.layer == layer);
        let authored = of(Layer::Authored).map(|entry| entry.text.as_str());
        let mut dynamic = of(Layer::Dynamic).map(|entry| entry.text.as_str()).peekable();
        let heading = dynamic.peek().map(|_| DYNAMIC_HEADING);
        authored.chain(heading).chain(dynamic).collect::<Vec<&str>>().join("\n")
    }
}
