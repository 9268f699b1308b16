//! Counting tokens for the lore budget.

/// Counts the tokens of a text. Counts of parts are added up, so that each text is counted once.
pub trait TokenCounter {
    /// Names the way of counting: equal names give equal counts.
    fn name(&self) -> &'static str;
    fn count(&self, text: &str) -> u32;
}

/// OpenAI's `o200k_base`. Its tables load at the first count, about 200 ms.
#[derive(Debug, Clone, Copy, Default)]
pub struct O200k;

/// A token is a run of characters other than white space.
#[derive(Debug, Clone, Copy, Default)]
pub struct Words;

// === impl O200k ===

impl TokenCounter for O200k {
    fn name(&self) -> &'static str {
        "o200k_base"
    }

    fn count(&self, text: &str) -> u32 {
        let count = tiktoken_rs::o200k_base_singleton().count_ordinary(text);
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

// === impl Words ===

impl TokenCounter for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_between_white_space() {
        assert_eq!(Words.count(" a  b\nc "), 3);
        assert_eq!(Words.count(""), 0);
    }

    #[test]
    fn o200k_counts_like_the_model_does() {
        assert_eq!(O200k.count("Hello, world!"), 4);
    }
}
