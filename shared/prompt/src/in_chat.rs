//! IN_CHAT: segments and history become the messages that SillyTavern would send (reference B3).
//!
//! The loader has already decided and ordered everything; here the history is named, the segments
//! are laid into it, and neighbours of role system are squashed where the preset asks for it.

use serde::{Deserialize, Serialize};

use crate::{
    message::{Block, Role},
    segment::{Placement, Segment},
};

/// Longest `name` of a message.
const NAME_CHARS_MAX: usize = 64;

/// One message of the history, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryItem<'a> {
    /// As the ledger derived it. Only user and assistant messages are named.
    pub role: Role,
    /// Who speaks.
    pub name: Option<&'a str>,
    pub text: &'a str,
}

/// What a preset says about the history; travels with the profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    pub names: NamesBehavior,
    /// Joins neighbouring unnamed system messages, fixed lines aside.
    pub squash: bool,
    /// False when the preset's order has no history: neither it nor what lies in it is sent.
    pub history: bool,
    /// What `{{user}}` and `{{char}}` give: a speaker of another name is a foreign one.
    pub user: String,
    pub char: String,
    /// Sent as the user's when the history ends with the assistant.
    pub send_if_empty: String,
    /// The message to continue moves to the very end.
    pub continue_prefill: bool,
    /// The message to continue moves to the end, right before the nudge; texts inside the history stay
    /// where they would have been.
    pub continue_nudge: bool,
    /// Keys of segments that are not squashed with what stands before them; [`NEW_CHAT_KEY`] is the history.
    pub apart: Vec<String>,
}

/// The key of the line that opens the history.
pub const NEW_CHAT_KEY: &str = "control:new-chat";

/// The key of the nudge that asks to continue.
pub const CONTINUE_NUDGE_KEY: &str = "control:continue";

/// `names_behavior`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NamesBehavior {
    /// −1.
    None,
    /// 0: a prefix for speakers other than the two of the conversation.
    #[default]
    Default,
    /// 1: the `name` field of the message.
    Completion,
    /// 2: `Name: ` before every text.
    Content,
}

/// Lays segments into the history. Linear in both, apart from sorting the depths.
pub fn assemble(segments: &[Segment], history: &[HistoryItem], options: &Options) -> Vec<Block> {
    let mut out = Squash { blocks: Vec::new(), on: options.squash, open: false };
    for segment in placed(segments, |placement| placement == Placement::Before) {
        out.open &= !options.apart.contains(&segment.key);
        out.push(block_of(segment), segment.squash);
    }
    let mut continued = None;
    let mut items = Items { all: history, moved: None };
    if let (true, [rest @ .., last]) = (options.continue_prefill, history) {
        continued = Some(named(last, options));
        items.all = rest;
    } else if let (true, true, [.., last]) = (options.continue_nudge, options.history, history) {
        let prefixed = Block { name: None, ..named(last, options) };
        (continued, items.moved) = (Some(prefixed), Some(history.len() - 1));
    }
    if options.history {
        out.open &= !options.apart.iter().any(|key| key == NEW_CHAT_KEY);
        lay_history(segments, &items, options, &mut out);
    }
    for segment in placed(segments, |placement| placement == Placement::After) {
        if segment.key == CONTINUE_NUDGE_KEY {
            push_continued(continued.take(), &mut out);
        }
        out.open &= !options.apart.contains(&segment.key);
        out.push(block_of(segment), segment.squash);
    }
    push_continued(continued, &mut out);
    out.blocks
}

/// The history as it is laid: all of it counts for depths, the moved message is left out.
struct Items<'h> {
    all: &'h [HistoryItem<'h>],
    moved: Option<usize>,
}

fn push_continued(block: Option<Block>, out: &mut Squash) {
    if let Some(block) = block {
        let squash = block.role == Role::System && block.name.is_none();
        out.push(block, squash);
    }
}

/// Collects blocks and joins what may be joined.
struct Squash {
    blocks: Vec<Block>,
    on: bool,
    /// The last block may take another one in.
    open: bool,
}

fn lay_history(segments: &[Segment], items: &Items<'_>, options: &Options, out: &mut Squash) {
    let history = items.all;
    let mut injected: Vec<(usize, &Segment)> = segments
        .iter()
        .filter_map(|segment| match segment.placement {
            // Deeper than the history is long: its top (reference B3.5).
            Placement::InChat { depth } => {
                Some((usize::try_from(depth).unwrap_or(usize::MAX), segment))
            }
            Placement::Before | Placement::After => None,
        })
        .collect();
    injected.sort_by_key(|(depth, _)| std::cmp::Reverse(*depth));
    let mut injected = injected.into_iter().peekable();
    let mut last_role = None;
    for at in 0..=history.len() {
        let from_end = history.len() - at;
        while let Some((_, segment)) = injected.next_if(|(depth, _)| *depth >= from_end) {
            last_role = Some(segment.role);
            out.push(block_of(segment), segment.squash);
        }
        if let Some(item) = history.get(at).filter(|_| items.moved != Some(at)) {
            let block = named(item, options);
            last_role = Some(block.role);
            let squash = block.role == Role::System && block.name.is_none();
            out.push(block, squash);
        }
    }
    if last_role == Some(Role::Assistant) && !options.send_if_empty.is_empty() {
        out.push(Block::new(Role::User, options.send_if_empty.as_str()), false);
    }
}

fn placed(
    segments: &[Segment],
    wanted: impl Fn(Placement) -> bool,
) -> impl Iterator<Item = &Segment> {
    segments.iter().filter(move |segment| wanted(segment.placement))
}

fn block_of(segment: &Segment) -> Block {
    Block { role: segment.role, name: segment.name.clone(), text: segment.text.clone() }
}

/// A message of the history with its speaker, as the preset wants it; carriage returns go, as in SillyTavern.
fn named(item: &HistoryItem, options: &Options) -> Block {
    let text = item.text.replace('\r', "");
    let speaks = matches!(item.role, Role::User | Role::Assistant);
    let Some(name) = item.name.filter(|name| speaks && !name.is_empty()) else {
        return Block::new(item.role, text);
    };
    let foreign = name != options.user && name != options.char;
    match options.names {
        NamesBehavior::Completion => Block { role: item.role, name: Some(field(name)), text },
        NamesBehavior::Content => Block::new(item.role, format!("{name}: {text}")),
        NamesBehavior::Default if foreign => Block::new(item.role, format!("{name}: {text}")),
        NamesBehavior::Default | NamesBehavior::None => Block::new(item.role, text),
    }
}

/// What the `name` field may hold.
fn field(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    name.chars().map(keep).take(NAME_CHARS_MAX).collect()
}

// === impl Squash ===

impl Squash {
    fn push(&mut self, block: Block, joinable: bool) {
        if block.text.is_empty() {
            return;
        }
        let joinable = self.on && joinable;
        match self.blocks.last_mut().filter(|_| joinable && self.open) {
            Some(last) => {
                last.text.push('\n');
                last.text.push_str(&block.text);
            }
            None => self.blocks.push(block),
        }
        self.open = joinable;
    }
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self {
            names: NamesBehavior::Default,
            squash: false,
            history: true,
            user: String::new(),
            char: String::new(),
            send_if_empty: String::new(),
            continue_prefill: false,
            continue_nudge: false,
            apart: Vec::new(),
        }
    }
}

// === impl NamesBehavior ===

impl NamesBehavior {
    /// From the preset's number; any other number counts as the default.
    pub const fn from_number(number: i64) -> Self {
        match number {
            -1 => Self::None,
            1 => Self::Completion,
            2 => Self::Content,
            _ => Self::Default,
        }
    }
}

#[cfg(test)]
mod tests;
