//! What must hold after each step and in each request, and the readings that this takes.

use std::collections::{BTreeMap, BTreeSet};

use prompt::item::{Item, Piece, Voice};

use super::{super::harness::*, script::World, well_formed, words};
use crate::{event::Body, state::State};

// === impl World ===

impl World {
    /// After every step.
    #[track_caller]
    pub fn holds(&mut self) {
        let session = &self.sessions[self.at];
        let seen = &self.seen[self.at];
        well_formed(&session.state);
        let shown = words(&session.shown());
        let resurrected: Vec<_> = shown.intersection(&seen.taken_back).collect();
        assert!(resurrected.is_empty(), "taken back and shown: {resurrected:?}");
        let order: Vec<u64> = session.state.pieces().filter_map(turn_of).collect();
        assert!(order.is_sorted(), "the history is out of order: {order:?}");
        for (seq, turn) in session.state.turns() {
            let Some(slot) = turn.slot() else { continue };
            let generating = session.state.generation().is_some_and(|g| g.slot == Some(seq));
            for (at, reply) in slot.alternatives.iter().enumerate() {
                let said =
                    words(session.log[reply.text.offset as usize - 1].body.text(0).unwrap_or(""));
                let chosen = slot.selected == Some(at) && !turn.retracted && !generating;
                let summed = !session.state.summaries_covering(seq).is_empty();
                let visible = !said.is_disjoint(&shown);
                assert!(chosen || summed || !visible, "an unselected reply is shown");
                assert!(!chosen || !turn.in_context || visible, "a selected reply is hidden");
            }
        }
    }

    /// In every request.
    #[track_caller]
    pub fn request_holds(&mut self) {
        self.holds();
        let shown = self.session().shown();
        for (key, content) in &self.seen[self.at].standing {
            assert!(shown.contains(content.as_str()), "the section {key} is lost");
        }
        let first = &self.sessions[self.at].requests[0].1.blocks;
        let document = &first[1].text;
        assert!(document.contains("MAIN"), "the profile stands in the first request");
    }

    /// Lore that is not in effect may be dropped by a compaction; callers' sections stay.
    #[track_caller]
    pub fn collapsed(&mut self) {
        let standing = standing(&self.sessions[self.at]);
        assert_eq!(standing, self.seen[self.at].standing);
    }

    // --- readings ---

    pub fn words_at(&self, at: prompt::item::TextRef) -> BTreeSet<String> {
        let session = &self.sessions[self.at];
        words(session.log[at.offset as usize - 1].body.text(at.part).unwrap_or(""))
    }

    pub fn contents_of(&self, key: &str) -> BTreeSet<String> {
        let sections = self.sessions[self.at].state.items().iter().filter_map(Item::as_section);
        let contents = sections.filter(|section| &*section.key == key).filter_map(|s| s.content);
        contents.flat_map(|content| self.words_at(content.text)).collect()
    }

    /// A summary that says every word that it stands for.
    pub fn summary_of(&mut self, before: u64) -> String {
        let session = &self.sessions[self.at];
        let pieces = session
            .state
            .pieces()
            .take_while(|piece| turn_of(*piece).is_none_or(|seq| seq < before));
        let said = pieces.filter(|piece| turn_of(*piece).is_some() || is_summary(*piece));
        let said: Vec<_> = said.filter_map(|piece| piece.text()).collect();
        let said: Vec<String> = said.into_iter().flat_map(|at| self.words_at(at)).collect();
        format!("{} {}", self.word("SUMMARY"), said.join(" "))
    }

    pub fn without(&self, summary: u64, old: &BTreeSet<String>) -> crate::command::Text {
        let items = self.sessions[self.at].state.items().iter();
        let found =
            items.filter(|item| item.offset() == summary).find_map(|item| item.piece().text());
        let kept = found.map(|at| self.words_at(at)).unwrap_or_default();
        let kept: Vec<_> = kept.difference(old).cloned().collect();
        text(&kept.join(" "))
    }
}

pub(super) fn is_profile(word: &str) -> bool {
    ["MAIN", "POST", "DESC", "LORE"].iter().any(|name| word.starts_with(name))
}

fn is_summary(piece: Piece<'_>) -> bool {
    matches!(piece, Piece::Message(message) if matches!(message.voice, Voice::Summary { .. }))
}

fn turn_of(piece: Piece<'_>) -> Option<u64> {
    match piece {
        Piece::Message(message) => message.voice.turn(),
        Piece::Reply { slot, .. } => Some(slot),
        Piece::Section(_) | Piece::Stamp(_) => None,
    }
}

pub(super) fn in_context(state: &State) -> Vec<u64> {
    let turns = state.turns().filter(|(_, turn)| turn.in_context && !turn.retracted);
    turns.map(|(seq, _)| seq).filter(|seq| state.first_index(*seq).is_some()).collect()
}

pub(super) fn lived(body: &Body) -> BTreeSet<String> {
    match body {
        Body::TurnReceived(_) | Body::TurnCompleted(_) | Body::TurnSeeded(_) => {
            words(body.text(0).unwrap_or(""))
        }
        _ => BTreeSet::new(),
    }
}

pub(super) fn standing(session: &Session) -> BTreeMap<String, String> {
    let sections = session.state.items().iter().filter_map(Item::as_section);
    let callers = sections.filter(|section| section.profile.is_none());
    callers
        .filter_map(|section| {
            let at = section.content?.text;
            let content = session.log[at.offset as usize - 1].body.text(at.part)?;
            Some((section.key.to_string(), content.to_owned()))
        })
        .collect()
}
