//! lorebook-core.
