//! Seed 001: "cards of V1, V2 and V3 from JSON and PNG enter the profile, creator notes are not sent", and
//! "replace takes away what callers added, and leaves the whole profile".

use loader_core::{
    character::CardSpec,
    format::card::{self, Container},
    preset::PresetMode,
};
use prompt::ProfileMode;
use serde_json::json;

use crate::support::{Scene, contract, in_chat, journal};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/");

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{FIXTURES}{name}")).expect("the fixture is there")
}

/// The same card in each version's form.
fn documents() -> [(CardSpec, Vec<u8>); 3] {
    let fields = json!({
        "name": "Mira", "description": "keeps the light", "personality": "dry", "scenario": "a storm",
        "first_mes": "Welcome.", "mes_example": "<START>\nMira: hm",
    });
    let mut data = fields.clone();
    data["creator_notes"] = json!("for people only");
    let wrapped =
        |spec: &str, version: &str| json!({"spec": spec, "spec_version": version, "data": data});
    let v2 = wrapped("chara_card_v2", "2.0");
    let v3 = wrapped("chara_card_v3", "3.0");
    [(CardSpec::V1, fields), (CardSpec::V2, v2), (CardSpec::V3, v3)]
        .map(|(spec, document)| (spec, document.to_string().into_bytes()))
}

#[track_caller]
fn check(scene: Scene, texts: &[&str]) {
    let all = scene.texts().concat();
    for text in texts {
        assert_eq!(all.matches(text).count(), 1, "{text} in {all}");
    }
    assert!(!all.contains("for people only"), "{all}");
}

#[test]
fn cards_of_every_version_and_container_enter_the_profile_without_their_notes() {
    let containers = [
        (Container::Json, Vec::new()),
        (Container::Png, fixture("card_png_ccv3_over_chara_min.png")),
        (Container::Charx, fixture("fuzz_charx_jpeg_prefix.charx")),
    ];
    for (spec, document) in documents() {
        for (container, original) in &containers {
            let file = card::embed(*container, original, &document, spec).expect("is written");
            let read = card::read(&file, None).expect("is a card").character;
            let with = |base: Scene| base.card(|card| *card = read.clone());
            check(with(contract()), &["keeps the light", "dry", "a storm", "Welcome.", "Mira: hm"]);
            check(with(journal()), &["keeps the light", "dry", "a storm", "Welcome.", "Mira: hm"]);
            check(with(in_chat()), &["keeps the light", "dry", "a storm"]);
        }
    }
}

#[test]
fn replace_leaves_the_whole_profile() {
    let scene = |mode, preset_mode| {
        contract()
            .prompt("main", "M")
            .preset(|preset| preset.mode = preset_mode)
            .card(|card| card.description = "D".to_owned())
            .with(|input| input.rp_policy = Some("P".to_owned()))
            .with(|input| input.mode = mode)
            .profile()
    };
    for mode in [ProfileMode::Contract, ProfileMode::InChat] {
        let (append, replace) = (scene(mode, PresetMode::Append), scene(mode, PresetMode::Replace));
        assert_eq!(replace.segments, append.segments);
        assert_eq!(replace.call_config, append.call_config);
        assert_eq!(replace.preset_mode, PresetMode::Replace);
    }
}
