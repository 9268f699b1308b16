//! Why each piece of a profile is in a request: read from the audit of the compile that landed it.

use std::collections::{BTreeSet, HashMap};

use kernel::{Owner, SessionId};
use ledger_core::State;
use prompt::item::Item;
use serde::Deserialize;

use super::{Ledger, Origin, record::RequestRecord};
use crate::error::Result;

/// What is read of an audit; the rest is the loader's own.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Audit {
    lore: Vec<Activated>,
    segments: Vec<Segment>,
    worlds: Vec<World>,
}

#[derive(Deserialize)]
struct Activated {
    key: String,
    reason: String,
}

#[derive(Deserialize)]
struct Segment {
    key: String,
    from: Vec<String>,
}

#[derive(Deserialize)]
struct World {
    id: String,
    name: String,
    content_revision: u64,
}

// === impl Ledger ===

impl Ledger {
    /// Fills in the reasons. Costs one record for each compile whose sections are still shown.
    pub(super) async fn explain(
        &self,
        owner: &Owner,
        session: &SessionId,
        before: &State,
        record: &RequestRecord,
        origins: &mut [Vec<Origin>],
    ) -> Result<()> {
        let stamps: Vec<u64> = before
            .items()
            .iter()
            .filter_map(|item| match item {
                Item::Stamp(stamp) => Some(stamp.offset),
                Item::Section(_) | Item::Message(_) => None,
            })
            .collect();
        // A section was landed for the first stamp behind it; without one, for this request.
        let landed_for = |origin: &Origin| {
            let behind = stamps.iter().filter(|stamp| **stamp > origin.offset);
            behind.min().copied().filter(|_| origin.offset > 0)
        };
        let profile = |origin: &&Origin| origin.kind == "profile";
        let needed: BTreeSet<u64> =
            origins.iter().flatten().filter(profile).filter_map(landed_for).collect();
        let own = reasons(&record.audit);
        let mut earlier = HashMap::new();
        for stamp in needed {
            let record = self.request_record(owner, session, stamp).await?;
            earlier.insert(stamp, reasons(&record.audit));
        }
        for origin in origins.iter_mut().flatten().filter(|origin| origin.kind == "profile") {
            let of = landed_for(origin).and_then(|stamp| earlier.get(&stamp)).unwrap_or(&own);
            origin.reason = of.get(&origin.key).cloned().unwrap_or_default();
        }
        Ok(())
    }
}

/// Reasons by key.
fn reasons(audit: &str) -> HashMap<String, String> {
    let audit: Audit = serde_json::from_str(audit).unwrap_or_default();
    let worlds: HashMap<String, String> = audit
        .worlds
        .into_iter()
        .map(|world| (world.id, format!("{} @{}", world.name, world.content_revision)))
        .collect();
    let of_segments =
        audit.segments.into_iter().map(|segment| (segment.key, segment.from.join(" + ")));
    let mut reasons: HashMap<String, String> = of_segments.collect();
    for activated in audit.lore {
        let world = activated.key.split(':').nth(1).and_then(|id| worlds.get(id));
        let world = world.cloned().unwrap_or_default();
        reasons.insert(activated.key, format!("{world}: {}", activated.reason));
    }
    reasons
}
