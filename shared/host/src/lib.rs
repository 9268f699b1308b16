//! How a process lives: everything that a server needs and that is not its own business.
//!
//! 1. A server mounts its services ([`gate::Services`]) behind one [`door::Door`]: authentication ([`auth`]), then the
//!    gate for hidden features ([`gate`]), then the handlers, who find their [`caller`] in the request.
//! 2. [`serve::serve`] gives a door a port until the [`shutdown::Shutdown`] that everyone watches begins ([`signal`]).
//! 3. Services reach each other over a [`link::Link`], near or far, through a [`link::Peer`] that names the caller.
//! 4. They refuse with [`status`], answer retries with [`idempotency`], list with [`page`], update with [`mask`] and
//!    [`etag`], and store in a [`database`].
//! 5. [`config`] and [`telemetry`] start it all; `testing` (a feature) gives tests fresh databases.

pub mod answer;
pub mod auth;
pub mod caller;
pub mod config;
pub mod database;
pub mod deadline;
pub mod door;
pub mod etag;
pub mod field;
pub mod gate;
pub mod idempotency;
mod incoming;
pub mod link;
pub mod mask;
pub mod page;
mod patience;
pub mod room;
pub mod serve;
pub mod shutdown;
pub mod signal;
pub mod status;
pub mod telemetry;
pub mod upload;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
