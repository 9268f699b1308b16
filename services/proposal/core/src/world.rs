//! A world as a judging call sees it: its rows, and which of them are in effect (seed 004, section 1).

use std::collections::HashSet;

use kernel::{EntryId, WorldId};

/// A world that is enabled and opted in, read whole at one revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    pub id: WorldId,
    pub name: String,
    pub revision: u64,
    /// In the world's own order.
    pub rows: Vec<Row>,
}

/// One entry, as far as a proposal can speak of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub id: EntryId,
    pub layer: Layer,
    pub name: String,
    pub content: String,
    pub constant: bool,
    pub keywords: Vec<String>,
    pub enabled: bool,
    pub archived: bool,
    pub locked: bool,
}

/// Who owns a row, and for an overlay what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layer {
    Authored,
    Dynamic(Overlay),
}

/// What a DYNAMIC row does to the authored layer. A target is gone once its row was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overlay {
    Add,
    Replace(Option<EntryId>),
    Suppress(Option<EntryId>),
}

// === impl World ===

impl World {
    /// What may be listed and targeted: effective rows, and live markers that still hide something.
    pub fn targets(&self) -> impl Iterator<Item = &Row> {
        let hidden = self.hidden();
        self.rows.iter().filter(move |row| match row.layer {
            Layer::Authored => row.is_live() && !hidden.contains(&row.id),
            Layer::Dynamic(Overlay::Suppress(None)) => false,
            Layer::Dynamic(_) => row.is_live(),
        })
    }

    pub fn row(&self, id: &EntryId) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == *id)
    }

    /// Authored rows that a live overlay hides.
    fn hidden(&self) -> HashSet<EntryId> {
        self.rows.iter().filter(|row| row.is_live()).filter_map(Row::hides).cloned().collect()
    }
}

// === impl Row ===

impl Row {
    pub fn is_live(&self) -> bool {
        self.enabled && !self.archived
    }

    pub fn is_authored(&self) -> bool {
        self.layer == Layer::Authored
    }

    /// It hides its target and says nothing.
    pub fn is_marker(&self) -> bool {
        matches!(self.layer, Layer::Dynamic(Overlay::Suppress(_)))
    }

    pub fn hides(&self) -> Option<&EntryId> {
        match &self.layer {
            Layer::Dynamic(Overlay::Replace(target) | Overlay::Suppress(target)) => target.as_ref(),
            Layer::Authored | Layer::Dynamic(Overlay::Add) => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! Worlds for tests, small enough to write on a line.

    use super::*;

    pub fn id(text: &str) -> EntryId {
        EntryId::new(text).expect("an id")
    }

    pub fn authored(name: &str) -> Row {
        Row {
            id: id(name),
            layer: Layer::Authored,
            name: name.into(),
            content: format!("About {name}."),
            constant: false,
            keywords: vec![name.to_lowercase()],
            enabled: true,
            archived: false,
            locked: false,
        }
    }

    pub fn dynamic(name: &str) -> Row {
        Row { layer: Layer::Dynamic(Overlay::Add), ..authored(name) }
    }

    pub fn replacing(name: &str, target: &str) -> Row {
        Row { layer: Layer::Dynamic(Overlay::Replace(Some(id(target)))), ..authored(name) }
    }

    pub fn suppressing(name: &str, target: Option<&str>) -> Row {
        Row { layer: Layer::Dynamic(Overlay::Suppress(target.map(id))), ..authored(name) }
    }

    pub fn world(name: &str, rows: Vec<Row>) -> World {
        let id = WorldId::new(name.to_lowercase()).expect("an id");
        World { id, name: name.into(), revision: 7, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::{testing::*, *};

    #[track_caller]
    fn check(rows: Vec<Row>, expected: &[&str]) {
        let world = world("W", rows);
        let names: Vec<_> = world.targets().map(|row| row.name.as_str()).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn without_overlays_every_live_row_is_a_target() {
        check(vec![authored("A"), dynamic("B")], &["A", "B"]);
    }

    #[test]
    fn a_replaced_row_is_none() {
        check(vec![authored("A"), replacing("B", "A")], &["B"]);
    }

    #[test]
    fn a_marker_is_one_while_it_hides_something() {
        check(vec![authored("A"), suppressing("M", Some("A")), suppressing("O", None)], &["M"]);
    }

    #[test]
    fn an_archived_overlay_hides_nothing() {
        let archived = Row { archived: true, ..replacing("B", "A") };
        check(vec![authored("A"), archived], &["A"]);
    }

    #[test]
    fn a_row_that_is_switched_off_is_none() {
        check(vec![Row { enabled: false, ..authored("A") }], &[]);
    }
}
