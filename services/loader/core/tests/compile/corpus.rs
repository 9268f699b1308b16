//! Real presets and cards, where `SKALD_CORPUS` names a folder of them, through all three modes.

use std::{fs, path::Path};

use loader_core::{
    Character, Preset,
    compile::LorePosition::{AtDepth, BeforeCharacter},
    format::{card, preset},
};
use prompt::{ProfileMode, Role, escape};

use crate::support::{Scene, contract};

fn files(folder: &Path, prefix: &str) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = fs::read_dir(folder)
        .expect("the folder can be read")
        .map(|entry| entry.expect("the folder can be listed").path())
        .filter_map(|path| Some((path.file_name()?.to_str()?.to_owned(), path)))
        .filter(|(name, _)| name.starts_with(prefix))
        .map(|(name, path)| (name, fs::read(path).expect("the file can be read")))
        .collect();
    found.sort();
    found
}

#[track_caller]
fn check(name: &str, scene: &Scene) {
    for mode in [ProfileMode::Journal, ProfileMode::Contract, ProfileMode::InChat] {
        let scene = scene.clone().with(|input| input.mode = mode);
        let profile = scene.profile();
        assert_eq!(profile, scene.profile(), "{name} in {mode:?}");
        if mode == ProfileMode::InChat {
            assert!(!scene.sent().is_empty(), "{name}");
            continue;
        }
        let text = scene.texts().join("\n\n");
        let tags = text.matches("<st-").count();
        assert_eq!(tags, text.matches("</st-").count(), "{name} in {mode:?}");
        let inside = text.replace("<st-", "").replace("</st-", "");
        assert!(!escape::holds_reserved_tag(&inside), "{name} in {mode:?}");
    }
}

fn scene(preset: &Preset, character: &Character) -> Scene {
    contract()
        .preset(|own| *own = preset.clone())
        .card(|own| *own = character.clone())
        .user("Bob", "Bob is tall.")
        .lore("before", BeforeCharacter)
        .lore("deep", AtDepth { depth: 2, role: Role::System })
        .chat(&["Hello.", "Well met.", "Who are you?"])
}

#[test]
fn every_preset_and_card_compiles_in_every_mode() {
    let Some(folder) = std::env::var_os("SKALD_CORPUS") else {
        println!("skipped: SKALD_CORPUS is not set");
        return;
    };
    let folder = Path::new(&folder);
    let plain = Character::new("Mira");
    let mut compiled = 0;
    for (name, bytes) in files(folder, "preset_") {
        let Ok(read) = preset::read(&bytes) else { continue };
        check(&name, &scene(&read.preset, &plain));
        compiled += 1;
    }
    for (name, bytes) in files(folder, "card_") {
        let Ok(read) = card::read(&bytes, Some(&name)) else { continue };
        check(&name, &scene(&Preset::default(), &read.character));
        compiled += 1;
    }
    assert!(compiled > 0, "no preset and no card in {}", folder.display());
}
