//! Reading a state: what renders, what was said, what is live, what broke the prefix.

use std::{collections::HashMap, sync::Arc};

use kernel::{AlternativeId, Digest, Timestamp, TurnId};
use prompt::{
    derive::{Author, Source},
    item::{Item, Piece, Stamp, TextRef},
    prefix::BlockMark,
};

use super::{Generation, Identity, State, Touched, Turn, TurnKind};
use crate::{
    chain::Head,
    event::{Break, Cause, Versions},
    settings::Settings,
};

/// Something that was said and is in context: what activation scans and IN_CHAT sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// None: a summary.
    pub turn: Option<(u64, TurnId)>,
    pub author: Author,
    /// What its role is derived from.
    pub source: Source,
    /// None: one fixed line stands for it.
    pub text: Option<TextRef>,
}

/// A profile section in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveKey {
    pub key: Arc<str>,
    pub source_hash: Option<Digest>,
    pub offset: u64,
}

// === impl State ===

impl State {
    pub fn head(&self) -> Head {
        self.head
    }

    /// None before the first event.
    pub fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn is_deleted(&self) -> bool {
        self.deleted
    }

    pub fn generation(&self) -> Option<&Generation> {
        self.generation.as_ref()
    }

    pub fn turn(&self, seq: u64) -> Option<&Turn> {
        self.turns.get(&seq)
    }

    /// All turns by seq.
    pub fn turns(&self) -> impl DoubleEndedIterator<Item = (u64, &Turn)> {
        self.turns.iter().map(|(seq, turn)| (*seq, turn))
    }

    /// The next turn's seq.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The newest stamp's offset.
    pub fn last_request(&self) -> Option<u64> {
        (self.last_stamp > 0).then_some(self.last_stamp)
    }

    /// Whether a reply was ever generated.
    pub fn has_reply(&self) -> bool {
        self.turns.values().any(|turn| turn.slot().is_some_and(|slot| slot.shown().is_some()))
    }

    /// Whether the history opens with an authored or imported assistant turn.
    pub fn has_authored_opening(&self) -> bool {
        let mut lived = self.turns.values().filter(|turn| !turn.retracted && turn.in_context);
        lived.next().is_some_and(|turn| turn.slot().is_none() && turn.author() == Author::Assistant)
    }

    /// What renders, in order: each item, and each slot's selected reply behind its last stamp.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let mut last_stamps = HashMap::new();
        for item in &self.items {
            if let Item::Stamp(Stamp { offset, slot: Some(slot), .. }) = item {
                last_stamps.insert(*slot, *offset);
            }
        }
        self.items.iter().flat_map(move |item| {
            let reply = match item {
                Item::Stamp(Stamp { offset, slot: Some(slot), .. })
                    if last_stamps.get(slot) == Some(offset) =>
                {
                    self.shown_reply(*slot).map(|text| Piece::Reply { slot: *slot, text })
                }
                _ => None,
            };
            std::iter::once(item.piece()).chain(reply)
        })
    }

    /// The reply that a slot shows; none while it generates or once it is taken back.
    fn shown_reply(&self, slot: u64) -> Option<TextRef> {
        let generating = self.generation.as_ref().is_some_and(|g| g.slot == Some(slot));
        let turn = self.turns.get(&slot).filter(|turn| !turn.retracted && !generating)?;
        Some(turn.slot()?.shown()?.text)
    }

    /// The context without sections, stamps and facts: what was said, in order.
    pub fn spoken(&self) -> Vec<Spoken> {
        let pieces = self.pieces().filter_map(|piece| match piece {
            Piece::Message(message) => {
                let source = message.voice.source();
                let author = match message.voice.turn() {
                    Some(seq) => self.turns.get(&seq)?.author(),
                    None if source == Source::Summary => Author::User,
                    None => return None,
                };
                Some((message.voice.turn(), author, source, message.text))
            }
            Piece::Reply { slot, text } => {
                Some((Some(slot), Author::Assistant, Source::Reply, Some(text)))
            }
            Piece::Section(_) | Piece::Stamp(_) => None,
        });
        pieces
            .map(|(seq, author, source, text)| {
                let turn = seq.and_then(|seq| Some((seq, self.turns.get(&seq)?.id.clone())));
                Spoken { turn, author, source, text }
            })
            .collect()
    }

    /// The profile sections in effect: what a compile is told.
    pub fn live_profile_keys(&self) -> Vec<LiveKey> {
        let mut seen = HashMap::new();
        let sections = self.items.iter().filter_map(Item::as_section);
        for section in sections.filter(|section| section.profile.is_some()) {
            seen.insert(section.key.clone(), section);
        }
        let mut live: Vec<LiveKey> = seen
            .into_values()
            .filter(|section| !section.is_withdrawn())
            .map(|section| LiveKey {
                key: section.key.clone(),
                source_hash: section.profile.as_ref().and_then(|profile| profile.source_hash),
                offset: section.offset,
            })
            .collect();
        live.sort_by_key(|key| key.offset);
        live
    }

    /// Depth and post-history keys with more than `refresh_tokens` said behind their newest occurrence.
    pub fn drifted_keys(&self, tokens_of: impl Fn(TextRef) -> u64) -> Vec<Arc<str>> {
        let mut behind = 0;
        let mut seen: Vec<&str> = Vec::new();
        let mut drifted = Vec::new();
        let pieces: Vec<Piece<'_>> = self.pieces().collect();
        for piece in pieces.into_iter().rev() {
            let Piece::Section(section) = piece else {
                behind += piece.text().map_or(0, &tokens_of);
                continue;
            };
            let Some(profile) = &section.profile else { continue };
            if seen.contains(&&*section.key) {
                continue;
            }
            seen.push(&section.key);
            let far = behind > u64::from(self.settings.refresh_tokens);
            if profile.sinks && far && !section.is_withdrawn() {
                drifted.push(section.key.clone());
            }
        }
        drifted
    }

    /// The selected path strictly before a slot, newest last: the events that carry its timed effects,
    /// variables and affect. Siblings of the slot are never among them.
    pub fn path_before(&self, seq: u64) -> Vec<(AlternativeId, u64)> {
        let before = self.turns.range(..seq).filter(|(_, turn)| !turn.retracted);
        before
            .filter_map(|(_, turn)| turn.slot()?.shown())
            .map(|reply| (reply.id.clone(), reply.completed))
            .collect()
    }

    /// The forms for the next request: those that the session keeps, unless its prefix is rebuilt anyway.
    pub fn versions_for_next(&self, newest: Versions) -> Versions {
        let rebuilt = self.causes.iter().any(|pending| {
            pending.touched == Touched::Everything
                && matches!(pending.cause, Cause::Compact | Cause::Trim | Cause::Rewrite)
        });
        self.versions.filter(|_| !rebuilt).unwrap_or(newest)
    }

    /// Which pending cause explains that this block of the previous request is the first that differs.
    pub fn break_cause(&self, block: u32, mark: &BlockMark) -> Option<Break> {
        let explains = |touched: &Touched| match touched {
            Touched::Everything => true,
            Touched::Tail => block > 0 && mark.offsets.is_empty(),
            Touched::Offsets(offsets) => mark.offsets.iter().any(|at| offsets.contains(at)),
        };
        let found = self.causes.iter().find(|pending| explains(&pending.touched))?;
        Some(Break { cause: found.cause, block })
    }

    /// The state that a stamp at this moment would leave: rendering it gives what the request sends.
    pub fn with_stamp(&self, slot: Option<u64>, at: Timestamp) -> Self {
        let mut next = self.clone();
        next.items.push(Item::Stamp(Stamp { offset: self.head.offset + 1, slot, at }));
        next
    }

    /// The session's last unretracted turn, if it is a reply slot in context: what may be regenerated.
    pub fn tail_slot(&self) -> Option<u64> {
        let (seq, turn) = self.turns.iter().rev().find(|(_, turn)| !turn.retracted)?;
        let is_slot = matches!(turn.kind, TurnKind::Slot(_));
        (is_slot && turn.in_context).then_some(*seq)
    }

    /// Summaries in context that cover a turn, by offset.
    pub fn summaries_covering(&self, seq: u64) -> Vec<u64> {
        let messages = self.items.iter().filter_map(|item| match item {
            Item::Message(message) => Some(message),
            Item::Section(_) | Item::Stamp(_) => None,
        });
        messages
            .filter(|message| {
                matches!(&message.voice, prompt::item::Voice::Summary { covers } if covers.contains(&seq))
            })
            .map(|message| message.offset)
            .collect()
    }
}
