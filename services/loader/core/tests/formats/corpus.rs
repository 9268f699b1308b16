//! Every real file of a collection either imports with a report or is refused with its place.
//!
//! `SKALD_CORPUS` names the folder; without it the test says that it was skipped.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use loader_core::format::{FormatError, card, persona, preset};

fn files(folder: &Path, prefixes: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the corpus is a folder");
    let paths = entries.map(|entry| entry.expect("the folder can be listed").path());
    let named = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        prefixes.iter().any(|prefix| name.starts_with(prefix))
    };
    let mut files: Vec<_> = paths.filter(named).collect();
    files.sort();
    files
}

fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("SKALD_CORPUS").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: SKALD_CORPUS is not set");
    }
    folder
}

/// Runs `import` in its time and shows what became of the file.
fn run<T>(path: &Path, import: impl Fn(&[u8]) -> Result<T, FormatError>) -> Option<T> {
    let bytes = std::fs::read(path).expect("the file can be read");
    let start = Instant::now();
    let result = import(&bytes);
    assert!(start.elapsed() < Duration::from_secs(1), "{} took too long", path.display());
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match result {
        Ok(imported) => Some(imported),
        Err(error) => {
            println!("refused {name}: {error}");
            assert!(
                error.to_string().contains(": "),
                "{name}: the refusal names no place: {error}"
            );
            None
        }
    }
}

#[test]
fn every_card_imports_or_is_refused_and_round_trips() {
    let Some(folder) = corpus() else { return };
    let files = files(&folder, &["card_", "fuzz_"]);
    let mut imported = 0;
    for path in &files {
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(card) = run(path, |bytes| card::read(bytes, name)) else { continue };
        imported += 1;
        println!(
            "{}: {} with {} findings",
            path.display(),
            card.character.name,
            card.report.findings.len()
        );
        let original = std::fs::read(path).expect("the file can be read");
        let again = card::embed(card.container, &original, &card.document, card.character.spec)
            .and_then(|bytes| card::read(&bytes, name))
            .expect("what was exported imports");
        assert_eq!((again.character, again.document), (card.character, card.document));
    }
    assert!(imported * 10 >= files.len() * 8, "only {imported} of {} imported", files.len());
}

#[test]
fn every_preset_imports() {
    let Some(folder) = corpus() else { return };
    for path in files(&folder, &["preset_"]) {
        let preset = run(&path, preset::read).expect("a real preset imports");
        println!("{}: {:?}", path.display(), preset.report.findings);
        assert!(!preset.preset.prompts.is_empty());
    }
}

#[test]
fn other_files_are_refused_as_cards_and_presets() {
    let Some(folder) = corpus() else { return };
    for path in files(&folder, &["wi_", "lore_", "chat_", "golden_"]) {
        run(&path, |bytes| card::read(bytes, None));
        run(&path, preset::read);
        run(&path, persona::read);
    }
}
