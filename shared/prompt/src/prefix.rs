//! The prefix law: how much of an earlier request begins a later one, block by block.

use kernel::{Digest, digest_parts};
use serde::{Deserialize, Serialize};

use crate::message::Block;

/// A block reduced to what the comparison needs, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockMark {
    pub digest: Digest,
    pub bytes: u32,
    /// The events whose items it shows; none for fixed texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offsets: Vec<u64>,
}

/// What two consecutive requests have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedPrefix {
    pub blocks: u32,
    pub bytes: u64,
    /// Whether the earlier request is wholly contained: the law held.
    pub complete: bool,
}

/// The common beginning of two requests. Blocks differ when their role, name or text does.
pub fn shared_prefix(earlier: &[BlockMark], later: &[BlockMark]) -> SharedPrefix {
    let same = earlier.iter().zip(later).take_while(|(a, b)| a.digest == b.digest);
    let (mut blocks, mut bytes) = (0, 0);
    for (mark, _) in same {
        blocks += 1;
        bytes += u64::from(mark.bytes);
    }
    SharedPrefix { blocks, bytes, complete: blocks as usize == earlier.len() }
}

/// The hash of everything that was sent.
pub fn request_digest(blocks: &[Block]) -> Digest {
    let parts: Vec<&[u8]> = blocks
        .iter()
        .flat_map(|block| {
            [
                block.role.name().as_bytes(),
                block.name.as_deref().unwrap_or_default().as_bytes(),
                block.text.as_bytes(),
            ]
        })
        .collect();
    digest_parts(&parts)
}

// === impl BlockMark ===

impl BlockMark {
    pub fn new(block: &Block, offsets: Vec<u64>) -> Self {
        Self {
            digest: request_digest(std::slice::from_ref(block)),
            bytes: u32::try_from(block.text.len()).unwrap_or(u32::MAX),
            offsets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Role;

    fn marks(texts: &[&str]) -> Vec<BlockMark> {
        texts.iter().map(|text| BlockMark::new(&Block::new(Role::User, *text), vec![])).collect()
    }

    #[track_caller]
    fn check(earlier: &[&str], later: &[&str], blocks: u32, bytes: u64, complete: bool) {
        let shared = shared_prefix(&marks(earlier), &marks(later));
        assert_eq!(shared, SharedPrefix { blocks, bytes, complete });
    }

    #[test]
    fn a_longer_request_that_begins_with_the_earlier_one_shares_all_of_it() {
        check(&["a", "bc"], &["a", "bc", "d"], 2, 3, true);
        check(&[], &["a"], 0, 0, true);
    }

    #[test]
    fn the_first_difference_ends_the_shared_prefix() {
        check(&["a", "b", "c"], &["a", "x", "c"], 1, 1, false);
    }

    #[test]
    fn a_shorter_request_breaks_the_law() {
        check(&["a", "b"], &["a"], 1, 1, false);
    }

    #[test]
    fn the_role_is_part_of_the_block() {
        let developer = BlockMark::new(&Block::new(Role::Developer, "a"), vec![]);
        assert!(!shared_prefix(&marks(&["a"]), &[developer]).complete);
    }
}
