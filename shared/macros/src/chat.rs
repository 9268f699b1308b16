//! The newest messages, their numbers and their alternatives.

use std::borrow::Cow;

use crate::environment::{ChatLine, Environment};
use crate::expand::{Evaluator, Value};
use crate::table::Id;

/// The text of the newest message of a kind; a message that is being generated is passed over.
pub(crate) fn text<'e>(evaluator: &mut Evaluator<'_, 'e>, id: Id) -> Value<'e> {
    let found = evaluator.environment.chat.iter().rev().find(|line| {
        !line.is_being_generated()
            && match id {
                Id::LastUserMessage => line.is_user && !line.is_hidden,
                Id::LastCharMessage => !line.is_user && !line.is_hidden,
                _ => true,
            }
    });
    let Some(line) = found else { return Cow::Borrowed("") };
    let quotes = &mut evaluator.report.quotes;
    if !evaluator.is_asking && !quotes.iter().any(|known| known == line.id) {
        quotes.push(line.id.to_owned());
    }
    Cow::Borrowed(line.text)
}

/// Numbers of messages and alternatives; empty where there is none.
pub(crate) fn number<'e>(environment: &Environment<'e>, id: Id) -> Value<'e> {
    let chat = environment.chat;
    let newest = chat.last();
    let number = match id {
        Id::MessageNumber => chat
            .iter()
            .rposition(|line| !line.is_being_generated())
            .map(|place| environment.chat_offset + place),
        Id::SwipeCount => newest.and_then(|line| line.alternatives).map(|all| all.count),
        Id::SwipeNumber => newest.and_then(|line| line.alternatives).map(|all| all.selected + 1),
        Id::AllChatRange => {
            let last = newest.map(|_| environment.chat_offset + chat.len() - 1);
            return last.map_or(Cow::Borrowed(""), |last| Cow::Owned(format!("0-{last}")));
        }
        _ => environment.first_included,
    };
    number.map_or(Cow::Borrowed(""), |number| Cow::Owned(number.to_string()))
}

// === impl ChatLine ===

impl ChatLine<'_> {
    fn is_being_generated(&self) -> bool {
        self.alternatives.is_some_and(|all| all.selected >= all.count)
    }
}
