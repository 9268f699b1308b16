//! The first two requests of the demo's conversation in each profile mode, message by message.
//!
//! `SKALD_BLESS=1` writes them anew; look at the difference before you commit it.

use std::{env, fmt::Write as _, fs, path::PathBuf};

use tests::prelude::*;

use common::ProfileMode;

#[tokio::test]
async fn journal() {
    check("journal", ProfileMode::Journal).await;
}

#[tokio::test]
async fn in_chat() {
    check("in_chat", ProfileMode::InChat).await;
}

#[tokio::test]
async fn contract() {
    check("contract", ProfileMode::Contract).await;
}

async fn check(name: &str, mode: ProfileMode) {
    let world = World::near().await;
    let clients = world.clients();
    let cast = clients.cast().await.expect("imported");
    let session = clients.opened(&cast, mode).await.expect("opened");
    let first = clients.say(&session, "turn-1", job::FIRST).await.expect("a turn");
    let changeset = &first.proposed()[0].changeset_id;
    clients.edit(changeset).await.expect("edited");
    clients.apply(changeset).await.expect("applied");
    let second = clients.say(&session, "turn-2", job::SECOND).await.expect("a turn");

    let mut page = String::new();
    for (nth, told) in [first, second].iter().enumerate() {
        let sent = clients.sent(&session, told.request().offset).await.expect("kept");
        writeln!(page, "═══ request {} at @{}", nth + 1, sent.record.offset).expect("a string");
        page.push_str(&written(&sent));
    }
    let page = without_ids(&without_times(&page));
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("golden/{name}.txt"));
    if env::var_os("SKALD_BLESS").is_some() {
        fs::write(&path, &page).expect("written");
    }
    let golden = fs::read_to_string(&path).expect("a golden file; SKALD_BLESS=1 writes it");
    for (at, (expected, found)) in golden.lines().zip(page.lines()).enumerate() {
        assert_eq!(found, expected, "{}:{}", path.display(), at + 1);
    }
    assert_eq!(page, golden, "as long as the golden file");
}

/// Each block under its role and where its pieces come from.
fn written(sent: &Sent) -> String {
    let mut page = String::new();
    for block in &sent.blocks {
        let origins = block.origins.iter().map(|origin| match origin.key.as_str() {
            "" => format!("{} @{}", origin.kind, origin.offset),
            key => format!("{key} @{}", origin.offset),
        });
        let origins: Vec<_> = origins.collect();
        writeln!(page, "─── {} · {}", block.role, origins.join(", ")).expect("a string");
        page.push_str(&block.text);
        page.push('\n');
    }
    page
}

/// `Requested at:` lines hold the moment of the test.
fn without_times(page: &str) -> String {
    let lines = page.lines().map(|line| match line.strip_prefix("Requested at: ") {
        Some(_) => "Requested at: (a time)\n".to_owned(),
        None => format!("{line}\n"),
    });
    lines.collect()
}

/// Ids in the order in which they appear: `(id 1)`, `(id 2)`, ….
fn without_ids(page: &str) -> String {
    let mut seen: Vec<String> = Vec::new();
    let mut out = String::new();
    let mut rest = page;
    while let Some(at) = (0..rest.len()).find(|at| uuid_at(rest, *at)) {
        out.push_str(&rest[..at]);
        let id = rest[at..at + UUID_LENGTH].to_owned();
        let known = seen.iter().position(|known| *known == id);
        let number = known.unwrap_or_else(|| {
            seen.push(id);
            seen.len() - 1
        });
        write!(out, "(id {})", number + 1).expect("a string");
        rest = &rest[at + UUID_LENGTH..];
    }
    out + rest
}

const UUID_LENGTH: usize = 36;

fn uuid_at(text: &str, at: usize) -> bool {
    let Some(id) = text.get(at..at + UUID_LENGTH) else { return false };
    id.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}
