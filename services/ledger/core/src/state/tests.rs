//! The fold against recorded runs of an independent model of the same rules.

mod recorded;

use prompt::item::{Item, Message, Piece, TextRef, Voice};

use super::State;
use crate::event::Event;

/// Forty sessions, one a line: events, the context at each request, the context at the end.
const RECORDED: &str = include_str!("../../fixtures/fold.jsonl");

#[test]
fn the_fold_places_and_renders_as_the_model_does() {
    for (index, script) in RECORDED.lines().enumerate() {
        let script: serde_json::Value = serde_json::from_str(script).expect("the fixture is JSON");
        recorded::replay(index, &script);
    }
}

/// The context in the notation of the fixture.
fn layout(state: &State, log: &[Event]) -> Vec<String> {
    let text = |at: Option<TextRef>| match at {
        Some(at) => log[at.offset as usize - 1].body.text(at.part).expect("it has the text"),
        None => "Earlier conversation withdrawn.",
    };
    state
        .pieces()
        .map(|piece| match piece {
            Piece::Section(section) => {
                let space = if section.profile.is_some() { "loader" } else { "owner" };
                let above = section.supersedes.map(|at| format!("^{at} ")).unwrap_or_default();
                let content = section.content.map_or("withdrawn", |held| text(Some(held.text)));
                format!("S {space} {} @{} {above}{content}", section.key, section.offset)
            }
            Piece::Message(message) => said(message, text(message.text)),
            Piece::Stamp(stamp) => {
                let slot = stamp.slot.map_or("-".to_owned(), |slot| slot.to_string());
                format!("R {} {slot}", stamp.offset)
            }
            Piece::Reply { slot, text: at } => format!("A {slot} {}", text(Some(at))),
        })
        .collect()
}

fn said(message: &Message, text: &str) -> String {
    match &message.voice {
        Voice::Received { turn } | Voice::Authored { turn, .. } | Voice::Imported { turn, .. } => {
            format!("T {turn} {text}")
        }
        Voice::Fact { tier, .. } => format!("F {} {text}", tier.name()),
        Voice::Summary { covers } => {
            let covers: Vec<_> = covers.iter().map(u64::to_string).collect();
            format!("Y {} {} {text}", message.offset, covers.join(","))
        }
        Voice::ToolRequested { .. } | Voice::ToolSettled { .. } => {
            format!("X {} {text}", message.offset)
        }
    }
}

/// Every section's `supersedes` names an earlier occurrence of the same key.
fn anchored(items: &[Item]) -> bool {
    items.iter().enumerate().all(|(at, item)| {
        let Some(section) = item.as_section() else { return true };
        section.supersedes.is_none_or(|above| {
            items[..at].iter().any(|earlier| {
                earlier.as_section().is_some_and(|s| s.offset == above && s.key == section.key)
            })
        })
    })
}
