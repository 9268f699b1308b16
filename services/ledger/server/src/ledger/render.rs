//! A state becomes the blocks of a request, in its session's mode, each with where it comes from.

use ledger_core::{State, event::Versions};
use prompt::{
    Block, ProfileMode, Role,
    derive::{Author, Source, role},
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
            let origins = journal.origins.iter().map(|origin| of_journal(state, origin));
            Ok(Rendered { origins: origins.collect(), marks, blocks: journal.blocks })
        }
        (ProfileMode::InChat, Some(profile)) => {
            Ok(render_in_chat(state, profile, names, tail, texts))
        }
        (ProfileMode::Contract, Some(profile)) => {
            render_contract(state, version, profile, tail, texts)
        }
    }
}

/// IN_CHAT: bare texts; callers' sections lie where they are, without wrappers.
fn render_in_chat(
    state: &State,
    profile: &Profile,
    (user, character): (&str, &str),
    tail: Option<Tail<'_>>,
    texts: &Found,
) -> Rendered {
    let (mut history, mut sources) = (Vec::new(), Vec::new());
    for piece in state.pieces() {
        let (role, name) = match piece {
            Piece::Section(section) if section.profile.is_none() => (Role::System, None),
            Piece::Section(_) | Piece::Stamp(_) => continue,
            Piece::Message(message) => {
                let turn = message.voice.turn().and_then(|seq| state.turn(seq));
                let name = turn.map(|turn| speaker(turn.author(), user, character));
                (role(message.voice.source()), name)
            }
            Piece::Reply { .. } => (role(Source::Reply), Some(character)),
        };
        let text = texts.or_empty(piece.text());
        if !text.is_empty() {
            history.push(in_chat::HistoryItem { role, name, text });
            sources.push(of_piece(state, &piece));
        }
    }
    let mut blocks = in_chat::assemble(&profile.segments, &history, &profile.options);
    let mut origins: Vec<Vec<Origin>> =
        blocks.iter().map(|block| of_text(block, profile, &history, &sources)).collect();
    if let Some(Tail::Guidance(text) | Tail::SummaryInstruction(text)) = tail {
        blocks.push(Block::new(role(Source::Guidance), text));
        origins.push(vec![Origin { kind: "guidance", ..Origin::default() }]);
    }
    Rendered { marks: marks(&blocks), blocks, origins }
}

fn speaker<'a>(author: Author, user: &'a str, character: &'a str) -> &'a str {
    match author {
        Author::User => user,
        Author::Assistant | Author::System => character,
    }
}

/// CONTRACT: the profile, then the history in the ledger's own wrappers.
fn render_contract(
    state: &State,
    version: RenderVersion,
    profile: &Profile,
    tail: Option<Tail<'_>>,
    texts: &Found,
) -> Result<Rendered, journal::MissingText> {
    let shown = state.pieces().filter(|piece| match piece {
        Piece::Section(section) => section.profile.is_none(),
        Piece::Stamp(_) => false,
        Piece::Message(_) | Piece::Reply { .. } => true,
    });
    let journal = journal::render(version, shown, tail, texts)?;
    // The protocol text explains stamps and profile sections, and here there are none.
    let history: Vec<Block> = journal.blocks.into_iter().skip(1).collect();
    let of_history = journal.origins.iter().skip(1).map(|origin| of_journal(state, origin));
    let behind = history.len();
    let blocks = prompt::contract::assemble(&profile.segments, history);
    let segments = profile.segments.iter().filter(|segment| !segment.text.is_empty());
    let of_profile = segments.map(|segment| {
        vec![Origin { kind: "profile", key: segment.key.clone(), ..Origin::default() }]
    });
    let origins = of_profile.take(blocks.len() - behind).chain(of_history).collect();
    Ok(Rendered { marks: marks(&blocks), blocks, origins })
}

/// Blocks of rebuilt requests name no events: whatever differs is explained by the mode.
fn marks(blocks: &[Block]) -> Vec<BlockMark> {
    blocks.iter().map(|block| BlockMark::new(block, Vec::new())).collect()
}

fn of_journal(state: &State, origin: &journal::Origin) -> Vec<Origin> {
    let of_offset = |offset: u64| {
        let mut pieces = state.pieces();
        pieces
            .find(|piece| piece_offset(piece) == offset)
            .map_or(Origin { kind: "section", offset, ..Origin::default() }, |piece| {
                of_piece(state, &piece)
            })
    };
    match origin {
        journal::Origin::Protocol => vec![Origin { kind: "protocol", ..Origin::default() }],
        journal::Origin::Tail => vec![Origin { kind: "guidance", ..Origin::default() }],
        journal::Origin::Reply { slot, offset } => {
            vec![Origin { kind: "turn", offset: *offset, turn: Some(*slot), ..Origin::default() }]
        }
        other => other.offsets().into_iter().map(of_offset).collect(),
    }
}

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
            Origin { kind, offset, key: section.key.to_string(), turn: None }
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

/// In IN_CHAT neighbours may have been joined: every segment or message whose text is in the block.
fn of_text(
    block: &Block,
    profile: &Profile,
    history: &[in_chat::HistoryItem<'_>],
    sources: &[Origin],
) -> Vec<Origin> {
    let segments = profile.segments.iter();
    let of_segments = segments
        .filter(|segment| !segment.text.is_empty() && block.text.contains(&segment.text))
        .map(|segment| Origin { kind: "profile", key: segment.key.clone(), ..Origin::default() });
    let of_history = history
        .iter()
        .zip(sources)
        .filter(|(item, _)| item.role == block.role && block.text.ends_with(item.text))
        .map(|(_, origin)| origin.clone());
    of_segments.chain(of_history).collect()
}
