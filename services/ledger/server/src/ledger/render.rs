//! A state becomes the blocks of a request, in its session's mode, each with where it comes from.

use std::collections::HashMap;

use ledger_core::{State, event::Versions};
use prompt::{
    Block, ProfileMode,
    derive::{Author, Source, role},
    escape,
    history::{self, Form, History},
    in_chat,
    item::Piece,
    journal::{self, RenderVersion, Tail},
    prefix::BlockMark,
};

use super::{record::Profile, texts::Found};

/// A rendered request: its blocks, and where each comes from.
#[derive(Debug, Clone, Default)]
pub(super) struct Rendered {
    pub blocks: Vec<Block>,
    pub origins: Vec<Vec<Origin>>,
    pub marks: Vec<BlockMark>,
}

/// Where a piece of a block comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    pub kind: &'static str,
    /// The event that put it there; 0 is a fixed text.
    pub offset: u64,
    pub key: String,
    pub turn: Option<u64>,
    /// Why the loader put it there; filled in when a request is shown.
    pub reason: String,
}

/// The forms that new requests take.
pub(super) fn newest_versions() -> Versions {
    Versions { render: RenderVersion::default(), adapter: model::ADAPTER_VERSION }
}

/// Renders a state. `profile` is what IN_CHAT and CONTRACT are built from; JOURNAL has it in its items.
pub(super) fn render(
    state: &State,
    version: RenderVersion,
    profile: Option<&Profile>,
    names: (&str, &str),
    tail: Option<Tail<'_>>,
    texts: &Found,
) -> Result<Rendered, journal::MissingText> {
    match (state.settings().profile_mode, profile) {
        (ProfileMode::Journal, _) | (_, None) => {
            let journal = journal::render(version, state.pieces(), tail, texts)?;
            let marks = journal.marks();
            let sources = Sources::of(state);
            let origins = journal.origins.iter().map(|origin| sources.of_journal(origin));
            Ok(Rendered { origins: origins.collect(), marks, blocks: journal.blocks })
        }
        (ProfileMode::InChat, Some(profile)) => render_in_chat(state, profile, names, tail, texts),
        (ProfileMode::Contract, Some(profile)) => render_contract(state, profile, tail, texts),
    }
}

/// IN_CHAT: callers' sections ahead of the history, and everything bare.
fn render_in_chat(
    state: &State,
    profile: &Profile,
    names: (&str, &str),
    tail: Option<Tail<'_>>,
    texts: &Found,
) -> Result<Rendered, journal::MissingText> {
    let History { sections, messages } = history::render(Form::Plain, state.pieces(), texts)?;
    let sections = if profile.replace { journal::Rendered::default() } else { sections };
    let known = Sources::of(state);
    let (mut items, mut sources) = (Vec::new(), Vec::new());
    for shown in [&sections, &messages] {
        for (block, origin) in shown.blocks.iter().zip(&shown.origins) {
            let from = known.of_journal(origin);
            let (role, name) = (block.role, speaker(state, &from, names));
            items.push(in_chat::HistoryItem { role, name, text: &block.text });
            sources.push(from);
        }
    }
    let mut blocks = in_chat::assemble(&profile.segments, &items, &profile.options);
    let mut origins: Vec<Vec<Origin>> =
        blocks.iter().map(|block| of_text(block, profile, &items, &sources)).collect();
    if let Some(Tail::Guidance(text) | Tail::SummaryInstruction(text)) = tail {
        blocks.push(Block::new(role(Source::Guidance), text));
        origins.push(vec![Origin { kind: "guidance", ..Origin::default() }]);
    }
    Ok(Rendered { marks: marks(&blocks), blocks, origins })
}

/// Who speaks a block, where it was spoken.
fn speaker<'a>(
    state: &State,
    origins: &[Origin],
    (user, character): (&'a str, &'a str),
) -> Option<&'a str> {
    let turn = state.turn(origins.first()?.turn?)?;
    Some(if turn.author() == Author::User { user } else { character })
}

/// CONTRACT: the profile, callers' sections, then the history in the ledger's own wrappers.
fn render_contract(
    state: &State,
    profile: &Profile,
    tail: Option<Tail<'_>>,
    texts: &Found,
) -> Result<Rendered, journal::MissingText> {
    let History { sections, messages } = history::render(Form::Wrapped, state.pieces(), texts)?;
    let sections = if profile.replace { journal::Rendered::default() } else { sections };
    let known = Sources::of(state);
    let of_history = sections.origins.iter().chain(&messages.origins);
    let of_history = of_history.map(|origin| known.of_journal(origin));
    let mut behind: Vec<Block> = sections.blocks;
    behind.extend(messages.blocks);
    let mut of_history: Vec<Vec<Origin>> = of_history.collect();
    if let Some(Tail::Guidance(text) | Tail::SummaryInstruction(text)) = tail {
        behind.push(Block::new(role(Source::Guidance), escape::text(text)));
        of_history.push(vec![Origin { kind: "guidance", ..Origin::default() }]);
    }
    let history = behind.len();
    let blocks = prompt::contract::assemble(&profile.segments, behind);
    let segments = profile.segments.iter().filter(|segment| !segment.text.is_empty());
    let of_profile = segments.map(|segment| {
        vec![Origin { kind: "profile", key: segment.key.clone(), ..Origin::default() }]
    });
    let origins = of_profile.take(blocks.len() - history).chain(of_history).collect();
    Ok(Rendered { marks: marks(&blocks), blocks, origins })
}

/// Blocks of rebuilt requests name no events: whatever differs is explained by the mode.
fn marks(blocks: &[Block]) -> Vec<BlockMark> {
    blocks.iter().map(|block| BlockMark::new(block, Vec::new())).collect()
}

/// Every piece of a state by its event, so that a render stays linear.
struct Sources(HashMap<u64, Origin>);

fn piece_offset(piece: &Piece<'_>) -> u64 {
    match piece {
        Piece::Section(section) => section.offset,
        Piece::Message(message) => message.offset,
        Piece::Stamp(stamp) => stamp.offset,
        Piece::Reply { text, .. } => text.offset,
    }
}

fn of_piece(state: &State, piece: &Piece<'_>) -> Origin {
    let offset = piece_offset(piece);
    match piece {
        Piece::Section(section) => {
            let kind = if section.profile.is_some() { "profile" } else { "section" };
            Origin { kind, offset, key: section.key.to_string(), ..Origin::default() }
        }
        Piece::Stamp(_) => Origin { kind: "stamp", offset, ..Origin::default() },
        Piece::Reply { slot, .. } => {
            Origin { kind: "turn", offset, turn: Some(*slot), ..Origin::default() }
        }
        Piece::Message(message) => {
            let turn = message.voice.turn();
            let kind = match message.voice.source() {
                Source::Authored(_) => "authored",
                Source::Summary => "summary",
                Source::Fact(_) => "context",
                Source::ToolRun => "tool",
                _ => "turn",
            };
            let turn = turn.filter(|seq| state.turn(*seq).is_some());
            Origin { kind, offset, turn, ..Origin::default() }
        }
    }
}

// === impl Sources ===

impl Sources {
    fn of(state: &State) -> Self {
        let pieces = state.pieces();
        Self(pieces.map(|piece| (piece_offset(&piece), of_piece(state, &piece))).collect())
    }

    fn of_journal(&self, origin: &journal::Origin) -> Vec<Origin> {
        let of_offset = |offset: u64| {
            let unknown = || Origin { kind: "section", offset, ..Origin::default() };
            self.0.get(&offset).cloned().unwrap_or_else(unknown)
        };
        match origin {
            journal::Origin::Protocol => vec![Origin { kind: "protocol", ..Origin::default() }],
            journal::Origin::Tail => vec![Origin { kind: "guidance", ..Origin::default() }],
            other => other.offsets().into_iter().map(of_offset).collect(),
        }
    }
}

/// In IN_CHAT neighbours may have been joined: every segment or message whose text is in the block.
fn of_text(
    block: &Block,
    profile: &Profile,
    history: &[in_chat::HistoryItem<'_>],
    sources: &[Vec<Origin>],
) -> Vec<Origin> {
    let segments = profile.segments.iter();
    let of_segments = segments
        .filter(|segment| !segment.text.is_empty() && block.text.contains(&segment.text))
        .map(|segment| Origin { kind: "profile", key: segment.key.clone(), ..Origin::default() });
    let of_history = history
        .iter()
        .zip(sources)
        .filter(|(item, _)| item.role == block.role && block.text.ends_with(item.text))
        .flat_map(|(_, origins)| origins.clone());
    of_segments.chain(of_history).collect()
}
