//! The newest part of the chat that takes part in a compile, bounded in messages and characters.

use std::collections::HashSet;

use kernel::limits::{
    SCAN_CHARS_DEFAULT, SCAN_CHARS_MAX, SCAN_MESSAGES_DEFAULT, SCAN_MESSAGES_MAX,
};
use loader_core::selection::Activation;

use super::ChatMessage;

/// How much of the chat is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    messages: usize,
    chars: usize,
}

// === impl Window ===

impl Window {
    /// The defaults, unless the selection scans deeper than they reach.
    pub fn of(settings: &Activation) -> Self {
        let deep = settings.scan_depth.is_some_and(|depth| depth as usize > SCAN_MESSAGES_DEFAULT);
        if deep {
            Self { messages: SCAN_MESSAGES_MAX, chars: SCAN_CHARS_MAX }
        } else {
            Self { messages: SCAN_MESSAGES_DEFAULT, chars: SCAN_CHARS_DEFAULT }
        }
    }

    /// The newest messages, oldest first, each id once (its newest); the oldest that takes part may
    /// be cut to its end.
    pub fn newest(self, messages: &[ChatMessage]) -> Vec<ChatMessage> {
        let mut seen = HashSet::new();
        let mut chars_left = self.chars;
        let mut newest = Vec::new();
        for message in messages.iter().rev() {
            if newest.len() == self.messages || chars_left == 0 {
                break;
            }
            if !message.id.is_empty() && !seen.insert(message.id.as_str()) {
                continue;
            }
            let text = tail(&message.text, chars_left);
            chars_left -= text.chars().count();
            newest.push(ChatMessage { text: text.to_owned(), ..message.clone() });
        }
        newest.reverse();
        newest
    }
}

/// The last `chars` characters.
fn tail(text: &str, chars: usize) -> &str {
    if text.len() <= chars {
        return text;
    }
    match text.char_indices().rev().nth(chars.saturating_sub(1)) {
        Some((at, _)) => &text[at..],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use wire::common::v1::Author;

    use super::*;

    fn message(id: &str, text: &str) -> ChatMessage {
        ChatMessage {
            id: id.to_owned(),
            author: Author::User,
            name: String::new(),
            text: text.to_owned(),
        }
    }

    #[track_caller]
    fn check(window: Window, messages: &[(&str, &str)], expected: &[&str]) {
        let messages: Vec<_> = messages.iter().map(|(id, text)| message(id, text)).collect();
        let newest = window.newest(&messages);
        let texts: Vec<_> = newest.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(texts, expected);
    }

    const SMALL: Window = Window { messages: 2, chars: 5 };

    #[test]
    fn the_newest_messages_stay() {
        check(SMALL, &[("1", "a"), ("2", "b"), ("3", "c")], &["b", "c"]);
    }

    #[test]
    fn an_id_counts_once_and_its_newest_text_stays() {
        check(SMALL, &[("1", "a"), ("2", "b"), ("1", "c")], &["b", "c"]);
    }

    #[test]
    fn the_oldest_text_is_cut_to_its_end() {
        check(SMALL, &[("1", "äbcd"), ("2", "xyz")], &["cd", "xyz"]);
        check(SMALL, &[("1", "äbcd"), ("2", "vwxyz")], &["vwxyz"]);
    }

    #[test]
    fn a_deep_scan_widens_the_window() {
        let settings = Activation { scan_depth: Some(500), ..Activation::default() };
        assert_eq!(Window::of(&settings).messages, SCAN_MESSAGES_MAX);
        assert_eq!(Window::of(&Activation::default()).messages, SCAN_MESSAGES_DEFAULT);
    }
}
