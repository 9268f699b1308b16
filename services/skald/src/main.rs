//! The one binary people start.
fn main() {}
