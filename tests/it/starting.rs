//! A wrong start says what is wrong, in one line that names its setting, and ends with the code of its kind.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;
use tests::{process::Home, script};

const SKALD: &str = env!("CARGO_BIN_EXE_skald-under-test");
const USAGE: i32 = 64;
const FAILURE: i32 = 1;

/// Runs a command line with these variables and no other of ours.
fn run(line: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(SKALD);
    let ours = std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with("SKALD_"));
    ours.for_each(|name| {
        command.env_remove(name);
    });
    command.env("RUST_BACKTRACE", "1").args(line.split_whitespace());
    let folder = tempfile::tempdir().expect("a folder");
    command.current_dir(folder.path()).env("SKALD_LOG", "error").env("SKALD_LISTEN", "127.0.0.1:0");
    command.envs(variables.iter().copied()).output().expect("it starts")
}

#[track_caller]
fn refused(line: &str, variables: &[(&str, &str)], code: i32, words: &[&str]) {
    let output = run(line, variables);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{line} {variables:?}: {said}");
    assert_eq!(said.lines().count(), 1, "one line: {said}");
    assert!(said.starts_with("skald: ") && !said.contains("panicked"), "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is not in: {said}");
    }
}

#[test]
fn a_bad_value_of_every_variable_names_it() {
    for (variable, value) in [
        ("SKALD_LISTEN", "nowhere"),
        ("SKALD_DATABASE_URL", "mysql://a:hunter2@b/c"),
        ("SKALD_DATABASE_URL", "postgres://a:hunter2@b:port/c"),
        ("SKALD_DATABASE_CONNECTIONS", "0"),
        ("SKALD_DATABASE_CONNECTIONS", "4294967295"),
        ("SKALD_TOKENS", "/no/such/file"),
        ("SKALD_MESH_TOKEN", "hunter2"),
        ("SKALD_PROVIDERS", "/no/such/file"),
        ("SKALD_LEDGER_URL", "here"),
        ("SKALD_LOADER_URL", "ftp://here"),
        ("SKALD_LOREBOOK_URL", "http://a,,"),
        ("SKALD_JUDGES", "0"),
        ("SKALD_JUDGES", "18446744073709551615"),
        ("SKALD_CORS_ORIGINS", "https://app.example,*"),
        ("SKALD_CORS_ORIGINS", "https://app.example/"),
        ("SKALD_DRAIN_SECONDS", "-1"),
        ("SKALD_LOG", "=="),
        ("SKALD_LOG_FORMAT", "xml"),
        ("SKALD_CONFIG", "/no/such/file"),
    ] {
        let output = run("serve", &[(variable, value)]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("hunter2"), "a secret: {said}");
        refused("serve", &[(variable, value)], USAGE, &[variable]);
    }
}

#[test]
fn a_bad_flag_is_named_as_it_was_typed() {
    refused("serve --listen nowhere", &[], USAGE, &["--listen: "]);
    refused("serve --log-format xml", &[], USAGE, &["--log-format: ", "pretty, json"]);
    refused("serve everything", &[], USAGE, &["everything", "proposal"]);
    refused("serve --loud", &[], USAGE, &["--loud"]);
    refused("serv", &[], USAGE, &["serv"]);
    refused("token --hash", &[], USAGE, &["--hash", "standard input"]);
    refused("demo --provider magic", &[], USAGE, &["--provider magic"]);
    refused("demo --provider openai --model m", &[], USAGE, &["--base-url"]);
    let line = "demo --provider openai --model m --base-url ftp://here";
    refused(line, &[], USAGE, &["base_url", "ftp"]);
}

#[test]
fn what_a_single_service_lacks_is_named() {
    refused("serve ledger", &[], USAGE, &["SKALD_MESH_TOKEN"]);
    let mesh = ("SKALD_MESH_TOKEN", "a-secret-that-only-services-know");
    refused("serve ledger", &[mesh], USAGE, &["SKALD_LOADER_URL"]);
    refused("serve loader", &[mesh], USAGE, &["SKALD_LOREBOOK_URL"]);
    refused("serve proposal", &[mesh], USAGE, &["SKALD_LEDGER_URL"]);
    let open = ("SKALD_LISTEN", "0.0.0.0:0");
    refused("serve", &[open], USAGE, &["SKALD_TOKENS", "loopback"]);
}

#[test]
fn a_file_that_is_not_in_its_form_is_named_with_the_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = folder.path().join("bad.toml");
    fs::write(&bad, "\n[[token").expect("written");
    let path = bad.to_str().expect("text");
    for variable in ["SKALD_TOKENS", "SKALD_PROVIDERS", "SKALD_CONFIG"] {
        refused("serve", &[(variable, path)], USAGE, &[variable, path, "line 2"]);
    }
    fs::write(&bad, "prt = 1").expect("written");
    refused("config", &[("SKALD_CONFIG", path)], USAGE, &["prt is no setting"]);
    fs::write(&bad, "judges = 0").expect("written");
    refused("config", &[("SKALD_CONFIG", path)], USAGE, &["judges (configuration file)"]);
    let providers = "[[providers]]\nname = 'a'\nkind = 'openai'\n";
    fs::write(&bad, providers).expect("written");
    refused("serve", &[("SKALD_PROVIDERS", path)], USAGE, &["SKALD_PROVIDERS", "base_url"]);
    let keyed = format!("{providers}base_url = 'http://x/v1'\napi_key_env = 'NO_SUCH_KEY'\n");
    fs::write(&bad, keyed).expect("written");
    refused("serve", &[("SKALD_PROVIDERS", path)], USAGE, &["SKALD_PROVIDERS", "NO_SUCH_KEY"]);
}

/// Whether the modes of files bind this user: they do not bind root.
fn is_bound(folder: &TempDir) -> bool {
    fs::write(folder.path().join("probe"), "").is_err()
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    for command in ["serve", "migrate", "demo"] {
        let nowhere = ("SKALD_DATA_DIR", "/proc/nowhere");
        refused(command, &[nowhere], FAILURE, &["SKALD_DATA_DIR", "/proc/nowhere"]);
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().to_str().expect("text");
        refused(command, &[("SKALD_DATA_DIR", path)], FAILURE, &["SKALD_DATA_DIR", path]);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mode = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode));
    mode(0o500).expect("set");
    if is_bound(&folder) {
        let path = folder.path().to_str().expect("text");
        refused("migrate", &[("SKALD_DATA_DIR", path)], FAILURE, &["SKALD_DATA_DIR", path]);
    }
    mode(0o700).expect("set");
}

#[test]
fn a_database_that_is_not_there_is_told_with_its_cause_and_without_its_password() {
    let away = ("SKALD_DATABASE_URL", "postgres://ada:hunter2@127.0.0.1:1/skald");
    let output = run("migrate", &[away]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(FAILURE), 1), "{said}");
    assert!(said.contains("database cannot be opened") && said.contains("refused"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}

#[tokio::test]
async fn a_port_or_a_folder_that_another_process_has_is_told_with_its_holder() {
    let home = Home::new(SKALD, script::ECHO);
    let process = home.start().await;
    let data = home.data();
    let folder = ("SKALD_DATA_DIR", data.to_str().expect("text"));
    for command in ["serve", "migrate", "demo"] {
        refused(command, &[folder], FAILURE, &["in use by process", folder.1]);
    }
    let address = process.url.strip_prefix("http://").expect("a url");
    refused("serve", &[("SKALD_LISTEN", address)], FAILURE, &[address, "in use"]);
}

#[test]
fn the_settings_in_effect_are_printed_and_no_secret_among_them() {
    let secrets = [
        ("SKALD_MESH_TOKEN", "hunter2-hunter2-hunter2"),
        ("SKALD_DATABASE_URL", "postgres://ada:hunter2@db/skald"),
        ("SKALD_JUDGES", "7"),
    ];
    let output = run("config --drain-seconds 3", &secrets);
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("drain_seconds = 3  # flag"), "{said}");
    assert!(said.contains("judges = 7  # environment"), "{said}");
    assert!(said.contains("# mesh_token is set and hidden") && !said.contains("hunter2"), "{said}");
}

#[test]
fn a_token_is_made_with_the_hash_that_belongs_in_the_file() {
    let made = run("token", &[]);
    let said = String::from_utf8_lossy(&made.stdout).into_owned();
    let value = |key: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")));
        line.expect("printed").trim_matches('"').to_owned()
    };
    assert_eq!(value("hash"), host::auth::hash_token(&value("token")));
    let mut hashing = Command::new(SKALD);
    let hashing = hashing.args(["token", "--hash"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut hashing = hashing.spawn().expect("it starts");
    let mut stdin = hashing.stdin.take().expect("piped");
    writeln!(stdin, "{}", value("token")).expect("written");
    drop(stdin);
    let hashed = hashing.wait_with_output().expect("it ends").stdout;
    assert_eq!(String::from_utf8_lossy(&hashed), format!("hash = \"{}\"\n", value("hash")));
}

#[test]
fn an_output_that_cannot_be_written_is_told_and_a_reader_who_leaves_is_none_of_it() {
    for line in ["config", "token", "demo"] {
        let folder = tempfile::tempdir().expect("a folder");
        let full = fs::File::options().write(true).open("/dev/full").expect("there");
        let mut command = Command::new(SKALD);
        command.arg(line).current_dir(folder.path()).stdout(full);
        let output = command.output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(FAILURE), "{line}: {said}");
        assert_eq!(said, "skald: standard output could not be written to: no storage space\n");
    }
    let mut token = Command::new(SKALD);
    let mut token = token.arg("token").stdout(Stdio::piped()).spawn().expect("it starts");
    drop(token.stdout.take());
    assert!(token.wait().expect("it ends").success());
}
