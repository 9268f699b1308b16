//! The variables that texts share: a local and a global map of strings, bounded and serialisable.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// Variables of the conversation (`local`) and of the owner (`global`).
///
/// Values are strings; whoever imports a chat log's numbers or lists writes them as their JSON text,
/// which reads back the same. Serialised as `{"local": {…}, "global": {…}}`. A clone costs nothing until
/// one of the two is written to, and nothing is allocated for an empty one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Maps", into = "Maps")]
pub struct Variables {
    /// None: empty.
    local: Option<Arc<Map>>,
    global: Option<Arc<Map>>,
    bytes: usize,
}

type Map = BTreeMap<String, String>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Local,
    Global,
}

/// The maps alone, as they are stored.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Maps {
    local: Map,
    global: Map,
}

// === impl Variables ===

impl Variables {
    pub fn get(&self, scope: Scope, name: &str) -> Option<&str> {
        self.map(scope).as_ref()?.get(name).map(String::as_str)
    }

    pub fn set(&mut self, scope: Scope, name: &str, value: String) {
        self.bytes += name.len() + value.len();
        let map = Arc::make_mut(self.map_mut(scope).get_or_insert_default());
        if let Some(old) = map.insert(name.to_owned(), value) {
            self.bytes -= name.len() + old.len();
        }
    }

    pub fn remove(&mut self, scope: Scope, name: &str) -> Option<String> {
        let place = self.map_mut(scope);
        let map = Arc::make_mut(place.as_mut()?);
        let old = map.remove(name)?;
        if map.is_empty() {
            *place = None;
        }
        self.bytes -= name.len() + old.len();
        Some(old)
    }

    pub fn iter(&self, scope: Scope) -> impl Iterator<Item = (&str, &str)> {
        let map = self.map(scope).as_deref();
        map.into_iter().flatten().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn is_empty(&self) -> bool {
        self.local.is_none() && self.global.is_none()
    }

    /// Bytes of all names and values.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn map(&self, scope: Scope) -> &Option<Arc<Map>> {
        match scope {
            Scope::Local => &self.local,
            Scope::Global => &self.global,
        }
    }

    fn map_mut(&mut self, scope: Scope) -> &mut Option<Arc<Map>> {
        match scope {
            Scope::Local => &mut self.local,
            Scope::Global => &mut self.global,
        }
    }
}

impl From<Maps> for Variables {
    fn from(Maps { local, global }: Maps) -> Self {
        let bytes = local.iter().chain(&global).map(|(name, value)| name.len() + value.len()).sum();
        let kept = |map: Map| (!map.is_empty()).then(|| Arc::new(map));
        Self { local: kept(local), global: kept(global), bytes }
    }
}

impl From<Variables> for Maps {
    fn from(Variables { local, global, bytes: _ }: Variables) -> Self {
        let owned = |map: Option<Arc<Map>>| map.map(Arc::unwrap_or_clone).unwrap_or_default();
        Self { local: owned(local), global: owned(global) }
    }
}
