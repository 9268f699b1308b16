//! Files that other people made, where `SKALD_CORPUS` names a folder of them: each world book imports
//! with a report, activates on a text made of its own keys, exports, and re-imports equal.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{Cursor, Read as _},
    sync::Arc,
};

use kernel::WorldId;
use lorebook_core::{
    Book, Entry, World,
    activation::{
        Activation, CompiledWorld, MacroExpander, Message, Request, SeededRolls, SkipReason,
        Source, SourceKind, Tools, Words, activate,
    },
    export::{ExportFormat, View, text},
    fields::{CardHome, FIELDS},
    import::{ImportError, Imported, import},
};

const FORMATS: [ExportFormat; 4] = [
    ExportFormat::WorldInfo,
    ExportFormat::CharacterBookV2,
    ExportFormat::CharacterBookV3,
    ExportFormat::LorebookV3,
];

/// What is known of one file of the corpus.
struct Told {
    entries: usize,
    findings: usize,
    fired: usize,
}

// A world book, or the book of a card: JSON, a picture, or an archive with the card in it.
fn read(bytes: &[u8]) -> Result<Imported, ImportError> {
    let mut card = Vec::new();
    if let Ok(mut archive) = zip::ZipArchive::new(Cursor::new(bytes))
        && let Ok(mut member) = archive.by_name("card.json")
    {
        member.read_to_end(&mut card).expect("the archive is whole");
    }
    if card.is_empty() { import(bytes) } else { import(&card) }
}

fn book(imported: &Imported) -> Book {
    let id = WorldId::new("w").expect("an id");
    let entries = imported.entries(&id);
    let world = World {
        id,
        name: imported.name.clone().unwrap_or_default(),
        enabled: true,
        dynamic_enabled: false,
        content_revision: 1,
        embedded: false,
        settings: imported.settings.clone(),
    };
    Book { world, entries }
}

// A key that its own text holds: no pattern, no macro, not blank.
fn is_plain(key: &str) -> bool {
    !key.trim().is_empty() && !key.starts_with('/') && !key.contains("{{") && !key.contains('<')
}

/// Every plain key of the book, each in a message of its own.
fn texts(entries: &[Entry]) -> Vec<Message> {
    let keys = entries.iter().flat_map(|row| row.body.keys.iter().chain(&row.body.secondary_keys));
    keys.filter(|key| is_plain(key))
        .map(|key| Message { name: "Bob".into(), text: format!("so: {key} .") })
        .collect()
}

fn activated(book: &Book) -> Activation {
    let mut request = Request { explain: true, context_tokens: 4_000_000, ..Request::default() };
    request.settings.scan_depth = 1_000;
    request.messages = texts(&book.entries);
    let mut world = book.world.clone();
    world.settings.scan_depth = None;
    world.settings.token_budget = None;
    let world = Arc::new(CompiledWorld::new(world, book.entries.clone()));
    let mut variables = macros::Variables::default();
    let environment =
        macros::Environment { user: "Bob", char: "Mira", ..macros::Environment::default() };
    let mut tools = Tools {
        expander: &mut MacroExpander { environment, variables: &mut variables },
        rolls: &mut SeededRolls::new(1),
        tokens: &Words,
        cache: None,
    };
    activate(&request, &[Source { world, kind: SourceKind::Global }], &mut tools)
}

// Whoever has a plain key of its own in the scanned text fires, or says what else keeps it out.
fn check_reasons(name: &str, book: &Book, activation: &Activation) {
    let scanned: Vec<String> =
        texts(&book.entries).into_iter().rev().take(1_000).map(|message| message.text).collect();
    for skipped in &activation.skipped {
        let row = book.entries.iter().find(|row| row.id == skipped.entry).expect("its row");
        let mut keys = row.body.keys.iter().filter(|key| is_plain(key));
        let said = keys.any(|key| scanned.contains(&format!("so: {key} .")));
        let is_missed =
            skipped.reason == SkipReason::PrimaryMiss && row.body.scan_depth.is_none() && said;
        assert!(!is_missed, "{name}: {:?} is not found in its own text", row.body.keys);
    }
    let told = activation.entries.len() + activation.skipped.len();
    assert_eq!(told, book.entries.len(), "{name}: each entry fires or has a reason");
}

// What fired, without the ids that a new import makes anew.
fn fired(activation: &Activation) -> Vec<(i64, &str, &[String])> {
    let entries = activation.entries.iter();
    entries.map(|one| (one.uid, one.text.as_str(), one.matched_keys.as_slice())).collect()
}

fn check(name: &str, imported: &Imported) -> Told {
    let original = book(imported);
    let activation = activated(&original);
    check_reasons(name, &original, &activation);
    for format in FORMATS {
        let written = text(&original, View::Authored, format).expect("the authored view");
        let again = book(&import(written.as_bytes()).expect("our own file"));
        assert_eq!(again.entries.len(), original.entries.len(), "{name}");
        assert_eq!(again.world.settings, original.world.settings, "{name} as {format:?}");
        for (now, then) in again.entries.iter().zip(&original.entries) {
            let mut then = then.clone();
            if format != ExportFormat::WorldInfo {
                // A card has one `extensions` for the entry's own and the native fields' copies.
                let is_native = |name: &str| {
                    let is_it = |home| matches!(home, CardHome::Extensions(of) if of == name);
                    FIELDS.iter().any(|field| is_it(field.card))
                };
                let kept = &now.body.extensions;
                then.body.extensions.retain(|name, _| kept.contains_key(name) || !is_native(name));
            }
            assert_eq!(now, &then, "{name} as {format:?}");
        }
        assert_eq!(fired(&activated(&again)), fired(&activation), "{name} as {format:?}");
    }
    Told {
        entries: imported.rows.len(),
        findings: imported.report.findings.len(),
        fired: activation.entries.len(),
    }
}

#[test]
fn every_book_of_the_corpus_activates_exports_and_imports_equal() {
    let Some(folder) = env::var_os("SKALD_CORPUS") else {
        eprintln!("skipped: SKALD_CORPUS is not set");
        return;
    };
    let mut told: BTreeMap<String, Told> = BTreeMap::new();
    for file in fs::read_dir(folder).expect("a folder").flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let bytes = fs::read(file.path()).expect("a file");
        match read(&bytes) {
            Ok(imported) => {
                told.insert(name.clone(), check(&name, &imported));
            }
            Err(why) => {
                assert!(!name.starts_with("wi_") && !name.starts_with("lore_"), "{name}: {why}");
            }
        }
    }
    for (name, Told { entries, findings, fired }) in &told {
        eprintln!("{name}: {entries} entries, {findings} findings, {fired} fire on their own keys");
    }
    assert!(told.values().any(|one| one.fired > 0), "no world book in the corpus");
}
