//! IN_CHAT and CONTRACT: callers' sections and what was said, without protocol text, stamps or profile.
//!
//! These modes rebuild each request, so a section shows its newest content only and says nothing of its
//! place; withdrawn ones and what the profile landed are left out.

use std::{borrow::Cow, collections::HashMap};

use crate::{
    derive::Source,
    escape,
    item::{Piece, Section, TextRef},
    journal::{MissingText, Origin, Rendered, Texts, form},
};

/// How untrusted texts are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Escaped, in our wrappers: CONTRACT.
    Wrapped,
    /// As it was said, without wrappers of ours: IN_CHAT.
    Plain,
}

/// The two parts; the mode decides where the profile goes among them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// WRAPPED: one document, where there are any. PLAIN: a block each.
    pub sections: Rendered,
    /// Messages and replies in order.
    pub messages: Rendered,
}

/// Renders a context for a mode that rebuilds it. Linear in pieces and texts.
pub fn render<'a>(
    form: Form,
    pieces: impl IntoIterator<Item = Piece<'a>>,
    texts: &impl Texts,
) -> Result<History, MissingText> {
    let mut out = History::default();
    let mut sections: Vec<&Section> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for piece in pieces {
        match piece {
            Piece::Section(section) if section.profile.is_none() => {
                let place = *places.entry(&section.key).or_insert(sections.len());
                if place == sections.len() {
                    sections.push(section);
                } else {
                    sections[place] = section;
                }
            }
            Piece::Message(message) => {
                let text = message.text.map(|at| text_of(form, texts, at)).transpose()?;
                let shown = match form {
                    Form::Wrapped => form::message(message, text),
                    Form::Plain => form::bare_message(message, text),
                };
                let origin = Origin::Message(message.offset);
                out.messages.push(message.voice.source(), shown, origin);
            }
            Piece::Reply { slot, text: at } => {
                let origin = Origin::Reply { slot, offset: at.offset };
                out.messages.push(Source::Reply, text_of(form, texts, at)?, origin);
            }
            Piece::Section(_) | Piece::Stamp(_) => {}
        }
    }
    out.sections = standing(form, &sections, texts)?;
    Ok(out)
}

fn standing(
    form: Form,
    sections: &[&Section],
    texts: &impl Texts,
) -> Result<Rendered, MissingText> {
    let mut out = Rendered::default();
    let (mut document, mut offsets) = (String::new(), Vec::new());
    for section in sections {
        let Some(content) = section.content else { continue };
        let text = text_of(form, texts, content.text)?;
        if form == Form::Plain {
            out.push(Source::StandingDocument, text, Origin::Section(section.offset));
            continue;
        }
        if !offsets.is_empty() {
            document.push_str("\n\n");
        }
        let unplaced = Section { supersedes: None, ..(*section).clone() };
        form::section(&mut document, &unplaced, false, Some(text));
        offsets.push(section.offset);
    }
    if !offsets.is_empty() {
        out.push(Source::StandingDocument, document, Origin::Document(offsets));
    }
    Ok(out)
}

fn text_of<'a>(
    form: Form,
    texts: &'a impl Texts,
    at: TextRef,
) -> Result<Cow<'a, str>, MissingText> {
    let text = texts.text(at).ok_or(MissingText(at))?;
    Ok(match form {
        Form::Wrapped => escape::text(text),
        Form::Plain => Cow::Borrowed(text),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kernel::{Salt, Timestamp};

    use super::*;
    use crate::{
        derive::{Author, Tier, TurnClass},
        item::{Commitment, Content, Item, Message, Stamp, Voice},
    };

    struct Log(BTreeMap<u64, &'static str>);

    impl Texts for Log {
        fn text(&self, at: TextRef) -> Option<&str> {
            self.0.get(&at.offset).copied()
        }
    }

    fn at(offset: u64) -> TextRef {
        TextRef { offset, part: 0, bytes: 0 }
    }

    fn section(offset: u64, key: &str, supersedes: Option<u64>) -> Item {
        let commitment = Commitment::new(Salt::from_bytes([0; 16]), "");
        Item::Section(Section {
            offset,
            key: key.into(),
            profile: None,
            owner: Tier::Owner,
            supersedes,
            content: Some(Content { text: at(offset), commitment }),
            quotes: vec![],
            rewritten: false,
        })
    }

    fn said(offset: u64, voice: Voice) -> Item {
        Item::Message(Message { offset, voice, text: Some(at(offset)) })
    }

    #[track_caller]
    fn check(form: Form, expected: &[&str]) {
        let narration =
            Voice::Authored { turn: 1, author: Author::System, class: TurnClass::Narration };
        let agent = Voice::Fact { tier: Tier::Agent, actor: "agent:a".into() };
        let items = [
            section(1, "rules", None),
            section(2, "tone", None),
            said(3, Voice::Received { turn: 0 }),
            Item::Stamp(Stamp { offset: 4, slot: None, at: Timestamp::from_micros(0) }),
            section(5, "rules", Some(1)),
            said(6, narration),
            said(7, agent),
        ];
        let texts = [(2, "dry"), (3, "<note>"), (5, "kind"), (6, "night"), (7, "fact")];
        let log = Log(texts.into_iter().collect());
        let history = render(form, items.iter().map(Item::piece), &log).expect("texts are there");
        let shown = history.sections.blocks.iter().chain(&history.messages.blocks);
        let shown: Vec<_> =
            shown.map(|block| format!("{}: {}", block.role.name(), block.text)).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn contract_shows_one_document_and_wrapped_messages() {
        check(
            Form::Wrapped,
            &[
                "system: <section key=\"rules\">\nkind\n</section>\n\n\
                 <section key=\"tone\">\ndry\n</section>",
                "user: <\\note>",
                "developer: <authored class=\"narration\" by=\"system\">night</authored>",
                "developer: @7 actor=agent:a\nfact",
            ],
        );
    }

    #[test]
    fn in_chat_shows_texts_as_they_were_said_and_still_names_an_agent() {
        check(
            Form::Plain,
            &[
                "system: kind",
                "system: dry",
                "user: <note>",
                "developer: night",
                "developer: @7 actor=agent:a\nfact",
            ],
        );
    }
}
