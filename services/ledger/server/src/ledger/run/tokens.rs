//! Tokens as the window counts them: o200k_base, whose tables load with the first text that is counted.

use prompt::Block;

/// The tokens of one text.
pub(super) fn count(text: &str) -> u64 {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len() as u64
}

/// The tokens of each block, if together they are more than `limit`. Texts of fewer bytes than that
/// are not counted at all: a token has at least one byte.
pub(super) fn over(blocks: &[Block], limit: u64) -> Option<Vec<u64>> {
    let bytes: u64 = blocks.iter().map(|block| block.text.len() as u64).sum();
    if bytes <= limit {
        return None;
    }
    let counts: Vec<u64> = blocks.iter().map(|block| count(&block.text)).collect();
    (counts.iter().sum::<u64>() > limit).then_some(counts)
}
