//! Compiled worlds and the keys of scanned messages, kept between requests within bounds.

use std::sync::Arc;

use kernel::{Owner, WorldId, digest, limits};
use lorebook_core::{activation::CompiledWorld, matcher::HitCache};
use uuid::Uuid;

use crate::store::Listed;

pub struct Compiled {
    worlds: moka::sync::Cache<Key, Arc<CompiledWorld>>,
    pub hits: HitCache,
}

/// One state of one owner's world: any edit of its rows or head is another key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    owner: Owner,
    world: WorldId,
    content_revision: u64,
    version: u64,
}

/// Two numbers out of a hash.
pub fn seeds(bytes: &[u8; 32]) -> [u64; 2] {
    let number = |at: usize| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&bytes[at..at + 8]);
        u64::from_be_bytes(eight)
    };
    [number(0), number(8)]
}

// === impl Compiled ===

impl Compiled {
    /// `secret` keys the hashes of scanned texts, so that nobody can make them collide.
    pub fn new(secret: Uuid) -> Self {
        let half = limits::MATCHER_CACHE_BYTES_MAX / 2;
        let worlds = moka::sync::Cache::builder()
            .weigher(|_, world: &Arc<CompiledWorld>| weight(world))
            .max_capacity(half)
            .build();
        let (high, low) = secret.as_u64_pair();
        let key = digest(&[high.to_be_bytes(), low.to_be_bytes()].concat());
        let hits =
            HitCache::new(usize::try_from(half).unwrap_or(usize::MAX), seeds(key.as_bytes()));
        Self { worlds, hits }
    }

    pub fn get(&self, key: &Key) -> Option<Arc<CompiledWorld>> {
        self.worlds.get(key)
    }

    /// The world of a key; of many who miss it at once one compiles it and the others wait. Whoever wants another
    /// revision waits for nobody. Blocks for as long as a compilation takes.
    pub fn get_or(&self, key: Key, compile: impl FnOnce() -> CompiledWorld) -> Arc<CompiledWorld> {
        self.worlds.get_with(key, || Arc::new(compile()))
    }
}

/// What a compiled world takes in memory, roughly: its texts, and an automaton over its keys.
fn weight(world: &CompiledWorld) -> u32 {
    const PER_ENTRY: usize = 2_048;
    const PER_KEY_BYTE: usize = 64;
    // Macros stay parsed, with one node at the most for 32 bytes.
    const PER_PARSED_BYTE: usize = 10;
    let bytes = world.entries().iter().map(|compiled| {
        let body = &compiled.entry.body;
        let keys: usize = body.keys.iter().chain(&body.secondary_keys).map(String::len).sum();
        let content = match compiled.content_holds_macros {
            true => PER_PARSED_BYTE * body.content.len(),
            false => 2 * body.content.len(),
        };
        PER_ENTRY + content + PER_KEY_BYTE * keys
    });
    u32::try_from(bytes.sum::<usize>()).unwrap_or(u32::MAX)
}

// === impl Key ===

impl Key {
    pub fn of(owner: &Owner, listed: &Listed) -> Self {
        Self {
            owner: owner.clone(),
            world: listed.world.id.clone(),
            content_revision: listed.world.content_revision,
            version: listed.version,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            atomic::{AtomicU32, Ordering},
            mpsc,
        },
        thread,
    };

    use kernel::{Subject, TenantId};
    use lorebook_core::{World, WorldSettings};

    use super::*;

    fn key(content_revision: u64) -> Key {
        let tenant = TenantId::new("acme").expect("an id");
        let owner = Owner { tenant, subject: Subject::new("ada").expect("an id") };
        Key { owner, world: WorldId::derived(&["w"]), content_revision, version: 1 }
    }

    fn world(content_revision: u64) -> CompiledWorld {
        let world = World {
            id: WorldId::derived(&["w"]),
            name: "North".into(),
            enabled: true,
            dynamic_enabled: false,
            content_revision,
            embedded: false,
            settings: WorldSettings::default(),
        };
        CompiledWorld::new(world, Vec::new())
    }

    fn revision(found: &CompiledWorld) -> u64 {
        found.world.content_revision
    }

    #[test]
    fn a_revision_that_compiles_keeps_nobody_from_the_one_before() {
        let compiled = Arc::new(Compiled::new(Uuid::nil()));
        compiled.get_or(key(1), || world(1));
        let (begun, begins) = mpsc::channel();
        let (ends, end) = mpsc::channel::<()>();
        let next = compiled.clone();
        let compiling = thread::spawn(move || {
            next.get_or(key(2), || {
                begun.send(()).expect("somebody waits");
                end.recv().expect("the end");
                world(2)
            })
        });
        begins.recv().expect("it compiles");
        let found = compiled.get(&key(1)).expect("still there");
        let again = compiled.get_or(key(1), || unreachable!("it is there"));
        assert_eq!((revision(&found), revision(&again)), (1, 1));
        assert!(compiled.get(&key(2)).is_none());
        ends.send(()).expect("it waits");
        assert_eq!(revision(&compiling.join().expect("compiled")), 2);
    }

    #[test]
    fn of_many_who_miss_a_revision_one_compiles_it() {
        let (compiled, times) = (Arc::new(Compiled::new(Uuid::nil())), Arc::new(AtomicU32::new(0)));
        let asking = (0..8).map(|_| {
            let (compiled, times) = (compiled.clone(), times.clone());
            thread::spawn(move || {
                compiled.get_or(key(1), || {
                    times.fetch_add(1, Ordering::SeqCst);
                    world(1)
                });
            })
        });
        asking.collect::<Vec<_>>().into_iter().for_each(|one| one.join().expect("answered"));
        assert_eq!(times.load(Ordering::SeqCst), 1);
    }
}
