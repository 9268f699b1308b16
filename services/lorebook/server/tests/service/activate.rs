//! What a text activates, as the loader asks for it.

use prost_types::FieldMask;
use tonic::Code;
use wire::{
    common::v1::{Author, Reason},
    lorebook::v1::{Entry, EntryPosition, Layer, UpdateEntryRequest, UpdateWorldRequest, World},
    mesh::v1::{
        ActivateRequest, ActivationMessage, EmbeddedBookHeader, EntryRef, LoreSource,
        LoreSourceKind, MacroContext, RegisterEmbeddedBookRequest,
        register_embedded_book_request::Part,
    },
};

use crate::support::{Fixture, by, create, refused, replace};

fn ask(worlds: &[&str], text: &str) -> ActivateRequest {
    let source =
        |id: &&str| LoreSource { world_id: (*id).to_owned(), kind: LoreSourceKind::Chat.into() };
    ActivateRequest {
        sources: worlds.iter().map(source).collect(),
        messages: vec![ActivationMessage {
            id: "t1".into(),
            author: Author::User.into(),
            text: text.into(),
            ..Default::default()
        }],
        message_count: 1,
        budget_base_tokens: 10_000,
        seed: vec![7; 32],
        macros: Some(MacroContext {
            user: "Ada".into(),
            character: "Mira".into(),
            ..Default::default()
        }),
        ..Default::default()
    }
}

async fn register(skald: &Fixture, subject: &str, bytes: &[u8]) -> (String, Vec<String>) {
    let header = EmbeddedBookHeader {
        character_name: "Mira".into(),
        world_id: format!("copy-of-{subject}"),
    };
    let parts = [Part::Header(header), Part::Chunk(bytes.to_vec())];
    let parts = parts.map(|part| RegisterEmbeddedBookRequest { part: Some(part) });
    let answer = skald.lore(subject).register_embedded_book(futures::stream::iter(parts)).await;
    let answer = answer.expect("answered").into_inner();
    let report = answer.report.expect("a report");
    (answer.world_id, report.findings.into_iter().map(|found| found.code).collect())
}

async fn keys_fire_entries_with_their_place_and_their_reason(skald: &Fixture) {
    let world = skald.imported().await;
    let (entries, summary) =
        skald.activate("ada", ask(&[&world.world_id], "A wolf howls.")).await.expect("activated");
    let told: Vec<_> =
        entries.iter().map(|entry| (entry.name.as_str(), entry.reason.as_str())).collect();
    assert_eq!(told, [("Winter", "constant"), ("Wolves", "key")]);
    let wolves = &entries[1];
    assert_eq!(
        (wolves.content.as_str(), wolves.matched_keys.as_slice()),
        ("Wolves fear Ada.", &["wolf".to_owned()][..])
    );
    assert_eq!(
        (wolves.position(), wolves.depth, wolves.role.as_str()),
        (EntryPosition::AtDepth, 2, "user")
    );
    assert_eq!((wolves.layer(), wolves.source_hash.len()), (Layer::Authored, 32));
    assert_eq!((summary.worlds[0].content_revision, summary.worlds[0].name.as_str()), (1, "North"));
    assert!(summary.timed_state_json.contains("sticky"), "{}", summary.timed_state_json);
}

async fn the_same_request_gives_the_same_answer_and_state_goes_round(skald: &Fixture) {
    let world = skald.imported().await;
    let first = skald.activate("ada", ask(&[&world.world_id], "A wolf.")).await.expect("activated");
    let again = skald.activate("ada", ask(&[&world.world_id], "A wolf.")).await.expect("activated");
    assert_eq!(first, again);
    let next = ActivateRequest {
        message_count: 2,
        timed_state_json: first.1.timed_state_json,
        ..ask(&[&world.world_id], "Nothing.")
    };
    let (entries, _) = skald.activate("ada", next).await.expect("activated");
    let wolves = entries.iter().find(|entry| entry.name == "Wolves").expect("sticks");
    assert_eq!(wolves.reason, "sticky");
}

async fn dynamic_lore_is_in_effect_from_the_next_activation_on(skald: &Fixture) {
    let world = skald.imported().await;
    let castle = skald.entry(&world.world_id, "Castle").await;
    let text = "The castle.";
    skald.activate("ada", ask(&[&world.world_id], text)).await.expect("activated");
    let operations = vec![replace(&castle, "The castle is ash."), create("Ash", "Ash falls.")];
    skald.apply("c1", &world, 1, operations).await.expect("applied");
    let live = EntryRef { world_id: world.world_id.clone(), entry_id: castle.entry_id.clone() };
    let request = ActivateRequest { live: vec![live], ..ask(&[&world.world_id], text) };
    let (entries, summary) = skald.activate("ada", request).await.expect("activated");
    let contents: Vec<&str> = entries.iter().map(|entry| entry.content.as_str()).collect();
    assert!(contents.contains(&"The castle is ash."));
    assert!(!contents.contains(&"The castle stands."));
    let ash = entries.iter().find(|entry| entry.content == "The castle is ash.").expect("fires");
    assert_eq!(ash.layer(), Layer::Dynamic);
    assert_eq!((summary.worlds[0].content_revision, summary.live[0].in_effect), (2, false));
}

async fn unknown_foreign_and_disabled_worlds_are_diagnosed(skald: &Fixture) {
    let world = skald.imported().await;
    let (entries, summary) =
        skald.activate("bob", ask(&[&world.world_id], "A wolf.")).await.expect("answered");
    assert!(entries.is_empty() && summary.worlds.is_empty());
    assert_eq!(summary.diagnostics[0].code, "WORLD_BOOK_NOT_FOUND");
    let off = World { enabled: false, ..world.clone() };
    let update_mask = Some(FieldMask { paths: vec!["enabled".into()] });
    let request = UpdateWorldRequest { world: Some(off), update_mask, request_id: String::new() };
    skald.worlds().update_world(by("ada", request)).await.expect("switched off");
    let (entries, summary) =
        skald.activate("ada", ask(&[&world.world_id], "A wolf.")).await.expect("answered");
    assert!(entries.is_empty());
    assert_eq!(summary.diagnostics[0].code, "WORLD_BOOK_DISABLED");
}

async fn forced_entries_fire_and_skipped_ones_say_why(skald: &Fixture) {
    let world = skald.imported().await;
    let castle = skald.entry(&world.world_id, "Castle").await;
    let request = ActivateRequest {
        forced_entry_ids: vec![castle.entry_id.clone(), "gone".into()],
        explain_skipped: true,
        ..ask(&[&world.world_id], "Nothing.")
    };
    let (entries, summary) = skald.activate("ada", request).await.expect("activated");
    let forced = entries.iter().find(|entry| entry.entry_id == castle.entry_id).expect("forced");
    assert_eq!(forced.reason, "forced");
    assert_eq!((summary.skipped.len(), summary.skipped[0].reason.as_str()), (1, "PRIMARY_MISS"));
    assert!(summary.diagnostics.iter().any(|found| found.code == "LORE_FORCED_UNKNOWN"));

    let off = Entry { enabled: false, ..castle.clone() };
    let request = UpdateEntryRequest {
        world_id: world.world_id.clone(),
        entry: Some(off),
        update_mask: Some(FieldMask { paths: vec!["enabled".into()] }),
        ..Default::default()
    };
    skald.entries().update_entry(by("ada", request)).await.expect("switched off");
    let request = ActivateRequest {
        forced_entry_ids: vec![castle.entry_id],
        explain_skipped: true,
        ..ask(&[&world.world_id], "Nothing.")
    };
    let (entries, summary) = skald.activate("ada", request).await.expect("activated");
    assert_eq!((entries.len(), summary.diagnostics.len()), (1, 0), "it is known, and off");
    assert!(summary.skipped.iter().any(|skipped| skipped.reason == "DISABLED"));
}

async fn an_embedded_book_is_an_immutable_world_under_the_id_that_is_given(skald: &Fixture) {
    let book = br#"{"entries":[{"keys":["elf"],"content":"Elves sing.","enabled":true,"insertion_order":1,"extensions":{}}],"extensions":{}}"#;
    let (id, _) = register(skald, "ada", book).await;
    assert_eq!(id, "copy-of-ada");
    assert_eq!(register(skald, "ada", b"{\"entries\":[]}").await.0, id, "left as it is");
    let (entries, summary) =
        skald.activate("ada", ask(&[&id], "An elf.")).await.expect("activated");
    assert_eq!((entries[0].content.as_str(), summary.worlds[0].embedded), ("Elves sing.", true));
    assert_eq!(summary.worlds[0].name, "Mira");
    let world = World { world_id: id, ..World::default() };
    let refusal = skald.apply("c1", &world, 1, vec![create("a", "b")]).await;
    refused(refusal, Code::FailedPrecondition, Reason::WorldImmutable);
}

async fn a_book_that_cannot_run_has_no_id_and_says_why(skald: &Fixture) {
    let (id, codes) = register(skald, "ada", b"{\"entries\": 7}").await;
    assert_eq!(
        (id.as_str(), codes.as_slice()),
        ("", &["EMBEDDED_WORLD_BOOK_INVALID".to_owned()][..])
    );
}

async fn unusable_state_is_refused_by_its_field(skald: &Fixture) {
    let request = ActivateRequest { timed_state_json: "[".into(), ..ask(&[], "") };
    refused(skald.activate("ada", request).await, Code::InvalidArgument, Reason::FieldInvalid);
    let request = ask(&["a b"], "");
    refused(skald.activate("ada", request).await, Code::InvalidArgument, Reason::FieldInvalid);
}

both! {
    keys_fire_entries_with_their_place_and_their_reason
    the_same_request_gives_the_same_answer_and_state_goes_round
    dynamic_lore_is_in_effect_from_the_next_activation_on
    unknown_foreign_and_disabled_worlds_are_diagnosed
    forced_entries_fire_and_skipped_ones_say_why
    an_embedded_book_is_an_immutable_world_under_the_id_that_is_given
    a_book_that_cannot_run_has_no_id_and_says_why
    unusable_state_is_refused_by_its_field
}
