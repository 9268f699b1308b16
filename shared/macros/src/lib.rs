//! The SillyTavern 1.19 macro engine: one text in, the expanded text and what was used out.
//!
//! [`expand`] evaluates `{{…}}` once, left to right, against a borrowed [`Environment`] and the
//! [`Variables`] that texts share. It is pure: time and seeds are arguments, and the same inputs give
//! the same bytes on every platform. It knows no policy; it expands what it is given. The rules are
//! those of reference C (SillyTavern's parser engine, not its older passes of regular expressions).
//!
//! # Syntax
//!
//! - Names in any case; white space after `{{` and before `}}`.
//! - `{{name::a::b}}` is a list of arguments; `{{name:a}}` and `{{name a}}` give one, which may hold
//!   `::`. Arguments lose the white space around them as written, and hold macros of any depth.
//! - `{{name}}…{{/name}}` gives the last argument, trimmed and dedented; `{{#name}}` keeps its white
//!   space. The flags `! ? ~ >` are read and do nothing.
//! - `{{.x}}` and `{{$x}}` are a local and a global variable, with the operators `++ -- = += -= || ??
//!   ||= ??= == != > >= < <=`. Their values hold macros, but no scopes. `{{.}}` is nothing, and what a
//!   shorthand cannot use (`{{.x y}}`) is passed over; both are diagnosed.
//! - `<USER>`, `<BOT>`, `<CHAR>`, `<GROUP>`, `<CHARIFNOTGROUP>` and `{{time_UTC+2}}` are older forms.
//! - `\{` and `\}` become braces at the very end, and each unscoped `{{trim}}` goes with the line
//!   breaks around it.
//! - Whatever is unknown, has the wrong arguments or is not closed stays literal and is diagnosed;
//!   macros inside of it are evaluated all the same (not inside of an `if` that stays literal).
//!
//! # Macros
//!
//! | names | value |
//! |---|---|
//! | `user`, `char` | the names |
//! | `group` (`charIfNotGroup`), `groupNotMuted`, `notChar` | names joined by commas; outside of a group the character, the character, the user |
//! | `description` (`charDescription`), `personality` (`charPersonality`), `scenario` (`charScenario`), `charPrompt`, `charInstruction`, `charDepthPrompt`, `creatorNotes` (`charCreatorNotes`), `charVersion` (`version`, `char_version`) | the card's fields |
//! | `persona` | the user's description |
//! | `mesExamplesRaw`, `mesExamples` | the examples as written, and block by block behind `<START>` |
//! | `greeting` (`charFirstMessage`) `[::n]` | the first message, or the n-th alternate greeting |
//! | `original` | the overridden text, once |
//! | `newline[::n]`, `space[::n]`, `noop`, `trim`, `reverse::a` | what they say |
//! | `//` (`comment`), `banned` | nothing |
//! | `random::a::b`, `random a,b` | one of them, anew for each request |
//! | `pick::a::b`, `pick a,b` | one of them, the same for the conversation's life |
//! | `roll::2d6+1`, `roll::6` | a sum of dice |
//! | `time[::UTC+n]`, `date`, `weekday`, `isotime`, `isodate`, `datetimeformat::pattern` | the clock; patterns are moment.js's |
//! | `timeDiff::a::b`, `idleDuration` (`idle_duration`) | spans of time in words |
//! | `lastMessage`, `lastUserMessage`, `lastCharMessage` | texts of the newest messages |
//! | `lastMessageId`, `firstIncludedMessageId`, `firstDisplayedMessageId`, `lastSwipeId`, `currentSwipeId`, `allChatRange` | their numbers |
//! | `setvar::x::a`, `addvar::x::a`, `incvar::x`, `decvar::x`, `getvar::x`, `hasvar::x` (`varexists`), `deletevar::x` (`flushvar`), `setvarkey::x::k::a` (`setvarindex`), `getvarkey::x::k` (`getvarindex`) | local variables |
//! | the same with `globalvar` for `var` | global variables |
//! | `if condition`, `else` | a branch; the other one is not evaluated |
//! | `outlet::name` | lore collected under that name |
//! | `model`, `maxPrompt`, `maxContext`, `maxResponse` (each also with `Tokens`), `input`, `lastGenerationType` | the request |
//! | `isMobile`, `hasExtension::name` | `false`: there is no browser |
//! | `chatStart`, `exampleSeparator` (`chatSeparator`), `systemPrompt` | `***`, `***`, the card's system prompt |
//! | `defaultSystemPrompt`, `instruct…` | nothing: templates of text completion |
//!
//! # Differences from SillyTavern
//!
//! - `pick`, `random` and `roll` obey the same laws but draw from the caller's seeds.
//! - A scoped macro that stays literal keeps its closing tag; SillyTavern eats its braces and name
//!   ([`Quirks::eat_closing_tags`] shows it).
//! - Literal text keeps `<USER>` and its kin as written, and they never open a scope.
//! - `systemPrompt` and `defaultSystemPrompt` know no prompt of the program's own.
//! - What cannot be read of a shorthand is passed over or left as it is, macros inside of it included;
//!   SillyTavern's parser recovers somewhere behind it.
//! - Variables have no names but those that were set: `{{getvar::toString}}` is nothing.
//! - There are limits ([`Limits`]); beyond them macros stay literal.

mod chance;
mod chat;
mod control;
mod environment;
mod expand;
mod expansion;
mod names_fields;
mod parse;
mod settings;
mod state;
mod table;
mod template;
mod text;
mod time;
mod variables;

pub use environment::{Alternatives, Card, ChatLine, Environment, GroupMember, Limits, Quirks};
pub use expand::expand;
pub use expansion::{Code, DIAGNOSTIC_CHARS_MAX, DIAGNOSTICS_MAX, Diagnostic, Expansion, Field};
pub use state::{Scope, Variables};
pub use template::Template;
