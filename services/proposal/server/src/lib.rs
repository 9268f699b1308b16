//! proposal.
