//! ledger-core.
