//! A throwaway PostgreSQL cluster, shared by the test processes that run at the same time.
//!
//! Every user holds a shared lock on one file for as long as it lives; the first one starts the server and a
//! keeper, a small shell loop that stops the server and removes its data when it can have the lock for itself.
//! So the server ends even when tests are killed, and nothing has to be counted.

use std::{
    env,
    fs::{self, File, OpenOptions, Permissions},
    io,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
};

/// Why there is no cluster.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoCluster {
    #[error("no server binaries under /usr/lib/postgresql")]
    NotInstalled,
    #[error("{0} failed: {1}")]
    Command(&'static str, String),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Users whose names a server may take when tests run as root, which PostgreSQL refuses.
const UNPRIVILEGED: [&str; 2] = ["postgres", "nobody"];
const USER: &str = "skald";
/// Fast rather than safe: what is in it is worth nothing.
const SETTINGS: &str = "-c listen_addresses='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off \
    -c shared_buffers=16MB -c max_connections=300 -c autovacuum=off -c wal_level=minimal -c max_wal_senders=0";
/// `$1` users' lock · `$2` pg_ctl, with a dropped root before it · `$3` data · `$4` the whole folder.
const KEEPER: &str = r#"
while sleep 2; do
  flock --exclusive --nonblock "$1" sh -c "$2 -D '$3' -m immediate stop; rm -rf '$3' '$4/ready'" && exit
done
"#;

/// Held until the process ends.
static USING: Mutex<Option<File>> = Mutex::new(None);

struct Cluster {
    folder: PathBuf,
    binaries: PathBuf,
    /// Who the server runs as, when we are root.
    server_user: Option<(u32, u32)>,
}

/// The address of the running cluster, started if need be.
pub(super) fn join() -> Result<String, NoCluster> {
    let cluster = Cluster::find()?;
    let users = lock_file(&cluster.folder.join("users"))?;
    users.lock_shared()?;
    *USING.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(users);
    let starting = lock_file(&cluster.folder.join("starting"))?;
    starting.lock()?;
    if !cluster.is_running() {
        cluster.start()?;
    }
    Ok(format!("postgres://{USER}@localhost/postgres?host={}", cluster.folder.display()))
}

fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

// === impl Cluster ===

impl Cluster {
    fn find() -> Result<Self, NoCluster> {
        let binaries = newest_binaries().ok_or(NoCluster::NotInstalled)?;
        let me = fs::metadata("/proc/self")?.uid();
        let folder = env::temp_dir().join(format!("skald-test-postgres-{me}"));
        fs::create_dir_all(&folder)?;
        if fs::metadata(&folder)?.uid() != me {
            return Err(
                io::Error::other("the folder of the cluster belongs to somebody else").into()
            );
        }
        let server_user = if me == 0 { unprivileged()? } else { None };
        // The server must reach its data and put its socket beside it. Always the same mode: another test
        // process may be starting the server right now.
        let mode = if server_user.is_some() { 0o1777 } else { 0o755 };
        fs::set_permissions(&folder, Permissions::from_mode(mode))?;
        Ok(Self { folder, binaries, server_user })
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn is_running(&self) -> bool {
        let status = self.command("pg_ctl").arg("-D").arg(self.data()).arg("status").output();
        self.folder.join("ready").exists() && status.is_ok_and(|output| output.status.success())
    }

    fn start(&self) -> Result<(), NoCluster> {
        let (data, sockets) = (self.data(), self.folder.display().to_string());
        // Left behind by a machine that went down.
        fs::remove_dir_all(&data).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
        fs::create_dir(&data)?;
        if let Some((user, group)) = self.server_user {
            chown(&data, Some(user), Some(group))?;
        }
        fs::set_permissions(&data, Permissions::from_mode(0o700))?;
        let mut initdb = self.command("initdb");
        initdb.args(["-U", USER, "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8", "-D"]);
        run("initdb", initdb.arg(&data))?;
        let mut start = self.command("pg_ctl");
        start.arg("-D").arg(&data).arg("-l").arg(data.join("log"));
        start.arg("-o").arg(format!("{SETTINGS} -k {sockets}")).args(["-w", "start"]);
        run("pg_ctl start", &mut start)?;
        fs::write(self.folder.join("ready"), "")?;
        self.keep()
    }

    /// Starts the keeper, in a process group of its own so that a test runner's signals do not reach it.
    fn keep(&self) -> Result<(), NoCluster> {
        let stop = self.words("pg_ctl").join(" ");
        let users = self.folder.join("users");
        let mut keeper = Command::new("sh");
        keeper
            .args(["-c", KEEPER, "keeper"])
            .arg(users)
            .arg(stop)
            .arg(self.data())
            .arg(&self.folder);
        quiet(&mut keeper).process_group(0).spawn()?;
        Ok(())
    }

    /// A server binary, with root dropped before it.
    fn words(&self, name: &str) -> Vec<String> {
        let binary = self.binaries.join(name).display().to_string();
        let Some((user, group)) = self.server_user else { return vec![binary] };
        let (user, group) = (format!("--reuid={user}"), format!("--regid={group}"));
        vec!["setpriv".to_owned(), user, group, "--clear-groups".to_owned(), binary]
    }

    fn command(&self, name: &str) -> Command {
        let words = self.words(name);
        let mut command = Command::new(&words[0]);
        // The server's user may not be able to read the folder that tests run in.
        command.args(&words[1..]).current_dir("/");
        command
    }
}

/// Without our pipes: a runner that waits for them to close would wait for the server.
fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}

fn run(name: &'static str, command: &mut Command) -> Result<(), NoCluster> {
    let status = quiet(command).status()?;
    if status.success() { Ok(()) } else { Err(NoCluster::Command(name, status.to_string())) }
}

fn newest_binaries() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(Result::ok);
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.map(|entry| entry.path()).max_by_key(version)?;
    let binaries = newest.join("bin");
    binaries.join("initdb").exists().then_some(binaries)
}

fn unprivileged() -> Result<Option<(u32, u32)>, NoCluster> {
    let users = fs::read_to_string("/etc/passwd")?;
    let ids = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    match UNPRIVILEGED.iter().find_map(|name| ids(name)) {
        Some(user) => Ok(Some(user)),
        None => Err(NoCluster::Command("dropping root", "there is no unprivileged user".into())),
    }
}
