//! loader-core.
