//! What holds for every world: layers, changes, files.

mod changes;
mod corpus;
mod edits;
mod files;
mod imports;
mod layers;
mod support;
