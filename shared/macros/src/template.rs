//! A text whose macros are parsed once, however often it is expanded.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::environment::{Environment, Limits};
use crate::expand::run;
use crate::expansion::{Expansion, Field};
use crate::parse::{Call, Kind, Level, Parsed, is_plain, parse};
use crate::state::Variables;
use crate::table::{Id, find};
use crate::text::trim;

/// An immutable text with its macros. Compares, stores and shows itself as the text; clones share what
/// was parsed.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Template {
    text: Arc<str>,
    form: OnceLock<Form>,
}

/// What a text turned out to be, at its first expansion.
#[derive(Clone)]
enum Form {
    /// Nothing in it can change.
    Plain,
    Parsed {
        tree: Arc<Parsed>,
        limits: Limits,
        names: Names,
    },
    /// So many macros that keeping them would cost more than the text is worth: parsed anew each time.
    Dense {
        names: Names,
    },
}

/// What a text's macros name, whether or not they come to be evaluated.
#[derive(Debug, Clone, Copy, Default)]
struct Names {
    /// A bit for each [`Field`].
    fields: u16,
    volatile: bool,
}

// === impl Template ===

impl Template {
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), form: OnceLock::new() }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// As [`expand`](crate::expand) does it.
    pub fn expand(&self, environment: &Environment<'_>, variables: &mut Variables) -> Expansion {
        match self.form() {
            Form::Plain => Expansion { text: self.text.to_string(), ..Expansion::default() },
            Form::Parsed { tree, limits, .. } if *limits == environment.limits => {
                run(&self.text, tree, environment, variables)
            }
            Form::Parsed { .. } | Form::Dense { .. } => {
                crate::expand(&self.text, environment, variables)
            }
        }
    }

    /// Nothing in it can change: no macro, no marker, no escape.
    pub fn is_plain(&self) -> bool {
        matches!(self.form(), Form::Plain)
    }

    /// Whether one of its macros may read the field.
    pub fn may_read(&self, field: Field) -> bool {
        self.names().fields & bit(field) != 0
    }

    /// Whether one of its macros may read any field.
    pub fn may_read_fields(&self) -> bool {
        self.names().fields != 0
    }

    /// Whether its value may depend on the clock, on chance or on the newest messages.
    pub fn may_be_volatile(&self) -> bool {
        self.names().volatile
    }

    fn names(&self) -> Names {
        match self.form() {
            Form::Plain => Names::default(),
            Form::Parsed { names, .. } | Form::Dense { names } => *names,
        }
    }

    fn form(&self) -> &Form {
        self.form.get_or_init(|| {
            if is_plain(&self.text) {
                return Form::Plain;
            }
            let limits = Limits::default();
            let tree = parse(&self.text, limits.depth, limits.steps);
            let names = Names::of(&self.text, &tree.document);
            if tree.nodes > 2 + self.text.len() / TEXT_BYTES_PER_NODE {
                return Form::Dense { names };
            }
            Form::Parsed { tree: Arc::new(tree), limits, names }
        })
    }
}

/// A tree with more nodes than one for so much text is not kept: it stays a small multiple of the text.
const TEXT_BYTES_PER_NODE: usize = 32;

impl Deref for Template {
    type Target = str;
    fn deref(&self) -> &str {
        &self.text
    }
}

impl From<String> for Template {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Template {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<Template> for String {
    fn from(template: Template) -> Self {
        template.text.to_string()
    }
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Template {}

impl PartialEq<str> for Template {
    fn eq(&self, other: &str) -> bool {
        *self.text == *other
    }
}

impl PartialEq<&str> for Template {
    fn eq(&self, other: &&str) -> bool {
        *self.text == **other
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text, f)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

// === impl Names ===

impl Names {
    fn of(text: &str, level: &Level) -> Self {
        let mut names = Self::default();
        names.read(text, level);
        names
    }

    fn read(&mut self, text: &str, level: &Level) {
        for one in &level.macros {
            match &one.kind {
                Kind::Call(call) => self.read_call(text, call),
                Kind::Variable(variable) => self.read(text, &variable.value),
                Kind::Marker(_) => {}
            }
        }
    }

    fn read_call(&mut self, text: &str, call: &Call) {
        if let Some(id) = call.id {
            self.add(id);
        }
        if call.id == Some(Id::If)
            && let Some(condition) = call.arguments.first()
        {
            let bare = trim(text[condition.range.clone()].trim_start_matches('!'));
            if let Some(id) = find(bare) {
                self.add(id);
            }
            // What such a condition asks for shows only when it is evaluated.
            if !condition.macros.is_empty() {
                *self = Self { fields: u16::MAX, volatile: true };
            }
        }
        for argument in &call.arguments {
            self.read(text, argument);
        }
    }

    fn add(&mut self, id: Id) {
        self.volatile |= id.is_volatile();
        if let Some(field) = id.field() {
            self.fields |= bit(field);
        }
    }
}

const fn bit(field: Field) -> u16 {
    1 << field as u16
}
