//! Some fields of an entry, restated; what is not restated is inherited.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{entry::EntryBody, fields};

/// Restated fields by their stored names. One that exists has known names and well-typed values.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct Patch(Map<String, Value>);

/// A patch that restates what no entry has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPatch {
    #[error("{0:?} is no field of an entry")]
    UnknownField(String),
    #[error("{field}: {why}")]
    Value { field: String, why: String },
}

// === impl Patch ===

impl Patch {
    pub fn new(fields: Map<String, Value>) -> Result<Self, InvalidPatch> {
        for (name, value) in &fields {
            if fields::by_name(name).is_none() {
                return Err(InvalidPatch::UnknownField(name.clone()));
            }
            let one = Map::from_iter([(name.clone(), value.clone())]);
            let read = EntryBody::deserialize(Value::Object(one));
            read.map_err(|why| InvalidPatch::Value { field: name.clone(), why: why.to_string() })?;
        }
        Ok(Self(fields))
    }

    /// The fields of `body` that `names` lists; unknown names are refused.
    pub fn of(body: &EntryBody, names: &[&str]) -> Result<Self, InvalidPatch> {
        let Ok(Value::Object(all)) = serde_json::to_value(body) else {
            return Ok(Self::default());
        };
        let mut fields = Map::new();
        for name in names {
            let value = fields::by_name(name).and_then(|field| all.get(field.name));
            let value = value.ok_or_else(|| InvalidPatch::UnknownField((*name).to_owned()))?;
            fields.insert((*name).to_owned(), value.clone());
        }
        Ok(Self(fields))
    }

    /// Restates one field more.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Result<Self, InvalidPatch> {
        self.0.insert(name.to_owned(), value.into());
        Self::new(self.0)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn restates(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// `base` with the restated fields in place.
    pub fn apply(&self, base: &EntryBody) -> EntryBody {
        let mut body = base.clone();
        if let Ok(stated) = EntryBody::deserialize(Value::Object(self.0.clone())) {
            for field in self.0.keys().filter_map(|name| fields::by_name(name)) {
                field.copy(&stated, &mut body);
            }
        }
        body
    }
}

impl TryFrom<Map<String, Value>> for Patch {
    type Error = InvalidPatch;
    fn try_from(fields: Map<String, Value>) -> Result<Self, InvalidPatch> {
        Self::new(fields)
    }
}

impl From<Patch> for Map<String, Value> {
    fn from(patch: Patch) -> Self {
        patch.0
    }
}
