//! Another service of Skald, called on behalf of whoever called this one.

use std::time::Duration;

use http::Request;
use kernel::limits::PEER_ANSWER_MS;
use tokio::time::Instant;
use tonic::body::Body;
use tower::{ServiceExt as _, service_fn};

use crate::{
    auth::mesh::{self, MeshToken},
    caller::{Caller, Passage},
    deadline,
    link::Link,
};

const ANSWER_WITHIN: Duration = Duration::from_millis(PEER_ANSWER_MS);

/// A link with this process's credentials. A server keeps one for each service it calls:
/// `LoaderClient::new(self.loader.acting_for(caller)).compile(request)`.
#[derive(Debug, Clone)]
pub struct Peer {
    link: Link,
    token: MeshToken,
}

// === impl Peer ===

impl Peer {
    pub fn new(link: Link, token: MeshToken) -> Self {
        Self { link, token }
    }

    /// Calls that act for `caller`: with its principal, what is left of its deadline, its trace and request id.
    pub fn acting_for(&self, caller: &Caller) -> Link {
        let caller = caller.clone();
        self.with(caller.passage.clone(), move |request| {
            mesh::write_principal(request.headers_mut(), &caller.principal);
        })
    }

    /// Calls of this process for itself: leasing work.
    pub fn itself(&self) -> Link {
        self.with(Passage::fresh(), |_| {})
    }

    fn with(
        &self,
        passage: Passage,
        sign: impl Fn(&mut Request<Body>) + Clone + Send + Sync + 'static,
    ) -> Link {
        let (link, token) = (self.link.clone(), self.token.clone());
        Link::new(service_fn(move |mut request: Request<Body>| {
            let link = link.clone();
            let written = token.write(request.headers_mut());
            sign(&mut request);
            passage.write(request.headers_mut());
            async move {
                written?;
                let deadline = deadline::read(request.headers());
                let latest = deadline.unwrap_or_else(|| Instant::now() + ANSWER_WITHIN);
                deadline::keep(Some(latest), link.oneshot(request)).await
            }
        }))
    }
}
