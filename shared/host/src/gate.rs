//! Hidden features: for a caller who may not see a proto file, its services answer as if they had never been built.
//!
//! The path of a hidden service is rewritten to one that nobody serves, and the router gives the answer that it
//! gives to every unknown service; so the two are the same bytes in gRPC and gRPC-web, by construction.
//! Reflection is served from a descriptor set without the hidden files; health by name asks the same set.

mod descriptors;
mod health;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, OnceLock},
};

use http::{
    Request,
    uri::{PathAndQuery, Uri},
};
use tonic::{
    body::Body,
    codegen::Service,
    server::NamedService,
    service::{Routes, RoutesBuilder},
};

use crate::{
    caller::{Grant, Grants},
    gate::{descriptors::Descriptors, health::Health},
    shutdown::Shutdown,
};

/// A path that no service will ever have: `-` is not an identifier.
pub(crate) const NEVER_BUILT: &str = "/-/-";

/// Both versions of reflection.
const REFLECTION: &str = "grpc.reflection.";

/// The hidden files, and what opens each; a folder stands for all files in it.
const HIDDEN: [(&str, Key); 3] = [
    ("skald/ledger/v1/authored_history.proto", Key::Grant(Grant::AuthoredHistory)),
    ("skald/ledger/v1/chat_import.proto", Key::Grant(Grant::ChatImport)),
    ("skald/mesh/v1/", Key::Mesh),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Grant(Grant),
    Mesh,
}

/// What one caller may see. Every view has its own number below [`View::COUNT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) grants: Grants,
    pub(crate) mesh: bool,
}

/// The services of a process, as they are mounted: `services.mount(SessionServiceServer::new(handler))`.
#[derive(Debug, Default)]
pub struct Services {
    routes: RoutesBuilder,
    names: BTreeSet<&'static str>,
}

/// Chooses, for each request, the router of what its caller may see.
#[derive(Debug, Clone)]
pub(crate) struct Gate(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    routes: Routes,
    catalog: Arc<Catalog>,
    shutdown: Shutdown,
    /// What each view holds; made when first needed.
    views: [OnceLock<Seen>; View::COUNT],
}

/// What the callers of one view find.
#[derive(Debug)]
struct Seen {
    /// All services but reflection.
    routes: Routes,
    /// Reflection alone, made when somebody first asks: it holds every symbol by name.
    reflection: OnceLock<Routes>,
    services: Arc<[&'static str]>,
}

/// Which services are mounted, and which of all known ones are hidden behind what.
#[derive(Debug)]
struct Catalog {
    mounted: BTreeSet<&'static str>,
    hidden: HashMap<String, Key>,
    descriptors: Descriptors,
}

// === impl View ===

impl View {
    const COUNT: usize = 2 << Grant::ALL.len();

    /// What a caller without a token sees.
    pub(crate) const STRANGER: View = View { grants: Grants::NONE, mesh: false };

    fn opens(self, key: Key) -> bool {
        match key {
            Key::Grant(grant) => self.grants.has(grant),
            Key::Mesh => self.mesh,
        }
    }

    fn sees_file(self, file: &str) -> bool {
        hidden_behind(file).is_none_or(|key| self.opens(key))
    }

    fn number(self) -> usize {
        self.grants.number() * 2 + usize::from(self.mesh)
    }
}

fn hidden_behind(file: &str) -> Option<Key> {
    HIDDEN.iter().find(|(hidden, _)| file.starts_with(hidden)).map(|(_, key)| *key)
}

// === impl Services ===

impl Services {
    pub fn new() -> Self {
        Self::default()
    }

    /// Mounts one generated server.
    pub fn mount<S>(mut self, server: S) -> Self
    where
        S: Service<
                Request<Body>,
                Response = http::Response<Body>,
                Error = std::convert::Infallible,
            > + NamedService
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
    {
        self.routes.add_service(server);
        self.names.insert(S::NAME);
        self
    }
}

// === impl Gate ===

impl Gate {
    pub(crate) fn new(services: Services, shutdown: &Shutdown) -> Self {
        let descriptors = Descriptors::decode(wire::DESCRIPTORS);
        let hidden = descriptors
            .services()
            .filter_map(|(file, service)| Some((service.to_owned(), hidden_behind(file)?)));
        let catalog = Catalog { mounted: services.names, hidden: hidden.collect(), descriptors };
        Self(Arc::new(Inner {
            routes: services.routes.routes(),
            catalog: Arc::new(catalog),
            shutdown: shutdown.clone(),
            views: Default::default(),
        }))
    }

    /// The router for a request, and the names of what its caller may call.
    /// A request to a service that the view does not hold is sent nowhere.
    pub(crate) fn admit(
        &self,
        view: View,
        request: &mut Request<Body>,
    ) -> (Routes, Arc<[&'static str]>) {
        let seen = self.0.views[view.number()].get_or_init(|| self.0.see(view));
        let service = service(request.uri());
        let routes = if service.starts_with(REFLECTION) {
            seen.reflection.get_or_init(|| self.0.reflect(view, &seen.services))
        } else {
            &seen.routes
        };
        if !self.0.catalog.sees(view, service) {
            let mut parts = std::mem::take(request.uri_mut()).into_parts();
            parts.path_and_query = Some(PathAndQuery::from_static(NEVER_BUILT));
            *request.uri_mut() = Uri::from_parts(parts).expect("only the path was changed");
        }
        (routes.clone(), seen.services.clone())
    }
}

/// The service that a path names: `/skald.ledger.v1.TurnService/Submit`.
fn service(uri: &Uri) -> &str {
    uri.path().trim_start_matches('/').split('/').next().unwrap_or_default()
}

// === impl Inner ===

impl Inner {
    fn see(&self, view: View) -> Seen {
        let health = Health::new(self.catalog.clone(), view, self.shutdown.clone());
        let health = tonic_health::pb::health_server::HealthServer::new(health);
        Seen {
            routes: self.routes.clone().add_service(health).prepare(),
            reflection: OnceLock::new(),
            services: self.catalog.listed(view).collect(),
        }
    }

    /// Panics on descriptors that do not fit together: they were compiled into this binary.
    fn reflect(&self, view: View, services: &[&'static str]) -> Routes {
        let files = self.catalog.descriptors.encode(|file| view.sees_file(file));
        let builder = || {
            let mut builder = tonic_reflection::server::Builder::configure();
            for &service in services {
                builder = builder.with_service_name(service);
            }
            for set in [&files[..]].into_iter().chain(COMMON_FILES) {
                builder = builder.register_encoded_file_descriptor_set(set);
            }
            builder
        };
        let v1 = builder().build_v1().expect("descriptors that were compiled");
        let v1alpha = builder().build_v1alpha().expect("descriptors that were compiled");
        Routes::new(v1).add_service(v1alpha).prepare()
    }
}

// === impl Catalog ===

/// What every process serves besides its own services, and the files that explain it.
const COMMON_FILES: [&[u8]; 4] = [
    tonic_health::pb::FILE_DESCRIPTOR_SET,
    tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
    tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
    tonic_types::pb::FILE_DESCRIPTOR_SET,
];
const COMMON: [&str; 3] = [
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
];

impl Catalog {
    fn sees(&self, view: View, service: &str) -> bool {
        self.hidden.get(service).is_none_or(|key| view.opens(*key))
    }

    fn listed(&self, view: View) -> impl Iterator<Item = &'static str> {
        let own = self.mounted.iter().copied().filter(move |service| self.sees(view, service));
        own.chain(COMMON)
    }
}
