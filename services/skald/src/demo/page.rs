//! The printed page: colour on a terminal, plain in a pipe.

use std::{fmt, io::IsTerminal, path::Path, time::Duration};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};

use crate::{Failure, output::Output};

/// How wide a block of text is set.
const WIDTH: usize = 96;

const HEADING: Style = AnsiColor::Cyan.on_default().bold();
const SPEAKER: Style = AnsiColor::Green.on_default().bold();
const DIM: Style = Style::new().dimmed();
const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const NOTE: Style = AnsiColor::Yellow.on_default();

/// The page that the demo writes.
#[derive(Debug, Clone)]
pub(super) struct Page {
    terminal: bool,
    output: Output,
}

// === impl Page ===

impl Page {
    pub(super) fn new() -> Self {
        Self { terminal: std::io::stdout().is_terminal(), output: Output::default() }
    }

    /// Whether all of the page was written.
    pub(super) fn written(&self) -> Result<(), Failure> {
        self.output.written()
    }

    fn line(&self, line: fmt::Arguments<'_>) {
        self.output.line(line);
    }

    pub(super) fn heading(&self, number: u32, title: &str) {
        self.line(format_args!("\n{HEADING}{number}. {title}{HEADING:#}"));
    }

    /// One fact: a name and its value.
    pub(super) fn fact(&self, name: &str, value: &str) {
        self.line(format_args!("   {DIM}{name:<12}{DIM:#} {value}"));
    }

    pub(super) fn note(&self, text: &str) {
        self.line(format_args!("   {NOTE}{text}{NOTE:#}"));
    }

    /// Something that was said, wrapped.
    pub(super) fn said(&self, speaker: &str, text: &str) {
        self.line(format_args!("   {SPEAKER}{speaker}{SPEAKER:#}"));
        for line in text.lines().flat_map(wrapped) {
            self.line(format_args!("     {line}"));
        }
    }

    /// A line diff, coloured.
    pub(super) fn diff(&self, diff: &str) {
        for line in diff.lines() {
            let style = match line.as_bytes().first() {
                Some(b'+') => ADDED,
                Some(b'-') => REMOVED,
                _ => DIM,
            };
            for line in wrapped(line) {
                self.line(format_args!("     {style}{line}{style:#}"));
            }
        }
    }

    /// One block of a request: where each of its pieces comes from, and its beginning.
    pub(super) fn block(&self, index: u32, role: &str, origins: &[String], text: &str) {
        let block = format!("   {DIM}[{index}]{DIM:#} {SPEAKER}{role}{SPEAKER:#}");
        match origins {
            [origin] => self.line(format_args!("{block} {DIM}{origin}{DIM:#}")),
            origins => {
                self.line(format_args!("{block} {DIM}of {} pieces{DIM:#}", origins.len()));
                for origin in origins {
                    self.line(format_args!("     {DIM}· {origin}{DIM:#}"));
                }
            }
        }
        for line in text.lines().flat_map(wrapped) {
            self.line(format_args!("     {line}"));
        }
    }

    /// A moving sign while something is awaited; nothing in a pipe.
    pub(super) fn waiting(&self, what: &'static str) -> ProgressBar {
        if !self.terminal {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::new_spinner().with_message(what);
        if let Ok(style) = ProgressStyle::with_template("   {spinner:.cyan} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(80));
        bar
    }

    pub(super) fn closing(&self, folder: &Path) {
        let folder = folder.display();
        let skald = std::env::args().next().unwrap_or_else(|| "skald".to_owned());
        self.line(format_args!("\n{HEADING}Look around{HEADING:#}"));
        self.line(format_args!("   {skald} serve --data-dir {folder}"));
        self.line(format_args!("   grpcurl -plaintext 127.0.0.1:50051 list"));
        self.line(format_args!(
            "   grpcurl -plaintext 127.0.0.1:50051 skald.ledger.v1.SessionService/ListSessions"
        ));
    }
}

/// Breaks a text at words; an empty text is one empty line.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let line = lines.last_mut().expect("there is always one");
        if !line.is_empty() && line.chars().count() + word.trim_end().chars().count() > WIDTH {
            lines.push(word.to_owned());
        } else {
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, lines: usize) {
        let wrapped = wrapped(text);
        assert_eq!(wrapped.len(), lines, "{wrapped:?}");
        assert_eq!(wrapped.concat(), text, "nothing is lost");
    }

    #[test]
    fn long_texts_break_at_words_and_lose_nothing() {
        check("", 1);
        check("short", 1);
        check(&"word ".repeat(40), 3);
        check(&"x".repeat(300), 1);
    }
}
