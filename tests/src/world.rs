//! A whole Skald to test in: near, all in one process on SQLite; or far, in pieces over loopback on PostgreSQL.

use std::{path::PathBuf, sync::Arc, time::Duration};

use host::{
    auth::{AuthMode, Authenticator, hash_token, mesh::MeshToken},
    database::{DataFolder, Place},
    door::Door,
    link::{self, Link},
    serve::{ServeOptions, serve},
    shutdown::Shutdown,
    testing,
};
use kernel::SystemClock;
use model::{ChatModel, Registry, Scripted};
use skald::{
    cli::ServiceName,
    demo::samples,
    house::{self, Common, PeerUrls},
};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::clients::Clients;

/// The token that services know each other by.
pub const MESH: &str = "a-secret-that-only-the-services-know";
/// Tenant acme, which is granted everything; may write as the system.
pub const ADA: &str = "ada-secret";
/// Tenant acme, another owner, no scopes.
pub const BOB: &str = "bob-secret";
/// Tenant other, which is granted nothing.
pub const EVE: &str = "eve-secret";

const TOKENS: [(&str, &str, &str, &str); 3] = [
    (ADA, "acme", "ada", r#"["author_system"]"#),
    (BOB, "acme", "bob", "[]"),
    (EVE, "other", "eve", "[]"),
];
const GRANTS: &str = "[tenant.acme]\ngrants = [\"authored_history\", \"chat_import\"]\n";

/// What a world is to be like.
pub struct Plan {
    with_tokens: bool,
    models: Registry,
    folder: Option<PathBuf>,
}

/// A running Skald. Dropping it ends it.
pub struct World {
    links: Links,
    shutdown: Shutdown,
    /// Kept for as long as the world runs; a data folder that was given is not in here.
    folder: TempDir,
    data: PathBuf,
}

/// Where each service answers; near, all the same.
#[derive(Clone)]
pub struct Links {
    pub ledger: Link,
    pub loader: Link,
    pub lorebook: Link,
    pub proposal: Link,
}

// === impl Plan ===

impl Plan {
    /// The sample script, nobody authenticated.
    pub fn new() -> Self {
        Self { with_tokens: false, models: Registry::default(), folder: None }
            .script(samples::SCRIPT)
    }

    /// Callers show [`ADA`], [`BOB`], [`EVE`] or [`MESH`].
    pub fn with_tokens(self) -> Self {
        Self { with_tokens: true, ..self }
    }

    pub fn script(self, script: &str) -> Self {
        self.model(Scripted::parse(script).expect("a script"))
    }

    pub fn model(self, model: impl ChatModel + 'static) -> Self {
        Self { models: Registry::default().with("scripted", Arc::new(model)), ..self }
    }

    pub fn without_models(self) -> Self {
        Self { models: Registry::default(), ..self }
    }

    /// In a data folder that outlives the world.
    pub fn in_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }

    /// All four services in this process, on SQLite.
    pub async fn near(self) -> World {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = self.folder.clone().unwrap_or_else(|| folder.path().join("data"));
        let opened = DataFolder::open(&data).expect("a data folder of our own");
        let common = self.common(&folder, Place::Folder(opened));
        let door = house::all_in_one(&common).await.expect("a house");
        let link = link::local(door);
        World { links: Links::all(link), shutdown: common.shutdown, folder, data }
    }

    /// As [`Plan::near`], on a port of its own.
    pub async fn near_on_a_port(self) -> (World, String) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = self.folder.clone().unwrap_or_else(|| folder.path().join("data"));
        let opened = DataFolder::open(&data).expect("a data folder of our own");
        let common = self.common(&folder, Place::Folder(opened));
        let door = house::all_in_one(&common).await.expect("a house");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = serve_on(listener, door);
        let link = link::remote("peer", &url).expect("a url");
        let links = Links::all(link);
        (World { links, shutdown: common.shutdown, folder, data }, url)
    }

    /// Four services over loopback on PostgreSQL: one lorebook, one loader, two ledgers, two proposals.
    /// None where there is no PostgreSQL; that is said, and the test is skipped.
    pub async fn far(self) -> Option<World> {
        Some(self.far_on_a_database().await?.0)
    }

    /// As [`Plan::far`], and where its database is.
    pub async fn far_on_a_database(self) -> Option<(World, String)> {
        let database = testing::postgres_url().await?;
        let url = database.parse().expect("an address");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let common = self.common(&folder, Place::Postgres { url, connections: 4 });
        let one = |service, peers| one(&common, service, peers);

        let lorebook = one(ServiceName::Lorebook, PeerUrls::default()).await;
        let peers = PeerUrls { lorebook: Some(lorebook.clone()), ..PeerUrls::default() };
        let loader = one(ServiceName::Loader, peers.clone()).await;
        let peers = PeerUrls { loader: Some(loader.clone()), ..peers };
        let ledger = two(&common, ServiceName::Ledger, &peers).await;
        let peers = PeerUrls { ledger: Some(ledger.clone()), ..peers };
        let proposal = two(&common, ServiceName::Proposal, &peers).await;

        let far = |urls: &str| link::remote("peer", urls).expect("urls");
        let links = Links {
            ledger: far(&ledger),
            loader: far(&loader),
            lorebook: far(&lorebook),
            proposal: far(&proposal),
        };
        let data = folder.path().to_owned();
        Some((World { links, shutdown: common.shutdown, folder, data }, database))
    }

    fn common(&self, folder: &TempDir, place: Place) -> Common {
        let mesh: MeshToken = MESH.parse().expect("a token");
        let mode = if self.with_tokens {
            let path = token_path(folder);
            std::fs::write(&path, token_lines() + GRANTS).expect("written");
            AuthMode::Tokens(path)
        } else {
            AuthMode::None
        };
        Common {
            place,
            auth: Authenticator::open(&mode, &mesh).expect("tokens"),
            mesh,
            clock: Arc::new(SystemClock),
            shutdown: Shutdown::new(),
            models: self.models.clone(),
            judges: 2,
        }
    }
}

impl Default for Plan {
    fn default() -> Self {
        Self::new()
    }
}

fn token_path(folder: &TempDir) -> PathBuf {
    folder.path().join("tokens.toml")
}

fn token_lines() -> String {
    let tokens = TOKENS.iter().map(|(token, tenant, subject, scopes)| {
        let hash = hash_token(token);
        format!(
            "[[token]]\nhash = \"{hash}\"\ntenant = \"{tenant}\"\nsubject = \"{subject}\"\nscopes = {scopes}\n"
        )
    });
    tokens.collect()
}

async fn one(common: &Common, service: ServiceName, peers: PeerUrls) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let door = house::single(service, common, &peers).await.expect("a service");
    serve_on(listener, door)
}

async fn two(common: &Common, service: ServiceName, peers: &PeerUrls) -> String {
    let first = one(common, service, peers.clone()).await;
    format!("{first},{}", one(common, service, peers.clone()).await)
}

fn serve_on(listener: TcpListener, door: Door) -> String {
    let address = listener.local_addr().expect("bound");
    let options = ServeOptions { drain: Duration::from_secs(1), ..ServeOptions::default() };
    tokio::spawn(serve(listener, door, options));
    format!("http://{address}")
}

// === impl World ===

impl World {
    /// The sample script, near, nobody authenticated.
    pub async fn near() -> Self {
        Plan::new().near().await
    }

    /// The one local user of a world without tokens.
    pub fn clients(&self) -> Clients {
        Clients::new(&self.links)
    }

    /// A caller with a token.
    pub fn caller(&self, token: &str) -> Clients {
        Clients::new(&self.links.showing(token))
    }

    pub fn links(&self) -> &Links {
        &self.links
    }

    /// The folder of the SQLite files.
    pub fn data(&self) -> &std::path::Path {
        &self.data
    }

    /// Takes every tenant's grants away.
    pub fn revoke_grants(&self) {
        std::fs::write(token_path(&self.folder), token_lines()).expect("written");
    }

    /// Ends it and waits until everything has ended.
    pub async fn end(self) {
        self.shutdown.begin();
        self.shutdown.tasks_ended().await;
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}

// === impl Links ===

impl Links {
    pub fn all(link: Link) -> Self {
        Self { ledger: link.clone(), loader: link.clone(), lorebook: link.clone(), proposal: link }
    }

    /// The same services, called with a bearer token.
    pub fn showing(&self, token: &str) -> Self {
        let showing = |link: &Link| crate::clients::showing(link, token);
        Self {
            ledger: showing(&self.ledger),
            loader: showing(&self.loader),
            lorebook: showing(&self.lorebook),
            proposal: showing(&self.proposal),
        }
    }
}
