//! What is there now against what is proposed, for a reviewer.

use similar::TextDiff;

/// Unified line diff from the present text to the proposed one; empty when they are equal.
pub fn unified(current: &str, proposed: &str) -> String {
    // That a text lacks its last newline is only worth a line where the two differ in it.
    let hint = !current.is_empty() && current.ends_with('\n') != proposed.ends_with('\n');
    TextDiff::from_lines(current, proposed)
        .unified_diff()
        .context_radius(3)
        .missing_newline_hint(hint)
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_no_diff() {
        assert_eq!(unified("a\nb", "a\nb"), "");
    }

    #[test]
    fn a_changed_line_shows_both_sides() {
        let diff = unified("The king lives.\nHe is old.\n", "The king is dead.\nHe is old.\n");
        assert!(diff.contains("-The king lives.\n+The king is dead.\n He is old.\n"), "{diff}");
    }

    #[test]
    fn a_new_text_is_all_additions() {
        let diff = unified("", "New.\n");
        assert!(diff.ends_with("+New.\n"), "{diff}");
    }

    #[test]
    fn a_missing_last_newline_is_told_only_where_the_texts_differ_in_it() {
        assert!(!unified("Old.", "New.").contains("No newline"));
        assert!(!unified("", "New.").contains("No newline"));
        assert!(unified("Same.\n", "Same.").contains("No newline"));
    }
}
