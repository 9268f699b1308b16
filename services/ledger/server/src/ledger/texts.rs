//! Texts of the log by place, kept for the requests to come.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use kernel::{Owner, SessionId, limits};
use ledger_core::Event;
use moka::sync::Cache;
use prompt::{item::TextRef, journal::Texts};

use super::{Ledger, load};
use crate::error::{Error, Result};

type Place = (Owner, SessionId, TextRef);

/// The texts that this process has read last, bounded by their bytes. An event never changes, so a
/// text that was read stays right until it is erased.
pub(super) struct TextCache(Cache<Place, Arc<str>>);

/// The texts that one render needs.
#[derive(Default)]
pub(super) struct Found(HashMap<TextRef, Arc<str>>);

// === impl TextCache ===

impl TextCache {
    pub(super) fn new() -> Self {
        let cache = Cache::builder()
            .max_capacity(limits::TEXT_CACHE_BYTES_MAX)
            .weigher(|_, text: &Arc<str>| u32::try_from(text.len() + 256).unwrap_or(u32::MAX))
            .build();
        Self(cache)
    }
}

// === impl Found ===

impl Texts for Found {
    fn text(&self, at: TextRef) -> Option<&str> {
        self.0.get(&at).map(AsRef::as_ref)
    }
}

impl Found {
    /// Adds the texts of events that are decided and not stored yet.
    pub(super) fn add(&mut self, events: &[Event]) {
        for event in events {
            for part in 0..=1 {
                let Some(text) = event.body.text(part) else { continue };
                let bytes = u32::try_from(text.len()).unwrap_or(u32::MAX);
                self.0.insert(TextRef { offset: event.meta.offset, part, bytes }, text.into());
            }
        }
    }

    /// The text at a place; empty where the log has none.
    pub(super) fn or_empty(&self, at: Option<TextRef>) -> &str {
        at.and_then(|at| self.text(at)).unwrap_or_default()
    }
}

// === impl Ledger ===

impl Ledger {
    /// The events at these offsets, of which the log must have every one.
    pub(super) async fn events_there(
        &self,
        owner: &Owner,
        session: &SessionId,
        offsets: &[u64],
    ) -> Result<HashMap<u64, Event>> {
        let mut events = HashMap::with_capacity(offsets.len());
        for page in offsets.chunks(500) {
            for record in self.store().events_at(owner, session, page).await? {
                let event = load::open(session, record)?;
                events.insert(event.meta.offset, event);
            }
        }
        match offsets.iter().find(|offset| !events.contains_key(offset)) {
            Some(offset) => Err(Error::missing(session, *offset)),
            None => Ok(events),
        }
    }

    /// Reads the texts at these places: from memory, or each missing event once.
    pub(super) async fn texts(
        &self,
        owner: &Owner,
        session: &SessionId,
        places: impl IntoIterator<Item = TextRef>,
    ) -> Result<Found> {
        let (mut found, mut missing) = (Found::default(), Vec::new());
        for at in places {
            match self.inner.texts.0.get(&(owner.clone(), session.clone(), at)) {
                Some(text) => {
                    found.0.insert(at, text);
                }
                None => missing.push(at),
            }
        }
        let offsets: BTreeSet<u64> = missing.iter().map(|at| at.offset).collect();
        let offsets: Vec<u64> = offsets.into_iter().collect();
        let events = self.events_there(owner, session, &offsets).await?;
        for at in missing {
            let text = events.get(&at.offset).and_then(|event| event.body.text(at.part));
            if let Some(text) = text {
                let text: Arc<str> = text.into();
                let place = (owner.clone(), session.clone(), at);
                self.inner.texts.0.insert(place, text.clone());
                found.0.insert(at, text);
            }
        }
        Ok(found)
    }
}
