//! One client type over either transport: a generated client over a [`Link`] does not know how far its service is.

mod peer;
mod remote;
mod retry;

use http::{Request, Response};
use tonic::{
    Status,
    body::Body,
    codegen::{Service, StdError},
};
use tower::{ServiceExt as _, util::BoxCloneSyncService};

pub use peer::Peer;
pub use remote::{InvalidPeerUrl, checked_urls, remote};

/// Where a generated client sends its calls: `LoaderClient::new(link)`.
///
/// `Sync`, so that handlers may hold it; its error is a [`Status`], so that near and far behave the same.
pub type Link = BoxCloneSyncService<Request<Body>, Response<Body>, Status>;

/// A service in this process: a generated server, or a whole [`Door`](crate::door::Door).
pub fn local<S>(server: S) -> Link
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + Sync + 'static,
    S::Error: Into<StdError>,
    S::Future: Send + 'static,
{
    Link::new(server.map_err(|error| Status::from_error(error.into())))
}
