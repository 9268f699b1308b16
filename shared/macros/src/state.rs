//! The variables that texts share: a local and a global map of strings, bounded and serialisable.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// Variables of the conversation (`local`) and of the owner (`global`).
///
/// Values are strings; whoever imports a chat log's numbers or lists writes them as their JSON text,
/// which reads back the same. Serialised as `{"local": {…}, "global": {…}}`. A clone costs nothing until
/// one of the two is written to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Maps", into = "Maps")]
pub struct Variables {
    local: Arc<BTreeMap<String, String>>,
    global: Arc<BTreeMap<String, String>>,
    bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Local,
    Global,
}

/// The maps alone, as they are stored.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Maps {
    local: BTreeMap<String, String>,
    global: BTreeMap<String, String>,
}

// === impl Variables ===

impl Variables {
    pub fn get(&self, scope: Scope, name: &str) -> Option<&str> {
        self.map(scope).get(name).map(String::as_str)
    }

    pub fn set(&mut self, scope: Scope, name: &str, value: String) {
        self.bytes += name.len() + value.len();
        if let Some(old) = self.map_mut(scope).insert(name.to_owned(), value) {
            self.bytes -= name.len() + old.len();
        }
    }

    pub fn remove(&mut self, scope: Scope, name: &str) -> Option<String> {
        let old = self.map_mut(scope).remove(name)?;
        self.bytes -= name.len() + old.len();
        Some(old)
    }

    pub fn iter(&self, scope: Scope) -> impl Iterator<Item = (&str, &str)> {
        self.map(scope).iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn is_empty(&self) -> bool {
        self.local.is_empty() && self.global.is_empty()
    }

    /// Bytes of all names and values.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn map(&self, scope: Scope) -> &BTreeMap<String, String> {
        match scope {
            Scope::Local => &self.local,
            Scope::Global => &self.global,
        }
    }

    fn map_mut(&mut self, scope: Scope) -> &mut BTreeMap<String, String> {
        Arc::make_mut(match scope {
            Scope::Local => &mut self.local,
            Scope::Global => &mut self.global,
        })
    }
}

impl From<Maps> for Variables {
    fn from(Maps { local, global }: Maps) -> Self {
        let bytes = local.iter().chain(&global).map(|(name, value)| name.len() + value.len()).sum();
        Self { local: local.into(), global: global.into(), bytes }
    }
}

impl From<Variables> for Maps {
    fn from(Variables { local, global, bytes: _ }: Variables) -> Self {
        Self { local: Arc::unwrap_or_clone(local), global: Arc::unwrap_or_clone(global) }
    }
}
