//! A text on its way into the profile, and the one place where macros are expanded.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use kernel::{Digest, Timestamp, digest_parts};
use macros::{ChatLine, Environment, Field, Scope, Template, Variables};
use prompt::ProfileMode;

use super::{fields::Fields, input::Input, prepare::Prepared};
use crate::diagnostic::{Code, Diagnostic};

/// A text after macros, with everything that its segment must know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Text {
    pub text: String,
    /// What it would be in a world without time, chance and messages, where that differs.
    pub stable: Option<String>,
    pub volatile: bool,
    pub quotes: Vec<String>,
    /// Which pieces of which resources it is made from.
    pub from: Vec<Arc<str>>,
}

/// Expands texts one by one, in order: variables set by one are seen by the next, in every mode.
pub(super) struct Expander<'i> {
    input: &'i Input,
    chat: Vec<ChatLine<'i>>,
    /// What card and persona macros read.
    pub fields: Cow<'i, Fields>,
    /// Lore that waits at outlets.
    pub outlets: Outlets,
    /// Each field is placed at most once (CONTRACT, JOURNAL).
    pub once: bool,
    /// Fields that have their place; their macros give nothing any more where `once` holds.
    pub used: BTreeSet<Field>,
    pub variables: Variables,
    /// The variables of the world without time and chance, once they differ.
    frozen: Option<Variables>,
    pub diagnostics: Vec<Diagnostic>,
}

/// What `{{outlet::name}}` reads, by name.
#[derive(Debug, Default)]
pub(super) struct Outlets {
    pub texts: Vec<(String, String)>,
    /// Without the entries whose text changes by itself.
    pub stable: Vec<(String, String)>,
    pub volatile: bool,
}

/// One expansion's surroundings.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reading<'a> {
    /// The text that is being overridden.
    pub original: Option<&'a str>,
    /// The field whose own format this is: reading it is no second placement.
    pub format_of: Option<Field>,
}

// === impl Text ===

impl Text {
    pub fn new(text: impl Into<String>, from: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), from: vec![from.into()], ..Self::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    pub fn stable(&self) -> &str {
        self.stable.as_deref().unwrap_or(&self.text)
    }

    /// Joins parts into one text.
    pub fn joined(parts: impl IntoIterator<Item = Self>, separator: &str) -> Self {
        let mut parts = parts.into_iter();
        let mut all = parts.next().unwrap_or_default();
        for part in parts {
            all.push(separator, &part);
        }
        all
    }

    /// Puts another text behind this one.
    pub fn push(&mut self, separator: &str, part: &Self) {
        if self.stable.is_some() || part.stable.is_some() {
            self.stable = Some([self.stable(), part.stable()].join(separator));
        }
        self.text.push_str(separator);
        self.text.push_str(&part.text);
        self.inherit(part);
    }

    /// Takes over what another text is made from, and not what it says.
    pub fn inherit(&mut self, part: &Self) {
        self.volatile |= part.volatile;
        for quote in &part.quotes {
            if !self.quotes.contains(quote) {
                self.quotes.push(quote.clone());
            }
        }
        self.from.extend(part.from.iter().cloned());
    }

    /// Takes the place of each `{0}` in a format.
    pub fn in_format(self, format: &Self) -> Self {
        let mut shown = self.map(|text| format.text.replace("{0}", text));
        shown.volatile |= format.volatile;
        shown.quotes.extend(format.quotes.iter().cloned());
        shown
    }

    /// The same change to the text as it is and as it would be.
    pub fn map(mut self, change: impl Fn(&str) -> String) -> Self {
        self.stable = self.stable.map(|stable| change(&stable));
        self.text = change(&self.text);
        self
    }

    /// Equal hashes mean that nothing changed but time, chance and messages.
    pub fn hash(&self, key: &str, role: &str) -> Digest {
        digest_parts(&[key.as_bytes(), role.as_bytes(), self.stable().as_bytes()])
    }
}

// === impl Expander ===

impl<'i> Expander<'i> {
    pub fn new(input: &'i Input) -> Self {
        let line = |message: &'i super::input::Message| ChatLine {
            id: &message.id,
            name: &message.name,
            is_user: message.is_user,
            text: &message.text,
            at: message.at,
            ..ChatLine::default()
        };
        Self {
            input,
            chat: input.messages.iter().map(line).collect(),
            fields: Cow::default(),
            outlets: Outlets::default(),
            once: input.mode != ProfileMode::InChat,
            used: BTreeSet::new(),
            variables: input.variables.clone(),
            frozen: None,
            diagnostics: Vec::new(),
        }
    }

    /// Goes on from texts that were expanded before the lore fired.
    pub fn resume(&mut self, prepared: &'i Prepared) {
        self.fields = Cow::Borrowed(&prepared.fields);
        self.diagnostics.clone_from(&prepared.diagnostics);
        if let Some(mut frozen) = prepared.frozen.clone() {
            for scope in [Scope::Local, Scope::Global] {
                // What the lore wrote, it wrote in both worlds.
                for (name, value) in self.variables.iter(scope) {
                    if prepared.variables.get(scope, name) != Some(value) {
                        frozen.set(scope, name, value.to_owned());
                    }
                }
            }
            self.frozen = Some(frozen);
        }
    }

    /// Leaves what was expanded so far for a later compile.
    pub fn pause(self) -> Prepared {
        Prepared {
            fields: self.fields.into_owned(),
            variables: self.variables,
            frozen: self.frozen,
            diagnostics: self.diagnostics,
        }
    }

    pub fn say(&mut self, code: Code, place: &str) {
        self.diagnostics.push(Diagnostic::new(code, place));
    }

    /// Expands a text that stands at `place`.
    pub fn expand(&mut self, place: impl Into<Arc<str>>, raw: &Template) -> Text {
        self.expand_in(&place.into(), raw, Reading::default())
    }

    pub fn expand_in(&mut self, place: &Arc<str>, raw: &Template, reading: Reading) -> Text {
        let before = self.may_freeze(raw).then(|| self.variables.clone());
        let mut variables = std::mem::take(&mut self.variables);
        let expansion = raw.expand(&self.environment(place, raw, reading, false), &mut variables);
        self.variables = variables;
        let read = expansion.fields_used.iter().filter_map(|&field| self.fields.text(field));
        let mut quotes = expansion.quotes.clone();
        let mut volatile = expansion.volatile || self.outlets.volatile && raw.contains("outlet");
        for text in read {
            volatile |= text.volatile;
            quotes.extend(text.quotes.iter().filter(|id| !expansion.quotes.contains(id)).cloned());
        }
        let stable = before.and_then(|before| {
            self.freeze(place, raw, reading, volatile, before)
                .filter(|stable| *stable != expansion.text)
        });
        self.report(place, &expansion);
        self.place(place, &expansion.fields_used, reading.format_of);
        Text { text: expansion.text, stable, volatile, quotes, from: vec![place.clone()] }
    }

    /// Expands without leaving a trace: for values that only a macro may ask for.
    pub fn peek(&self, place: &str, raw: &Template) -> String {
        let environment = self.environment(place, raw, Reading::default(), false);
        raw.expand(&environment, &mut self.variables.clone()).text
    }

    /// Whether the text may differ in a world without time, chance and messages.
    fn may_freeze(&self, raw: &Template) -> bool {
        self.input.mode == ProfileMode::Journal
            && !raw.is_plain()
            && (self.frozen.is_some()
                || raw.may_be_volatile()
                || self.outlets.volatile
                || self.fields.are_volatile())
    }

    /// The text in a world without time, chance and messages, if that could differ.
    fn freeze(
        &mut self,
        place: &str,
        raw: &Template,
        reading: Reading,
        volatile: bool,
        before: Variables,
    ) -> Option<String> {
        if !volatile && self.frozen.is_none() {
            return None;
        }
        let mut frozen = self.frozen.take().unwrap_or(before);
        let stable = raw.expand(&self.environment(place, raw, reading, true), &mut frozen).text;
        self.frozen = Some(frozen).filter(|frozen| *frozen != self.variables);
        Some(stable)
    }

    fn environment<'s>(
        &'s self,
        place: &'s str,
        raw: &Template,
        reading: Reading<'s>,
        frozen: bool,
    ) -> Environment<'s> {
        let input = self.input;
        let hidden = |field: Field| {
            self.once && self.used.contains(&field) && reading.format_of != Some(field)
        };
        let (card, persona) = match raw.may_read_fields() {
            true => (self.fields.card(frozen, hidden), self.fields.persona(frozen, hidden)),
            false => Default::default(),
        };
        let window = super::call_config::window_tokens(input);
        let reply = super::call_config::reply_tokens(input).unwrap_or(0);
        Environment {
            user: input.user_name(),
            char: input.character_name(),
            card,
            persona,
            chat: if frozen { &[] } else { &self.chat },
            chat_offset: usize::try_from(input.messages_before).unwrap_or(usize::MAX),
            now: if frozen { Timestamp::default() } else { input.now },
            utc_offset_min: input.utc_offset_min,
            model: &input.model.name,
            max_context: u64::from(window),
            max_response: u64::from(reply),
            generation_type: if frozen { "" } else { input.generation.name() },
            outlets: if frozen { &self.outlets.stable } else { &self.outlets.texts },
            original: reading.original,
            seed: if frozen { 0 } else { input.seed },
            pick_seed: input.pick_seed,
            seed_scope: place,
            ..Environment::default()
        }
    }

    /// Notes which fields the text has placed.
    fn place(&mut self, place: &str, fields: &BTreeSet<Field>, format_of: Option<Field>) {
        for &field in fields {
            if field == Field::CreatorNotes {
                self.say(Code::CreatorNotesNotSent, place);
            } else if self.once
                && field != Field::Version
                && format_of != Some(field)
                && self.fields.has(field)
                && !self.used.insert(field)
            {
                self.say(Code::FieldAlreadyUsed, place);
            }
        }
    }

    fn report(&mut self, place: &str, expansion: &macros::Expansion) {
        for found in &expansion.diagnostics {
            let code = match found.code {
                macros::Code::MacroUnknown => Code::MacroUnknown,
                macros::Code::MacroOriginalUnavailable => Code::MacroOriginalUnavailable,
                _ => Code::MacroProblem,
            };
            let said = Diagnostic::new(code, place).with("macro", &found.macro_text);
            self.diagnostics.push(match code {
                Code::MacroProblem => said.with("reason", found.code.as_str()),
                _ => said,
            });
        }
        if expansion.diagnostics_omitted > 0 {
            let more = expansion.diagnostics_omitted;
            self.diagnostics.push(Diagnostic::new(Code::MacroProblem, place).with("omitted", more));
        }
        if expansion.volatile && self.input.mode == ProfileMode::Journal {
            self.say(Code::VolatileMacroFrozen, place);
        }
    }
}
