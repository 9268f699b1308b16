//! skald.
