//! Skald from outside: one file per promise, then the scenarios, then the house's own rules.

mod tidy;
