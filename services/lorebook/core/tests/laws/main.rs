//! What holds for every world: layers, changes, files.

mod changes;
mod codes_page;
mod corpus;
mod edits;
mod files;
mod imports;
mod layers;
mod reported;
mod support;
