//! The real binary in processes of its own, to be killed, ended and started again.

use std::{fs, path::PathBuf, process::Stdio};

use host::{link, testing};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

use crate::{
    clients::{Clients, plain},
    postgres,
    world::{Links, MESH},
};

/// Where processes and their successors live: what they store in, and a file of providers.
pub struct Home {
    binary: PathBuf,
    folder: TempDir,
    /// PostgreSQL in place of the data folder.
    database: Option<String>,
    log: Log,
}

/// What becomes of a process's log once it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Log {
    /// It goes to the test's own output.
    Shown,
    /// Its reader has left.
    Closed,
}

/// One running process. Dropping it kills it.
pub struct Process {
    child: Child,
    pub url: String,
}

/// Four services in five processes over loopback: there are two ledgers.
pub struct Apart {
    pub ledgers: [Process; 2],
    lorebook: Process,
    loader: Process,
    proposal: Process,
}

// === impl Home ===

impl Home {
    /// A home for `binary` whose model follows `script`; its data are in a folder.
    pub fn new(binary: &str, script: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("script.toml");
        fs::write(&path, script).expect("written");
        let providers = format!(
            "[[providers]]\nname = \"scripted\"\nkind = \"scripted\"\nscript = \"{}\"\n",
            path.display()
        );
        fs::write(folder.path().join("providers.toml"), providers).expect("written");
        Self { binary: binary.into(), folder, database: None, log: Log::Shown }
    }

    /// The same with its data in PostgreSQL. None where there is none; that is said, and the test is skipped.
    pub async fn on_postgres(binary: &str, script: &str) -> Option<Self> {
        let database = Some(testing::postgres_url().await?);
        Some(Self { database, ..Self::new(binary, script) })
    }

    /// The same with nobody who reads the logs.
    pub fn without_readers(self) -> Self {
        Self { log: Log::Closed, ..self }
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts all four services in one process on a free port and waits until they serve.
    pub async fn start(&self) -> Process {
        self.start_with(&[]).await
    }

    pub async fn start_with(&self, args: &[&str]) -> Process {
        self.run(Command::new(&self.binary), args).await
    }

    /// One that goes on where its files may not grow: see [`Process::files_may_grow`].
    pub async fn start_with_bounded_files(&self) -> Process {
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(&self.binary);
        self.run(shell, &[]).await
    }

    async fn run(&self, mut command: Command, args: &[&str]) -> Process {
        command.args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
        command.arg("--data-dir").arg(self.data());
        command.arg("--providers").arg(self.folder.path().join("providers.toml"));
        command.args(args).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        command.env("SKALD_MESH_TOKEN", MESH);
        if let Some(url) = &self.database {
            command.args(["--database-url", url, "--database-connections", "4"]);
        }
        Process::of(command.spawn().expect("the binary starts"), self.log).await
    }

    /// Starts each service in a process of its own, and a second ledger.
    pub async fn start_apart(&self) -> Apart {
        let lorebook = self.start_with(&["lorebook"]).await;
        let loader = self.start_with(&["loader", "--lorebook-url", &lorebook.url]).await;
        let ledger = ["ledger", "--loader-url", &loader.url];
        let ledgers = [self.start_with(&ledger).await, self.start_with(&ledger).await];
        let both = format!("{},{}", ledgers[0].url, ledgers[1].url);
        let peers = ["proposal", "--ledger-url", &both, "--lorebook-url", &lorebook.url];
        let proposal = self.start_with(&peers).await;
        Apart { ledgers, lorebook, loader, proposal }
    }

    /// Leases of a process that is gone: in a data folder they died with it; in PostgreSQL, which may have
    /// other processes, only time ends them, and this is that time.
    pub async fn let_leases_run_out(&self) {
        if let Some(url) = &self.database {
            postgres::let_leases_run_out(url).await;
        }
    }
}

// === impl Process ===

impl Process {
    /// Waits for the line that names the address.
    async fn of(mut child: Child, log: Log) -> Self {
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let mut said = String::new();
        while let Some(line) = lines.next_line().await.expect("readable") {
            if let Some(address) = address(&line) {
                if log == Log::Shown {
                    tokio::spawn(async move {
                        while let Ok(Some(line)) = lines.next_line().await {
                            eprintln!("{line}");
                        }
                    });
                }
                return Self { child, url: format!("http://{address}") };
            }
            said.push_str(&line);
            said.push('\n');
        }
        panic!("the process ended before it served:\n{said}");
    }

    pub fn clients(&self) -> Clients {
        Clients::new(&Links::all(link::remote("peer", &self.url).expect("a url")))
    }

    /// Clients that send whatever they are told to.
    pub fn plain_clients(&self) -> Clients {
        Clients::new(&Links::all(plain(&self.url)))
    }

    /// The most memory that it has held so far (Linux).
    pub fn peak_kib(&self) -> u64 {
        let pid = self.child.id().expect("a running process");
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let figure = peak.and_then(|peak| peak.split_whitespace().next());
        figure.and_then(|figure| figure.parse().ok()).expect("a figure")
    }

    /// Whether its files may be larger than 4 KiB: where not, all writes fail as on a full disk.
    pub async fn files_may_grow(&self, may: bool) {
        let pid = self.child.id().expect("a running process").to_string();
        let bytes = if may { "unlimited" } else { "4096" };
        let limit = format!("--fsize={bytes}:unlimited");
        let set = Command::new("prlimit").args(["--pid", &pid, &limit]).status().await;
        assert!(set.expect("prlimit runs").success());
    }

    /// SIGKILL, now.
    pub fn kill_now(&mut self) {
        self.child.start_kill().expect("killed");
    }

    /// SIGKILL, and the wait until it is gone.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("killed");
    }

    /// SIGTERM, and the exit code.
    pub async fn terminate(mut self) -> Option<i32> {
        let pid = self.child.id().expect("a running process").to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().await.expect("kill runs");
        assert!(sent.success());
        self.child.wait().await.expect("ended").code()
    }
}

fn address(line: &str) -> Option<String> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    let serving = line["message"] == "serving";
    serving.then(|| line["address"].as_str().map(str::to_owned)).flatten()
}

// === impl Apart ===

impl Apart {
    /// Whoever calls one of the ledgers, and the other services.
    pub fn clients(&self, ledger: usize) -> Clients {
        let far = |process: &Process| link::remote("peer", &process.url).expect("a url");
        Clients::new(&Links {
            ledger: far(&self.ledgers[ledger]),
            loader: far(&self.loader),
            lorebook: far(&self.lorebook),
            proposal: far(&self.proposal),
        })
    }
}
