//! The memory of an idle `skald serve`, as the kernel counts it.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use host::link;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

/// Time in which whatever runs at the start comes to rest.
const SETTLING: Duration = Duration::from_secs(2);
const BOUND_MB: f64 = 60.0;

/// A process that ends with its value.
struct Served(Child);

pub async fn measure() {
    println!("skald serve, all in one, after one health call and {SETTLING:?} of rest");
    let folder = tempfile::tempdir().expect("a folder");
    let (served, address) = start(folder.path());
    let mut health = HealthClient::new(link::remote("peer", &address).expect("an address"));
    health.check(HealthCheckRequest::default()).await.expect("healthy");
    tokio::time::sleep(SETTLING).await;
    let status = fs::read_to_string(format!("/proc/{}/status", served.0.id()));
    let Ok(status) = status else {
        println!("not measured: the memory of a process is read from /proc");
        return;
    };
    for line in ["VmRSS", "RssAnon", "RssFile", "Threads"] {
        println!("  {line} {}", field(&status, line));
    }
    let megabytes = field(&status, "VmRSS") as f64 / 1024.0;
    println!("ratio idle_memory_mb {megabytes:.1} bound <= {BOUND_MB}");
}

/// Starts the binary on a free port; it says on standard error where it serves.
fn start(folder: &std::path::Path) -> (Served, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_skald"))
        .args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--data-dir"])
        .arg(folder)
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let served = Served(child);
    let address = lines
        .map_while(Result::ok)
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(&line).ok())
        .find_map(|line| line["address"].as_str().map(|address| format!("http://{address}")))
        .expect("it serves");
    (served, address)
}

/// A number of `/proc/<pid>/status`: kilobytes, or threads.
fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.expect("a field that the kernel writes")
}

// === impl Served ===

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
