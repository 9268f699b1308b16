//! The fields of one object, taken out by name and type; real files are sloppy and every
//! correction is reported.
//!
//! `null` is the same as absent. What nobody took is left over, and is thereby an unknown field.

use serde_json::{Map, Value};

use super::report::{Code, Report};

/// An object whose fields are moved out as they are read.
pub struct Fields {
    fields: Map<String, Value>,
    path: String,
}

// === impl Fields ===

impl Fields {
    /// `path` is where the object stands; empty for the root.
    pub fn new(fields: Map<String, Value>, path: impl Into<String>) -> Self {
        Self { fields, path: path.into() }
    }

    /// The path of one field.
    pub fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub fn has(&self, key: &str) -> bool {
        self.fields.get(key).is_some_and(|value| !value.is_null())
    }

    pub fn has_any(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.has(key))
    }

    /// Looks at a field without taking it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.fields.get(key)
    }

    pub fn str(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    pub fn put(&mut self, key: &str, value: Option<Value>) {
        self.fields.extend(value.map(|value| (key.to_owned(), value)));
    }

    /// Lets an old key stand for a new one that is absent.
    pub fn rename(&mut self, old: &str, new: &str) {
        if !self.has(new) {
            let value = self.take(old);
            self.put(new, value);
        }
    }

    pub fn into_map(self) -> Map<String, Value> {
        self.fields
    }

    /// Moves a field out; what stays is a `null`, so that order and cost do not change.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        self.fields.get_mut(key).map(Value::take).filter(|value| !value.is_null())
    }

    /// Takes fields that are understood and have no place in the model.
    pub fn drop_all(&mut self, keys: &[&str]) {
        for key in keys {
            self.take(key);
        }
    }

    /// A text; numbers and booleans are written out.
    pub fn text(&mut self, key: &str, report: &mut Report) -> Option<String> {
        match self.take(key)? {
            Value::String(text) => Some(text),
            value @ (Value::Number(_) | Value::Bool(_)) => {
                let text = value.to_string();
                self.coerced(key, "is no text: it was written out", report);
                Some(text)
            }
            value => self.unusable(key, &value, "a text", report),
        }
    }

    /// A finite number; a text that holds one counts, an empty text is absent.
    pub fn number(&mut self, key: &str, report: &mut Report) -> Option<f64> {
        let value = self.take(key)?;
        let text = value.as_str().map(str::trim);
        let number = value.as_f64().or_else(|| text?.parse().ok()).filter(|n: &f64| n.is_finite());
        match (number, text) {
            (Some(_), Some(_)) => self.coerced(key, "is a number in a text", report),
            (None, Some("")) => self.coerced(key, "is an empty text: it counts as absent", report),
            (None, _) => return self.unusable(key, &value, "a number that can be used", report),
            (Some(_), None) => {}
        }
        number
    }

    /// A number that is not negative.
    pub fn positive(&mut self, key: &str, report: &mut Report) -> Option<f64> {
        let number = self.number(key, report)?;
        if number < 0.0 {
            let message = format!("is {number}, which is out of range: the default is taken");
            report.add(Code::ValueUnusable, self.path(key), message);
            return None;
        }
        Some(number)
    }

    /// A whole number, exact where the file has one; a fraction is cut off.
    pub fn integer(&mut self, key: &str, report: &mut Report) -> Option<i64> {
        if let Some(exact) = self.get(key).and_then(Value::as_i64) {
            self.take(key);
            return Some(exact);
        }
        let number = self.number(key, report)?;
        if number.fract() != 0.0 {
            self.coerced(key, "is no whole number: its fraction was cut off", report);
        }
        // Farther out whole numbers are no longer exact.
        if number.abs() > 9_007_199_254_740_992.0 {
            let message = format!("is {number:e}, which is out of range: the default is taken");
            report.add(Code::ValueUnusable, self.path(key), message);
            return None;
        }
        Some(number as i64)
    }

    /// A whole number that is not negative.
    pub fn count(&mut self, key: &str, report: &mut Report) -> Option<u32> {
        let number = self.integer(key, report)?;
        let count = u32::try_from(number).ok();
        if count.is_none() {
            let message = format!("is {number}, which is out of range");
            report.add(Code::ValueUnusable, self.path(key), message);
        }
        count
    }

    /// A truth value; 0 and 1 and the words count.
    pub fn flag(&mut self, key: &str, report: &mut Report) -> Option<bool> {
        let value = self.take(key)?;
        if let Value::Bool(flag) = value {
            return Some(flag);
        }
        let flag = match value.as_str().map(str::trim) {
            Some("true" | "1") => true,
            Some("false" | "0" | "") => false,
            Some(_) => return self.unusable(key, &value, "true or false", report),
            None => match value.as_f64() {
                Some(number) => number != 0.0,
                None => return self.unusable(key, &value, "true or false", report),
            },
        };
        self.coerced(key, format!("is not true or false: it was read as {flag}"), report);
        Some(flag)
    }

    /// A list of texts; one text alone counts as a list of it.
    pub fn texts(&mut self, key: &str, report: &mut Report) -> Vec<String> {
        match self.take(key) {
            None => Vec::new(),
            Some(Value::String(text)) => {
                self.coerced(key, "is one text: it was read as a list of it", report);
                vec![text]
            }
            Some(Value::Array(items)) => {
                let path = self.path(key);
                items
                    .into_iter()
                    .enumerate()
                    .filter_map(|(at, item)| text_of(item, &path, at, report))
                    .collect()
            }
            Some(value) => {
                self.unusable::<()>(key, &value, "a list of texts", report);
                Vec::new()
            }
        }
    }

    pub fn list(&mut self, key: &str, report: &mut Report) -> Option<Vec<Value>> {
        match self.take(key)? {
            Value::Array(items) => Some(items),
            value => self.unusable(key, &value, "a list", report),
        }
    }

    pub fn object(&mut self, key: &str, report: &mut Report) -> Option<Fields> {
        match self.take(key)? {
            Value::Object(fields) => Some(Fields::new(fields, self.path(key))),
            value => self.unusable(key, &value, "an object", report),
        }
    }

    /// What nobody took, `null` aside.
    pub fn left_over(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.fields.iter().filter(|(_, v)| !v.is_null()).map(|(key, value)| (key.as_str(), value))
    }

    /// Reports what nobody took.
    pub fn report_unknown(&self, report: &mut Report) {
        for (key, _) in self.left_over() {
            let key: String = key.chars().take(100).collect();
            report.add(Code::UnknownField, self.path(&key), "is not known: kept in the original");
        }
    }

    fn coerced(&self, key: &str, message: impl Into<String>, report: &mut Report) {
        report.add(Code::ValueCoerced, self.path(key), message);
    }

    fn unusable<T>(
        &self,
        key: &str,
        value: &Value,
        wanted: &str,
        report: &mut Report,
    ) -> Option<T> {
        let message = format!("is {}, not {wanted}: the default is taken", kind(value));
        report.add(Code::ValueUnusable, self.path(key), message);
        None
    }
}

/// One item of a list of texts.
fn text_of(item: Value, path: &str, at: usize, report: &mut Report) -> Option<String> {
    match item {
        Value::String(text) => Some(text),
        Value::Number(_) | Value::Bool(_) => {
            report.add(
                Code::ValueCoerced,
                format_args!("{path}[{at}]"),
                "is no text: it was written out",
            );
            Some(item.to_string())
        }
        _ => {
            let message = format!("is {}, not a text: it was left out", kind(&item));
            report.add(Code::ValueUnusable, format_args!("{path}[{at}]"), message);
            None
        }
    }
}

/// How a message names a value's type.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
