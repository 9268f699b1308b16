//! Worlds and cards' books: one matcher, one order, one budget, and each its own file.

use std::slice;

use serde_json::{Value, json};
use tests::{cards::world_of, prelude::*};

use super::{Bench, body, book_entry, card, effective, on_each, preset};
use common::ProfileMode;
use lorebook::WorldView;

on_each! {
    worlds_are_made_read_changed_and_exported_and_a_session_has_as_many_as_it_likes
    a_deleted_world_leaves_every_selection_and_no_card
    a_card_without_a_book_is_given_one
    the_book_of_a_deleted_card_leaves_the_lorebook
}

fn codes(sent: &Sent) -> Vec<&str> {
    sent.record.diagnostics.iter().map(|said| said.code.as_str()).collect()
}

/// Seed 001, acceptance line 9: "a card's embedded character_book uses the shared parser and matcher; what fires enters
/// the same profile". Checklist, world books 3: "the same matcher, not made twice".
#[tokio::test]
async fn a_cards_book_fires_as_a_world_does() {
    let bench = Bench::near().await;
    let pattern = "/l[ae]nterns?/i";
    for (key, message, fires) in [
        ("lamp", "the lamp is lit", true),
        ("lamp", "he lampoons her", false),
        ("LAMP", "the lamp is lit", true),
        (pattern, "two Lanterns", true),
        (pattern, "two lamps", false),
        ("龙", "远处有一条红龙。", true),
    ] {
        let book = json!({ "entries": [book_entry(key, "FROM-THE-BOOK", 100)], "extensions": {} });
        let character = bench.card(&card("Mira", json!({ "character_book": book }))).await;
        let selection = loader::Selection {
            preset_id: bench.preset("P", &preset(&[("main", "M"), ("worldInfoBefore", "")])).await,
            character_id: character.character_id,
            world_ids: vec![bench.lore(&[(key, "FROM-THE-WORLD")]).await],
            ..Default::default()
        };
        let session = bench.session(Some(selection)).await;
        let sent = bench.say(&session, message).await;
        for text in ["FROM-THE-BOOK", "FROM-THE-WORLD"] {
            assert_eq!(body(&sent).contains(text), fires, "{key} in {message}: {text}");
        }
    }
}

async fn export(bench: &Bench, world: &str) -> Value {
    let request = lorebook::ExportWorldRequest { world_id: world.to_owned(), ..Default::default() };
    let answer = bench.clients.worlds.clone().export_world(request).await;
    let (mut parts, mut file) = (answer.expect("exported").into_inner(), Vec::new());
    while let Some(part) = parts.message().await.expect("a part") {
        file.extend(part.chunk);
    }
    serde_json::from_slice(&file).expect("JSON")
}

/// Seed 001, acceptance line 10: "independent world books have a store, CRUD and an export; each session's zero, one or
/// many are written into its selection".
async fn worlds_are_made_read_changed_and_exported_and_a_session_has_as_many_as_it_likes(
    bench: &Bench,
) {
    let (one, two) = (bench.lore(&[("", "ONE")]).await, bench.lore(&[("", "TWO")]).await);
    let mut entry = bench.clients.entries(&one, WorldView::Authored).await.expect("read").remove(0);
    entry.content = "ONE, changed.".to_owned();
    let request = lorebook::UpdateEntryRequest {
        world_id: one.clone(),
        entry: Some(entry),
        update_mask: Some(prost_types::FieldMask { paths: vec!["content".to_owned()] }),
        ..Default::default()
    };
    bench.entries().update_entry(request).await.expect("changed");
    let file = export(bench, &one).await;
    assert_eq!(file["entries"]["0"]["content"], "ONE, changed.");
    assert_eq!(bench.clients.world(&two).await.expect("read").entry_count, 1);

    let session = bench.session(Some(loader::Selection::default())).await;
    for (worlds, expected) in [
        (vec![], [false, false]),
        (vec![&one], [true, false]),
        (vec![&two, &one], [true, true]),
        (vec![&two], [false, true]),
        (vec![], [false, false]),
    ] {
        let world_ids = worlds.iter().map(|world| (*world).clone()).collect();
        let selection = loader::Selection { world_ids, ..Default::default() };
        bench.select(&session, selection).await.expect("set");
        let names = worlds.iter().map(|world| ((*world).clone(), "session".to_owned()));
        assert_eq!(effective(&bench.selection(&session).await), names.collect::<Vec<_>>());
        let sent = bench.say(&session, "Well?").await;
        let last = super::profile(&sent);
        assert_eq!([last.contains("ONE, changed."), last.contains("TWO")], expected);
    }
}

/// Seed 001, acceptance line 11: "selected books and the card's own go through one adapter: the same parser, matcher, order,
/// probability and budget, and then into one profile".
#[tokio::test]
async fn order_chance_and_budget_are_the_same_for_worlds_and_books() {
    let bench = Bench::near().await;
    let never = |mut entry: Value| {
        entry["extensions"] = json!({ "probability": 0, "useProbability": true });
        entry
    };
    let entries = [
        book_entry("bell", "Second: from the card's own book, of some length.", 150),
        never(book_entry("bell", "NEVER from the book", 400)),
    ];
    let book = json!({ "entries": entries, "extensions": {} });
    let character = bench.card(&card("Mira", json!({ "character_book": book }))).await;
    let mut world = world_of(&[
        ("bell", "First: from a world of the character, of some length."),
        ("bell", "Third: from a world of the character, of some length."),
        ("bell", "NEVER from the world"),
    ]);
    for (uid, order) in [("0", 100), ("1", 200), ("2", 300)] {
        world["entries"][uid]["order"] = json!(order);
    }
    world["entries"]["2"]["probability"] = json!(0);
    world["entries"]["2"]["useProbability"] = json!(true);
    let world = bench.book(&world).await;
    bench
        .bind(loader::BindingOwner::Character, &character.character_id, &[&world])
        .await
        .expect("bound");
    let of_cap = |cap| {
        let activation = loader::ActivationSettings { budget_cap: Some(cap), ..Default::default() };
        loader::SelectionOptions { activation: Some(activation), ..Default::default() }
    };
    // By CONTRACT the books come one after another, each by rank; in the chat, as in SillyTavern, all entries are
    // ranked together, and the strongest is the last text.
    for (mode, cap, expected) in [
        (ProfileMode::Contract, 0, &["Third", "First", "Second"][..]),
        (ProfileMode::InChat, 0, &["First", "Second", "Third"][..]),
        (ProfileMode::Contract, 30, &["Third", "First"][..]),
        (ProfileMode::InChat, 30, &["Second", "Third"][..]),
        (ProfileMode::Contract, 16, &["Third"][..]),
        (ProfileMode::InChat, 16, &["Third"][..]),
    ] {
        let selection = loader::Selection {
            preset_id: bench.preset("P", &preset(&[("main", "M"), ("worldInfoBefore", "")])).await,
            character_id: character.character_id.clone(),
            options: Some(of_cap(cap)),
            ..Default::default()
        };
        let session = bench.session_in(mode, Some(selection)).await;
        let sent = bench.say(&session, "the bell").await;
        let text = sent.text();
        let mut at: Vec<_> = ["First", "Second", "Third"]
            .into_iter()
            .filter_map(|name| Some((text.find(&format!("{name}: from"))?, name)))
            .collect();
        at.sort_unstable();
        let order: Vec<_> = at.into_iter().map(|(_, name)| name).collect();
        assert_eq!(order, expected, "{mode:?}, cap {cap}: {text}");
        assert!(!text.contains("NEVER"), "{text}");
        assert_eq!(codes(&sent).contains(&"LORE_BUDGET_EXCEEDED"), cap > 0, "{:?}", codes(&sent));
    }
}

/// Seed 001, acceptance line 12: "deleting an independent book clears its dangling id from every session, and neither
/// reads, changes nor unbinds a card and its embedded book".
async fn a_deleted_world_leaves_every_selection_and_no_card(bench: &Bench) {
    let (gone, kept) = (bench.lore(&[("", "GONE")]).await, bench.lore(&[("", "KEPT")]).await);
    let book = json!({ "entries": [book_entry("bell", "BOOK", 100)], "extensions": {} });
    let file = card("Mira", json!({ "character_book": book }));
    let character = bench.card(&file).await;
    let selection = loader::Selection {
        character_id: character.character_id.clone(),
        world_ids: vec![gone.clone(), kept.clone()],
        ..Default::default()
    };
    let sessions =
        [bench.session(Some(selection.clone())).await, bench.session(Some(selection)).await];
    bench
        .bind(loader::BindingOwner::Character, &character.character_id, &[&gone])
        .await
        .expect("bound");
    let deleted = bench.delete_world(&gone).await.expect("deleted");
    assert_eq!((deleted.cleared, deleted.pending), (3, false), "two selections and a binding");
    for session in &sessions {
        let read = bench.selection(session).await;
        let selection = read.selection.clone().expect("one");
        assert_eq!(selection.world_ids, slice::from_ref(&kept));
        assert_eq!(selection.character_id, character.character_id);
        let expected = [
            (kept.clone(), "session".to_owned()),
            (character.embedded_world_id.clone(), "embedded".to_owned()),
        ];
        assert_eq!(effective(&read), expected);
        let sent = bench.say(session, "the bell").await;
        assert_eq!(["GONE", "KEPT", "BOOK"].map(|text| sent.contains(text)), [false, true, true]);
        assert!(!codes(&sent).contains(&"WORLD_BOOK_NOT_FOUND"), "{:?}", codes(&sent));
    }
    let same = bench.clients.character(&character.character_id).await.expect("read");
    assert_eq!(same, character);
    assert_eq!(bench.exported(&character.character_id).await, file.to_string().into_bytes());
}

/// Gives a card a book, as its editor does.
async fn put_book(bench: &Bench, character: &str, book: &Value) -> loader::Character {
    use loader::update_character_book_request::Part;
    let header = loader::BookHeader { character_id: character.to_owned(), ..Default::default() };
    let parts = [Part::Header(header), Part::Chunk(book.to_string().into_bytes())];
    let parts = parts.map(|part| loader::UpdateCharacterBookRequest { part: Some(part) });
    let stream = futures::stream::iter(parts);
    let done = bench.clients.characters.clone().update_character_book(stream).await;
    done.expect("edited").into_inner().character.expect("a character")
}

/// Seed 001, acceptance line 17: "a bound card without a character_book is given an empty embedded one, which is then
/// edited; relations and the embedded book keep each their own export".
async fn a_card_without_a_book_is_given_one(bench: &Bench) {
    let character = bench.card(&card("Mira", json!({ "description": "D" }))).await.character_id;
    let world = bench.lore(&[("", "WORLD")]).await;
    bench.bind(loader::BindingOwner::Character, &character, &[&world]).await.expect("bound");
    let selection = loader::Selection { character_id: character.clone(), ..Default::default() };
    let session = bench.session(Some(selection)).await;
    let sources = |read: &loader::GetSelectionResponse| {
        effective(read).into_iter().map(|(_, sources)| sources).collect::<Vec<_>>()
    };
    assert_eq!(sources(&bench.selection(&session).await), ["character"]);

    let empty = put_book(bench, &character, &json!({ "entries": [], "extensions": {} })).await;
    assert!(!empty.embedded_world_id.is_empty());
    assert_eq!(sources(&bench.selection(&session).await), ["character", "embedded"]);
    let book = json!({ "entries": [book_entry("bell", "BOOK", 100)], "extensions": {} });
    put_book(bench, &character, &book).await;
    let sent = bench.say(&session, "the bell").await;
    assert!(sent.contains("WORLD") && sent.contains("BOOK"), "{}", sent.text());

    let file: Value =
        serde_json::from_slice(&bench.exported(&character).await).expect("a card is JSON");
    assert_eq!(file["data"]["character_book"]["entries"][0]["content"], "BOOK");
    assert!(!file.to_string().contains("WORLD"), "a relation is not in the card");
    let file = export(bench, &world).await.to_string();
    assert!(file.contains("WORLD") && !file.contains("BOOK"), "{file}");
}

/// Seed 001, "Session policy" ("deleting a resource clears what dangles"), for what a card leaves in the lorebook: the
/// running copy of its book goes with the last card of it.
async fn the_book_of_a_deleted_card_leaves_the_lorebook(bench: &Bench) {
    let book = json!({ "entries": [book_entry("bell", "BOOK", 100)], "extensions": {} });
    let of = |name| card(name, json!({ "character_book": book }));
    let (mira, twin) = (bench.card(&of("Mira")).await, bench.card(&of("Twin")).await);
    let copy = &mira.embedded_world_id;
    assert_eq!(*copy, twin.embedded_world_id, "one book, one copy");
    let delete = async |card: &loader::Character| {
        let character_id = card.character_id.clone();
        let request = loader::DeleteCharacterRequest { character_id, ..Default::default() };
        bench.clients.characters.clone().delete_character(request).await.expect("deleted");
    };
    delete(&mira).await;
    let selection =
        loader::Selection { character_id: twin.character_id.clone(), ..Default::default() };
    let session = bench.session(Some(selection)).await;
    assert!(bench.say(&session, "the bell").await.contains("BOOK"), "the twin keeps it");
    delete(&twin).await;
    eventually("the copy to be gone", || async {
        let read = bench.clients.world(copy).await;
        read.err().filter(|status| status.code() == Code::NotFound)
    })
    .await;
}
