//! The lorebook as its callers meet it: through the door, over generated clients.

mod activate;
mod entries;
mod history;
mod import;
mod support;
mod worlds;
