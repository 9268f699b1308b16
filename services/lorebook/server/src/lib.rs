//! lorebook.
