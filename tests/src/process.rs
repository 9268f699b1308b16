//! The real binary as a process of its own, to be killed and started again.

use std::{fs, path::PathBuf, process::Stdio};

use host::link;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

use crate::{clients::Clients, world::Links};

/// Where a process and its successors live: a data folder and a file of providers.
pub struct Home {
    binary: PathBuf,
    folder: TempDir,
}

/// One running process. Dropping it kills it.
pub struct Process {
    child: Child,
    pub url: String,
}

// === impl Home ===

impl Home {
    /// A home for `binary` whose model follows `script`.
    pub fn new(binary: &str, script: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("script.toml");
        fs::write(&path, script).expect("written");
        let providers = format!(
            "[[providers]]\nname = \"scripted\"\nkind = \"scripted\"\nscript = \"{}\"\n",
            path.display()
        );
        fs::write(folder.path().join("providers.toml"), providers).expect("written");
        Self { binary: binary.into(), folder }
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts a process on a free port and waits until it serves.
    pub async fn start(&self) -> Process {
        self.start_with(&[]).await
    }

    pub async fn start_with(&self, args: &[&str]) -> Process {
        let mut command = Command::new(&self.binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--data-dir"]);
        command.arg(self.data()).arg("--providers").arg(self.folder.path().join("providers.toml"));
        command.args(args).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        Process::of(command.spawn().expect("the binary starts")).await
    }
}

// === impl Process ===

impl Process {
    /// The first line that names the address; what is logged afterwards goes to the test's own output.
    async fn of(mut child: Child) -> Self {
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let mut said = String::new();
        while let Some(line) = lines.next_line().await.expect("readable") {
            if let Some(address) = address(&line) {
                tokio::spawn(async move {
                    while let Ok(Some(line)) = lines.next_line().await {
                        eprintln!("{line}");
                    }
                });
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

    /// SIGKILL, now.
    pub fn kill_now(&mut self) {
        self.child.start_kill().expect("killed");
    }

    /// SIGKILL, and the wait until it is gone.
    pub async fn kill(mut self) {
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
