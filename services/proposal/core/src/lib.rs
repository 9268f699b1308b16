//! proposal-core.
