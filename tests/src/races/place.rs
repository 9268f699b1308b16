//! Where races are run: one lorebook over a stepped store, and the clients of one owner in it.

use std::{path::Path, str::FromStr, sync::Arc};

use futures::TryStreamExt as _;
use host::{
    auth::{AuthMode, Authenticator, mesh::MeshToken},
    caller::Caller,
    database::DataFolder,
    door::Door,
    gate::Services,
    link::{Link, Peer, local},
    shutdown::Shutdown,
    testing,
};
use kernel::{ManualClock, Principal, Subject, TenantId, Timestamp};
use lorebook_server::store::{SqlStore, Store};
use tempfile::TempDir;
use tonic::Status;
use wire::{
    lorebook::v1::{
        self as pb, entry_service_client::EntryServiceClient, get_world_response::Part,
        history_service_client::HistoryServiceClient, world_service_client::WorldServiceClient,
    },
    mesh::v1::lore_service_client::LoreServiceClient,
};

use super::{
    stepped::{Fault, Stepped},
    turnstile::Turnstile,
};

/// Which database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Postgres,
}

/// A lorebook to race in. Each owner's worlds are its own, so that runs do not meet.
pub struct Place {
    peer: Peer,
    pub turnstile: Arc<Turnstile>,
    /// Where the rows lie, as a person reads it.
    pub name: String,
    _folder: TempDir,
}

/// One owner's clients.
#[derive(Clone)]
pub struct Hands {
    pub worlds: WorldServiceClient<Link>,
    pub entries: EntryServiceClient<Link>,
    pub history: HistoryServiceClient<Link>,
    pub lore: LoreServiceClient<Link>,
}

/// A world as one reading shows it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seen {
    pub world: pb::World,
    pub entries: Vec<pb::Entry>,
}

/// Memory that looks like a folder, where the machine has it.
const RAM: &str = "/dev/shm";
const NOW: Timestamp = Timestamp::from_micros(1_796_016_926_000_000);
const CONNECTIONS: u32 = 8;

// === impl Place ===

impl Place {
    /// None where there is no PostgreSQL; that is said.
    pub async fn open(kind: Kind, fault: Fault) -> Option<Self> {
        let ram = Path::new(RAM).is_dir().then(|| tempfile::tempdir_in(RAM).ok()).flatten();
        let in_ram = ram.is_some();
        let folder = ram.unwrap_or_else(|| tempfile::tempdir().expect("a temporary folder"));
        let (store, name) = match kind {
            Kind::Sqlite => {
                let data = DataFolder::open(folder.path()).expect("a folder of our own");
                let store = SqlStore::on_sqlite(&data).await.expect("a fresh file");
                (store, if in_ram { "sqlite in memory" } else { "sqlite on a disk" })
            }
            Kind::Postgres => {
                let url = testing::postgres().await?;
                let store = SqlStore::on_postgres(&url, CONNECTIONS).await;
                (store.expect("a fresh schema"), "postgres")
            }
        };
        Some(Self::over(Arc::new(store), fault, name, folder))
    }

    fn over(store: Arc<dyn Store>, fault: Fault, name: &str, folder: TempDir) -> Self {
        let turnstile = Arc::new(Turnstile::default());
        let store = Stepped { inner: store, turnstile: turnstile.clone(), fault };
        let clock = Arc::new(ManualClock::at(NOW));
        let server = lorebook_server::Server::over(Arc::new(store), clock);
        let mesh = MeshToken::random().expect("random");
        let auth = Authenticator::open(&AuthMode::None, &mesh).expect("no tokens to read");
        let door = Door::new(server.mount(Services::new()), auth, Shutdown::new());
        let peer = Peer::new(local(door), mesh);
        Self { peer, turnstile, name: name.to_owned(), _folder: folder }
    }

    /// The clients of an owner, who is made by being named.
    pub fn hands(&self, subject: &str) -> Hands {
        let tenant = TenantId::new("races").expect("an id");
        let subject = Subject::new(subject).expect("an id");
        let link = self.peer.acting_for(&Caller::of_job(Principal::new(tenant, subject, [])));
        Hands {
            worlds: WorldServiceClient::new(link.clone()),
            entries: EntryServiceClient::new(link.clone()),
            history: HistoryServiceClient::new(link.clone()),
            lore: LoreServiceClient::new(link),
        }
    }
}

// === impl Kind ===

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "sqlite" => Ok(Self::Sqlite),
            "postgres" => Ok(Self::Postgres),
            other => Err(format!("{other} is no store: sqlite or postgres")),
        }
    }
}

// === impl Hands ===

impl Hands {
    pub async fn read(&self, world_id: &str, view: pb::WorldView) -> Result<Seen, Status> {
        let request = pb::GetWorldRequest { world_id: world_id.to_owned(), view: view.into() };
        let mut seen = Seen::default();
        let mut parts = self.worlds.clone().get_world(request).await?.into_inner();
        while let Some(answer) = parts.try_next().await? {
            match answer.part {
                Some(Part::World(world)) => seen.world = world,
                Some(Part::Entry(entry)) => seen.entries.push(entry),
                None => {}
            }
        }
        Ok(seen)
    }

    /// The whole History, newest first, each change with all its rows.
    pub async fn history(&self, world_id: &str) -> Result<Vec<pb::Change>, Status> {
        let mut changes = Vec::new();
        let mut page_token = String::new();
        loop {
            let world_id = world_id.to_owned();
            let request = pb::ListChangesRequest { world_id, page_token, page_size: 5 };
            let page = self.history.clone().list_changes(request).await?.into_inner();
            for change in page.changes {
                changes.push(self.change(&change.change_id).await?);
            }
            page_token = page.next_page_token;
            if page_token.is_empty() {
                return Ok(changes);
            }
        }
    }

    async fn change(&self, change_id: &str) -> Result<pb::Change, Status> {
        let request =
            pb::GetChangeRequest { change_id: change_id.to_owned(), ..Default::default() };
        let answer = self.history.clone().get_change(request).await?.into_inner();
        Ok(answer.change.unwrap_or_default())
    }
}
