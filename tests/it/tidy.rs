//! The rules of style that a machine can check, over the project's own files.

use std::{fs, path::Path};

const FILE_LINES_MAX: usize = 500;
const FN_LINES_MAX: usize = 70;
const MAIN_LINES_MAX: usize = 40;

/// Files that are better left whole, and why.
const LONG_FILES: &[(&str, &str)] = &[];

/// Functions that are better left whole, and why.
const LONG_FNS: &[(&str, &str)] =
    &[("shared/macros/src/table.rs: fn by_lower_name", "one line for each macro's name")];

/// What a pure crate may not depend on.
const IMPURE: &[&str] =
    &["tokio", "sqlx", "tonic", "prost", "reqwest", "tracing", "async-trait", "rand"];

const PURE_CRATES: &[&str] = &[
    "shared/kernel",
    "shared/macros",
    "shared/prompt",
    "services/ledger/core",
    "services/loader/core",
    "services/lorebook/core",
    "services/proposal/core",
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Every file with this ending below the project's folders, its path from the root and its text.
fn files(ending: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in ["proto", "migrations", "shared", "services", "tests"] {
        collect(&root().join(folder), ending, &mut found);
    }
    assert!(!found.is_empty(), "no {ending} files were found");
    found
}

fn collect(folder: &Path, ending: &str, found: &mut Vec<(String, String)>) {
    let entries = fs::read_dir(folder).expect("a folder of the project");
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target" && name != "fixtures") {
                collect(&path, ending, found);
            }
        } else if path.extension().is_some_and(|e| e == ending) {
            let text = fs::read_to_string(&path).expect("a text file");
            found.push((relative(&path), text));
        }
    }
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[track_caller]
fn check(rule: &str, offences: Vec<String>) {
    assert!(offences.is_empty(), "{rule}:\n  {}", offences.join("\n  "));
}

/// Lines of each file that break a rule, as `path:line`.
fn lines_where(breaks: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut offences = Vec::new();
    for (path, text) in files("rs") {
        for (at, line) in text.lines().enumerate() {
            if breaks(&path, line) {
                offences.push(format!("{path}:{}", at + 1));
            }
        }
    }
    offences
}

#[test]
fn every_file_opens_with_one_sentence_that_says_what_it_is_for() {
    let headless = files("rs").into_iter().filter(|(_, text)| !text.starts_with("//! "));
    check("begin with `//! `", headless.map(|(path, _)| path).collect());
}

#[test]
fn no_file_is_longer_than_five_hundred_lines() {
    let long = files("rs").into_iter().filter_map(|(path, text)| {
        let lines = text.lines().count();
        let excused = LONG_FILES.iter().any(|(file, _)| *file == path);
        (lines > FILE_LINES_MAX && !excused).then(|| format!("{path}: {lines} lines"))
    });
    check("split the file where its boundary is", long.collect());
}

#[test]
fn the_main_function_only_starts_what_others_do() {
    let long = files("rs").into_iter().filter(|(path, text)| {
        path.ends_with("src/main.rs") && text.lines().count() > MAIN_LINES_MAX
    });
    check("keep main.rs short", long.map(|(path, _)| path).collect());
}

#[test]
fn no_function_is_longer_than_a_screen() {
    let mut offences = Vec::new();
    for (path, text) in files("rs") {
        for (name, lines) in functions(&text) {
            let place = format!("{path}: fn {name}");
            if lines > FN_LINES_MAX && !LONG_FNS.iter().any(|(known, _)| *known == place) {
                offences.push(format!("{place} has {lines} lines"));
            }
        }
    }
    check("split the function", offences);
}

/// Names and lengths of functions; the formatter closes each at the indentation where it opened.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let Some(name) = function_name(code) else { continue };
        let signature_end = lines[at..].iter().find(|l| l.ends_with('{') || l.ends_with(';'));
        if signature_end.is_none_or(|l| l.ends_with(';')) {
            continue;
        }
        let close = format!("{}}}", &line[..line.len() - code.len()]);
        if let Some(end) = lines[at..].iter().position(|l| *l == close) {
            found.push((name, end + 1));
        }
    }
    found
}

fn function_name(code: &str) -> Option<String> {
    let words = ["pub ", "pub(crate) ", "pub(super) ", "const ", "async "];
    let code = words.iter().fold(code, |code, word| code.strip_prefix(word).unwrap_or(code));
    let name = code.strip_prefix("fn ")?;
    Some(name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
}

#[test]
fn nothing_is_left_undone_or_switched_off() {
    let marks = ["todo!(", "unimplemented!(", "#[ignore", "FIXME"];
    let breaks = |path: &str, line: &str| {
        !path.ends_with("it/tidy.rs") && marks.iter().any(|mark| line.contains(mark))
    };
    check("finish it", lines_where(breaks));
}

#[test]
fn a_silenced_lint_says_why() {
    let breaks = |path: &str, line: &str| {
        !path.ends_with("it/tidy.rs") && (line.contains("#[allow(") || line.contains("#![allow("))
    };
    check("use `#[expect(lint, reason = …)]`", lines_where(breaks));
}

#[test]
fn no_test_sleeps() {
    let sleeps = |path: &str, line: &str| {
        let is_test =
            path.starts_with("tests/") || path.contains("/tests") || path.ends_with("contract.rs");
        is_test && !path.ends_with("it/tidy.rs") && line.contains("sleep(")
    };
    check("wait on a condition", lines_where(sleeps));
}

#[test]
fn modules_are_named_after_their_file() {
    let named = files("rs").into_iter().filter(|(path, _)| path.ends_with("/mod.rs"));
    check("use foo.rs beside foo/", named.map(|(path, _)| path).collect());
}

#[test]
fn pure_crates_depend_on_nothing_that_does_io() {
    let mut offences = Vec::new();
    for krate in PURE_CRATES {
        let manifest =
            fs::read_to_string(root().join(krate).join("Cargo.toml")).expect("a manifest");
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        for name in IMPURE {
            if dependencies.lines().any(|line| line.starts_with(&format!("{name}."))) {
                offences.push(format!("{krate} depends on {name}"));
            }
        }
    }
    check("keep the core pure", offences);
}

#[test]
fn no_server_depends_on_another_server() {
    let servers = ["ledger", "loader", "lorebook", "proposal"];
    let mut offences = Vec::new();
    for server in servers {
        let path = root().join("services").join(server).join("server/Cargo.toml");
        let manifest = fs::read_to_string(path).expect("a manifest");
        let others = servers.iter().filter(|other| **other != server);
        for other in others {
            if manifest.lines().any(|line| line.starts_with(&format!("{other}."))) {
                offences.push(format!("{server} depends on {other}"));
            }
        }
    }
    check("servers meet over links", offences);
}

#[test]
fn every_dependency_has_its_version_in_one_place() {
    let mut offences = Vec::new();
    for (path, text) in files("toml") {
        if !path.ends_with("Cargo.toml") {
            continue;
        }
        let own = text.lines().filter(|line| {
            let path = line.trim_start().starts_with("path = ") && !line.ends_with(".rs\"");
            path || line.contains("version = \"")
        });
        offences.extend(own.map(|line| format!("{path}: {line}")));
    }
    check("use `name.workspace = true`", offences);
}

#[test]
fn each_rpc_says_what_it_does() {
    let mut offences = Vec::new();
    for (path, text) in files("proto") {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let declares = line.trim_start().starts_with("rpc ");
            if declares && !lines[at - 1].trim_start().starts_with("//") {
                offences.push(format!("{path}:{}", at + 1));
            }
        }
    }
    check("comment the RPC: it is the manual", offences);
}

#[test]
fn reads_are_marked_as_such() {
    let mut offences = Vec::new();
    for (path, text) in files("proto") {
        for line in text.lines().map(str::trim_start) {
            let reads =
                ["rpc Get", "rpc List", "rpc Read", "rpc Preview", "rpc BatchGet", "rpc Verify"];
            if reads.iter().any(|read| line.starts_with(read)) && line.ends_with(';') {
                offences.push(format!("{path}: {line}"));
            }
        }
    }
    check("set idempotency_level = NO_SIDE_EFFECTS", offences);
}
