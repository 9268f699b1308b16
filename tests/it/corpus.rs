//! Files that other people made, where `SKALD_CORPUS` names a folder of them, through the public door:
//! each is imported with a report, or refused with a reason that names the place; nothing is stored half.

use std::{env, fs, path::PathBuf, time::Duration};

use tests::prelude::*;

/// A file may take this long, in an unoptimised build.
const PATIENCE: Duration = Duration::from_secs(60);

fn files() -> Option<Vec<PathBuf>> {
    let Some(folder) = env::var_os("SKALD_CORPUS") else {
        eprintln!("skipped: SKALD_CORPUS is not set");
        return None;
    };
    let entries = fs::read_dir(folder).expect("SKALD_CORPUS is a folder");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.is_file() && path.file_name().is_some_and(|n| n != "MANIFEST.tsv"));
    files.sort();
    assert!(!files.is_empty(), "SKALD_CORPUS holds files");
    Some(files)
}

/// What became of a file at one of the doors: the id that it got, or the refusal.
type Outcome = Result<Option<String>, Status>;

async fn bounded<T>(import: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    tokio::time::timeout(PATIENCE, import).await.expect("no file hangs")
}

/// Every file at every door: nothing but an import or an honest refusal comes out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_file_is_imported_or_refused_with_a_place() {
    let Some(files) = files() else { return };
    let world = World::near().await;
    let clients = world.clients();
    let mut stored = [0; 3];
    for path in files {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let bytes = fs::read(&path).expect("readable");
        let outcomes = [
            card(&clients, &name, &bytes).await,
            preset(&clients, &name, &bytes).await,
            book(&clients, &name, &bytes).await,
        ];
        let taken: Vec<_> = outcomes.iter().map(|outcome| matches!(outcome, Ok(Some(_)))).collect();
        eprintln!("{name}: card, preset, world: {taken:?}");
        for (door, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                Ok(id) => stored[door] += usize::from(id.is_some()),
                Err(status) => honest(&name, &status),
            }
        }
    }
    assert!(stored.iter().all(|count| *count > 0), "each kind was met: {stored:?}");
    everything_stored_is_whole(&clients, stored).await;
}

#[track_caller]
fn honest(name: &str, status: &Status) {
    let codes = [Code::InvalidArgument, Code::ResourceExhausted];
    assert!(codes.contains(&status.code()), "{name}: {status:?}");
    assert_ne!(reason(status).1, common::Reason::Unspecified, "{name}: {status:?}");
    assert!(status.message().len() > 10, "{name}: a place and a cause: {}", status.message());
}

async fn card(clients: &Clients, name: &str, bytes: &[u8]) -> Outcome {
    let imported = bounded(clients.import_character("", name, bytes)).await?;
    assert!(!imported.report.expect("always").format.is_empty(), "{name}");
    Ok(imported.character.map(|card| card.character_id).filter(|_| !imported.already_imported))
}

async fn preset(clients: &Clients, name: &str, bytes: &[u8]) -> Outcome {
    let imported = bounded(clients.import_preset("", name, bytes)).await?;
    assert!(!imported.report.expect("always").format.is_empty(), "{name}");
    Ok(imported.preset.map(|preset| preset.preset_id).filter(|_| !imported.already_imported))
}

async fn book(clients: &Clients, name: &str, bytes: &[u8]) -> Outcome {
    let imported = bounded(clients.import_world("", name, bytes)).await?;
    let report = imported.report.expect("always");
    let world = imported.world.expect("stored");
    let entries = clients.entries(&world.world_id, lorebook::WorldView::All).await?;
    assert_eq!(entries.len(), world.entry_count as usize, "{name}: all of it");
    assert!(!report.format.is_empty(), "{name}");
    Ok(Some(world.world_id))
}

/// What is listed is what was answered, and can be read.
async fn everything_stored_is_whole(clients: &Clients, stored: [usize; 3]) {
    let page_size = 500;
    let request = loader::ListCharactersRequest { page_size, ..Default::default() };
    let cards = clients.characters.clone().list_characters(request).await.expect("a list");
    let cards = cards.into_inner().characters;
    for card in &cards {
        let request = loader::GetCharacterRequest { character_id: card.character_id.clone() };
        let read = clients.characters.clone().get_character(request).await.expect("readable");
        assert!(!read.into_inner().character.expect("one").document_json.is_empty());
    }
    let request = loader::ListPresetsRequest { page_size, ..Default::default() };
    let presets = clients.presets.clone().list_presets(request).await.expect("a list");
    let request = lorebook::ListWorldsRequest { page_size, ..Default::default() };
    let worlds = clients.worlds.clone().list_worlds(request).await.expect("a list");
    let listed =
        [cards.len(), presets.into_inner().presets.len(), worlds.into_inner().worlds.len()];
    assert_eq!(listed, stored);
}
