//! Compile and preview through the wire.

use futures::{StreamExt as _, stream};
use wire::{
    common::v1::{Author, ProfileMode, Reason},
    loader::v1 as pb,
    mesh::v1 as mesh,
};

use crate::house::{CARD, House, PRESET, as_user, generation, header, refused};

/// Ada's session `s` with a preset, a card with a book, a user and a world.
async fn furnished() -> House {
    let house = House::new().await;
    house.lorebook.knows("w1");
    let preset = house.import_preset("ada", header("", "p.json"), PRESET.as_bytes()).await;
    let card = house.import_character("ada", header("", "m.json"), CARD.as_bytes()).await;
    let selection = pb::Selection {
        preset_id: preset.expect("imported").preset.expect("a preset").preset_id,
        character_id: card.expect("imported").character.expect("a character").character_id,
        user_id: house.create_user("ada", "Bob").await,
        world_ids: vec!["w1".to_owned()],
        ..Default::default()
    };
    house.session("s", selection).await;
    house
}

fn message(id: &str, author: Author, text: &str) -> mesh::ActivationMessage {
    let (id, text) = (id.to_owned(), text.to_owned());
    mesh::ActivationMessage { id, author: author.into(), text, ..Default::default() }
}

#[tokio::test]
async fn a_compile_streams_every_piece_and_then_its_summary() {
    let house = furnished().await;
    let (segments, summary) = house.compile(generation("s", "g1")).await.expect("compiled");
    let texts: Vec<_> = segments.iter().map(|segment| segment.text.as_str()).collect();
    let all = texts.join("\n");
    for piece in ["Speak as Mira.", "Mira keeps the lighthouse.", "tall", "Lore of w1."] {
        assert!(all.contains(piece), "{piece} is missing in {all}");
    }
    assert!(summary.call_config_json.contains("0.7"), "{}", summary.call_config_json);
    assert_eq!((summary.user_name.as_str(), summary.character_name.as_str()), ("Bob", "Mira"));
    assert_eq!(summary.worlds[0].world_id, "w1");
    assert_eq!(summary.worlds[1].binding_sources, ["embedded"]);
    assert_eq!(summary.timed_state_json, r#"{"sticky":{}}"#);
    assert!(summary.active_lore_keys.contains(&"lore:w1:e1".to_owned()));
    assert!(summary.audit_json.contains(r#""content_revision":3"#));
    assert_eq!(summary.fingerprint.len(), 64);
}

#[tokio::test]
async fn equal_compiles_give_equal_profiles() {
    let house = furnished().await;
    let first = house.compile(generation("s", "g1")).await.expect("compiled");
    let again = house.compile(generation("s", "g1")).await.expect("compiled");
    assert_eq!(first, again);
}

#[tokio::test]
async fn every_mode_compiles() {
    let house = furnished().await;
    for mode in [ProfileMode::Journal, ProfileMode::InChat, ProfileMode::Contract] {
        let request = mesh::CompileRequest { profile_mode: mode.into(), ..generation("s", "g") };
        let (segments, _) = house.compile(request).await.expect("compiled");
        assert!(!segments.is_empty(), "{mode:?}");
    }
}

#[tokio::test]
async fn the_lorebook_is_asked_with_expanded_fields_and_named_messages() {
    let house = furnished().await;
    let request = mesh::CompileRequest {
        messages: vec![message("1", Author::Assistant, "Hello"), message("2", Author::User, "Hi")],
        message_count: 2,
        ..generation("s", "g")
    };
    house.compile(request).await.expect("compiled");
    let asked = house.lorebook.asked.lock().expect("not poisoned")[0].clone();
    let names: Vec<_> = asked.messages.iter().map(|message| message.name.as_str()).collect();
    assert_eq!(names, ["Mira", "Bob"]);
    assert_eq!(asked.scan_texts["character_description"], "Mira keeps the lighthouse.");
    let kinds: Vec<_> = asked.sources.iter().map(|source| source.kind()).collect();
    assert_eq!(kinds, [mesh::LoreSourceKind::Chat, mesh::LoreSourceKind::Character]);
}

#[tokio::test]
async fn live_sections_that_are_gone_are_withdrawn() {
    let house = furnished().await;
    let live = |key: &str| mesh::LiveKey { key: key.to_owned(), source_hash: vec![9; 32] };
    let request = mesh::CompileRequest {
        live_keys: vec![live("prompt:gone"), live("lore:w9:e1")],
        ..generation("s", "g")
    };
    let (_, summary) = house.compile(request).await.expect("compiled");
    assert_eq!(summary.withdrawn_keys, ["lore:w9:e1", "prompt:gone"]);
    let asked = house.lorebook.asked.lock().expect("not poisoned")[0].clone();
    assert_eq!(asked.live[0].world_id, "w9");
}

#[tokio::test]
async fn a_preview_says_everything_but_the_texts_and_takes_no_lease() {
    let house = furnished().await;
    let preview = pb::PreviewProfileRequest { session_id: "s".to_owned(), ..Default::default() };
    let answer = house.profiles().preview_profile(as_user("ada", preview.clone())).await;
    let answer = answer.expect("previewed").into_inner();
    assert!(answer.segments.iter().any(|segment| segment.key == "lore:w1:e1" && segment.bytes > 0));
    let delete = pb::SetSelectionRequest {
        session_id: "s".to_owned(),
        selection: Some(pb::Selection::default()),
        ..Default::default()
    };
    assert!(house.selections().set_selection(as_user("ada", delete)).await.is_ok());
    let hers = house.profiles().preview_profile(as_user("bob", preview)).await.map(|_| ());
    refused(hers, Reason::NotFound);
}

#[tokio::test]
async fn a_compile_without_the_lorebook_is_unavailable() {
    let house = furnished().await;
    *house.lorebook.away.lock().expect("not poisoned") = true;
    refused(house.compile(generation("s", "g")).await, Reason::PeerUnavailable);
}

#[tokio::test]
async fn what_cannot_fit_is_refused_with_both_numbers() {
    let house = furnished().await;
    let request = mesh::CompileRequest { profile_bytes_max: 10, ..generation("s", "g") };
    let status = refused(house.compile(request).await, Reason::TavernProfileTooLarge);
    assert!(status.message().contains("at most 10 are allowed"), "{status}");
}

#[tokio::test]
async fn a_session_that_nobody_gave_a_selection_compiles_with_the_defaults() {
    let house = House::new().await;
    let (_, summary) = house.compile(generation("fresh", "g")).await.expect("compiled");
    assert!(summary.worlds.is_empty());
}

#[tokio::test]
async fn role_play_adds_the_policy_as_its_own_section() {
    let house = House::new().await;
    let rp = pb::RpSelection { active: true, source: "command".to_owned(), ..Default::default() };
    house.session("s", pb::Selection { rp: Some(rp), ..Default::default() }).await;
    let (segments, _) = house.compile(generation("s", "g")).await.expect("compiled");
    let policy = segments.iter().find(|segment| segment.key == "rp:policy").expect("a policy");
    assert_eq!(policy.kind, "rp_policy");
}

#[tokio::test]
async fn the_mesh_does_not_exist_for_others() {
    let house = furnished().await;
    let stranger = wire::mesh::v1::compile_service_client::CompileServiceClient::new(house.link());
    let mut stranger = stranger;
    let answer = stranger.compile(as_user("ada", generation("s", "g"))).await.map(|_| ());
    assert_eq!(answer.expect_err("hidden").code(), tonic::Code::Unimplemented);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sessions_under_load_never_see_each_others_texts() {
    let house = std::sync::Arc::new(House::new().await);
    for number in 0..6 {
        let secret = format!("SECRET-{number}-");
        let preset = PRESET.replace("You write fiction.", &secret);
        let name = format!("{number}.json");
        let preset = house.import_preset("ada", header("", &name), preset.as_bytes()).await;
        let preset_id = preset.expect("imported").preset.expect("a preset").preset_id;
        let selection = pb::Selection { preset_id, ..Default::default() };
        house.session(&format!("s{number}"), selection).await;
    }
    let compiles = (0..120).map(|round| {
        let (house, number) = (house.clone(), round % 6);
        tokio::spawn(async move {
            let request = generation(&format!("s{number}"), &format!("g{round}"));
            let (segments, _) = house.compile(request).await.expect("compiled");
            let texts: String = segments.into_iter().map(|segment| segment.text).collect();
            assert!(texts.contains(&format!("SECRET-{number}-")), "{texts}");
            assert_eq!(texts.matches("SECRET-").count(), 1, "{texts}");
        })
    });
    let mut compiles = stream::iter(compiles).buffer_unordered(24);
    while let Some(compile) = compiles.next().await {
        compile.expect("no foreign text");
    }
}

#[tokio::test]
async fn a_session_keeps_its_first_selection_when_its_world_is_gone() {
    let house = furnished().await;
    house.lorebook.worlds.lock().expect("not poisoned").clear();
    let again = mesh::InitSelectionRequest {
        session_id: "s".to_owned(),
        selection: Some(pb::Selection { world_ids: vec!["w1".to_owned()], ..Default::default() }),
        parent_session_id: String::new(),
    };
    let kept = house.compiler().init_selection(again).await.expect("kept").into_inner();
    assert!(!kept.selection.expect("a selection").preset_id.is_empty());
}
