//! Files that other people made, where `SKALD_CORPUS` names a folder of them.

use std::{env, fs, path::Path};

use kernel::WorldId;
use lorebook_core::{
    Book, World, WorldSettings,
    export::{ExportFormat, View, text},
    import::{ImportError, Imported, import},
};

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
        settings: WorldSettings::clone(&imported.settings),
    };
    Book { world, entries }
}

fn round_trip(path: &Path, bytes: &[u8]) -> Result<usize, ImportError> {
    let imported = import(bytes)?;
    let original = book(&imported);
    let formats = [ExportFormat::WorldInfo, ExportFormat::CharacterBookV3];
    for format in formats {
        let written = text(&original, View::Authored, format).expect("the authored view");
        let again = book(&import(written.as_bytes()).expect("our own file"));
        assert_eq!(again.entries.len(), original.entries.len(), "{}", path.display());
        for (now, then) in again.entries.iter().zip(&original.entries) {
            let mut then = then.clone();
            if format == ExportFormat::CharacterBookV3 {
                // A card has one `extensions` for the entry's own and the native fields' copies.
                then.body.extensions.retain(|name, _| now.body.extensions.contains_key(name));
            }
            assert_eq!(now, &then, "{} as {format:?}", path.display());
        }
    }
    Ok(imported.rows.len())
}

#[test]
fn every_world_of_the_corpus_exports_and_imports_equal() {
    let Some(folder) = env::var_os("SKALD_CORPUS") else {
        eprintln!("skipped: SKALD_CORPUS is not set");
        return;
    };
    let mut read = 0;
    for file in fs::read_dir(folder).expect("a folder").flatten() {
        let path = file.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = fs::read(&path).expect("a file");
        match round_trip(&path, &bytes) {
            Ok(entries) => {
                read += 1;
                eprintln!("{name}: {entries} entries");
            }
            Err(why) => {
                assert!(!name.starts_with("wi_") && !name.starts_with("lore_"), "{name}: {why}")
            }
        }
    }
    assert!(read > 0, "no world book in the corpus");
}
