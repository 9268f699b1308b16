//! Users, and the worlds that users, presets and characters hold.

use std::slice;

use serde_json::{Value, json};
use tests::prelude::*;

use super::{Bench, body, book_entry, card, echoing, effective, on_each, persona, preset, prompt};
use common::Reason;
use loader::BindingOwner;

on_each! {
    the_worlds_of_a_user_come_behind_the_sessions_own_and_each_once
    the_worlds_of_a_user_are_bounded_and_leave_with_the_user_or_the_world
    worlds_come_from_session_user_preset_character_and_the_card_in_this_order
}

/// Seed 001, acceptance line 13: "users: CRUD, one binding per session, {{user}} and {{persona}}, the personaDescription
/// marker, and the diagnosed fallback". Checklist, users 4: "marker, macro, fallback and one description are the
/// compile's alone".
#[tokio::test]
async fn a_user_is_placed_once_by_marker_macro_or_fallback() {
    let bench = Bench::near().await;
    let user_id = bench.user("Bob", "{{user}} is tall.").await;
    let persona_of = |text: &str| persona(text);
    let said = |sent: &Sent| {
        sent.record.diagnostics.iter().any(|said| said.code == "MARKER_ABSENT_FALLBACK")
    };
    for (prompts, expected, fallback) in [
        (
            &[("main", "Talk to {{user}}."), ("personaDescription", "")][..],
            [prompt("main", "Talk to Bob."), persona_of("Bob is tall.")],
            false,
        ),
        (
            &[("main", "I: {{persona}}"), ("personaDescription", ""), ("last", "L")][..],
            [prompt("main", "I: Bob is tall."), prompt("last", "L")],
            false,
        ),
        (&[("main", "M")][..], [prompt("main", "M"), persona_of("Bob is tall.")], true),
    ] {
        let selection = loader::Selection {
            preset_id: bench.preset("P", &preset(prompts)).await,
            user_id: user_id.clone(),
            ..Default::default()
        };
        let session = bench.session(Some(selection)).await;
        let sent = bench.say(&session, "Well?").await;
        assert_eq!(body(&sent), expected.join("\n\n"));
        assert_eq!(said(&sent), fallback, "{:?}", sent.record.diagnostics);
        assert_eq!(sent.text().matches("is tall.").count(), 1, "one description");
    }
}

/// Seed 001, acceptance line 13: "users: CRUD"; checklist, users 1: "a user is strictly id, name and description; pictures
/// and unknown fields are refused".
#[tokio::test]
async fn a_user_is_a_name_and_a_description_and_nothing_else() {
    let bench = Bench::near().await;
    let users = || bench.clients.users.clone();
    let user_id = bench.user("Bob", "tall").await;
    let get = || loader::GetUserRequest { user_id: user_id.clone() };
    let read = users().get_user(get()).await.expect("read").into_inner().user.expect("a user");
    assert_eq!((read.name.as_str(), read.description.as_str()), ("Bob", "tall"));
    let update = loader::UpdateUserRequest {
        user: Some(loader::User { description: "short".to_owned(), ..read.clone() }),
        update_mask: Some(prost_types::FieldMask { paths: vec!["description".to_owned()] }),
        ..Default::default()
    };
    users().update_user(update.clone()).await.expect("edited");
    let stale = users().update_user(update).await.refused();
    assert_eq!(reason(&stale), (Code::Aborted, Reason::EtagMismatch));
    let avatar = loader::UpdateUserRequest {
        user: Some(read),
        update_mask: Some(prost_types::FieldMask { paths: vec!["avatar".to_owned()] }),
        ..Default::default()
    };
    let avatar = users().update_user(avatar).await.refused();
    assert_eq!(reason(&avatar), (Code::InvalidArgument, Reason::FieldInvalid));

    let request = loader::ExportUserRequest { user_id: user_id.clone() };
    let mut parts = users().export_user(request).await.expect("exported").into_inner();
    let mut file = Vec::new();
    while let Some(part) = parts.message().await.expect("a part") {
        file.extend(part.chunk);
    }
    let file: Value = serde_json::from_slice(&file).expect("JSON");
    assert_eq!(file, json!({ "id": user_id, "name": "Bob", "description": "short" }));
    users()
        .delete_user(loader::DeleteUserRequest { user_id: user_id.clone(), ..Default::default() })
        .await
        .expect("deleted");
    assert_eq!(users().get_user(get()).await.refused().code(), Code::NotFound);
}

/// Seed 001, checklist, users 5: "two sessions, instant switch, restart, unbinding, clean-up on deletion, and one copy in
/// the final profile"; users 2: "the session selection's user is the only binding".
#[tokio::test]
async fn a_session_has_one_user_who_is_switched_at_once_and_leaves_when_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::of(echoing().in_folder(folder.path()).near().await);
    let (bob, eve) = (bench.user("Bob", "BOB").await, bench.user("Eve", "EVE").await);
    let preset_id =
        bench.preset("P", &preset(&[("main", "{{user}}!"), ("personaDescription", "")])).await;
    let of = |user_id: &str| loader::Selection {
        preset_id: preset_id.clone(),
        user_id: user_id.to_owned(),
        ..Default::default()
    };
    let sessions = [bench.session(Some(of(&bob))).await, bench.session(Some(of(&eve))).await];
    let placed = |sent: &Sent| ["BOB", "EVE"].map(|text| body(sent).matches(text).count());
    assert_eq!(placed(&bench.say(&sessions[0], "a").await), [1, 0]);
    assert_eq!(placed(&bench.say(&sessions[1], "a").await), [0, 1]);
    bench.select(&sessions[0], of(&eve)).await.expect("switched");
    let sent = bench.say(&sessions[0], "b").await;
    assert_eq!(placed(&sent), [0, 1], "the next request has her");
    assert!(body(&sent).contains("Eve!"));
    let Bench { world, clients, links } = bench;
    drop((clients, links));
    world.end().await;

    let bench = Bench::of(echoing().in_folder(folder.path()).near().await);
    assert_eq!(placed(&bench.say(&sessions[0], "c").await), [0, 1], "after a restart, too");
    bench.select(&sessions[0], of("")).await.expect("unbound");
    let sent = bench.say(&sessions[0], "d").await;
    assert_eq!(placed(&sent), [0, 0]);
    assert!(body(&sent).contains("User!"), "{}", body(&sent));
    let delete = loader::DeleteUserRequest { user_id: eve.clone(), ..Default::default() };
    let deleted = bench.clients.users.clone().delete_user(delete).await.expect("deleted");
    assert_eq!(deleted.into_inner().cleared, 1);
    assert_eq!(bench.selection(&sessions[1]).await.selection.expect("one").user_id, "");
    let sent = bench.say(&sessions[1], "e").await;
    assert_eq!(placed(&sent), [0, 0]);
    assert!(!sent.record.diagnostics.iter().any(|said| said.code == "USER_NOT_FOUND"));
}

/// Seed 001, acceptance line 14: "a user holds zero or more worlds; the loader composes in a stable order, session first,
/// then user, each once; the active view shows what is really in effect".
async fn the_worlds_of_a_user_come_behind_the_sessions_own_and_each_once(bench: &Bench) {
    let worlds = [
        bench.lore(&[("", "ONE")]).await,
        bench.lore(&[("", "TWO")]).await,
        bench.lore(&[("", "THREE")]).await,
    ];
    let [one, two, three] = &worlds;
    let user = bench.user("Bob", "U").await;
    let selection = loader::Selection {
        user_id: user.clone(),
        world_ids: vec![two.clone(), one.clone()],
        ..Default::default()
    };
    let session = bench.session(Some(selection)).await;
    let named = |world: &String, sources: &str| (world.clone(), sources.to_owned());
    let own = [named(two, "session"), named(one, "session")];
    assert_eq!(effective(&bench.selection(&session).await), own);
    bench.bind(BindingOwner::User, &user, &[three, one, three]).await.expect("bound");
    assert_eq!(bench.bound(BindingOwner::User, &user).await, [three.clone(), one.clone()]);
    let all = [named(two, "session"), named(one, "session+user"), named(three, "user")];
    assert_eq!(effective(&bench.selection(&session).await), all);
    let sent = bench.say(&session, "Well?").await;
    let audit: Value = serde_json::from_str(&sent.record.audit_json).expect("JSON");
    let audited: Vec<_> =
        audit["worlds"].as_array().expect("worlds").iter().map(|w| &w["id"]).collect();
    assert_eq!(audited, [two, one, three], "the request's record says the same");
    for text in ["ONE", "TWO", "THREE"] {
        assert_eq!(sent.text().matches(text).count(), 1, "{text}: {}", sent.text());
    }
    bench.bind(BindingOwner::User, &user, &[]).await.expect("unbound");
    assert_eq!(effective(&bench.selection(&session).await), own);
    assert!(!bench.say(&session, "And now?").await.record.audit_json.contains(three.as_str()));
}

/// Seed 001, acceptance line 15: "a user's relations are kept by themselves, atomically, within limits …; deleting a user or
/// a world clears what belongs to it, and neither another user's nor a session's own choice".
async fn the_worlds_of_a_user_are_bounded_and_leave_with_the_user_or_the_world(bench: &Bench) {
    let (gone, kept) = (bench.lore(&[("", "GONE")]).await, bench.lore(&[("", "KEPT")]).await);
    let (bob, eve) = (bench.user("Bob", "U").await, bench.user("Eve", "U").await);
    for user in [&bob, &eve] {
        bench.bind(BindingOwner::User, user, &[&gone, &kept]).await.expect("bound");
    }
    let many: Vec<String> = (0..101).map(|at| format!("world-{at}")).collect();
    let many: Vec<&String> = many.iter().collect();
    let refused = bench.bind(BindingOwner::User, &bob, &many).await.refused();
    assert_eq!(reason(&refused), (Code::ResourceExhausted, Reason::LimitExceeded));
    let refused = bench.bind(BindingOwner::User, &bob, &[&kept, &"nowhere".to_owned()]).await;
    assert_eq!(refused.refused().code(), Code::NotFound);
    assert_eq!(bench.bound(BindingOwner::User, &bob).await, [gone.clone(), kept.clone()], "whole");

    let selection = loader::Selection {
        user_id: bob.clone(),
        world_ids: vec![kept.clone()],
        ..Default::default()
    };
    let session = bench.session(Some(selection)).await;
    let deleted = bench.delete_world(&gone).await.expect("deleted");
    assert_eq!(deleted.cleared, 2, "from both users");
    for user in [&bob, &eve] {
        assert_eq!(bench.bound(BindingOwner::User, user).await, slice::from_ref(&kept));
    }
    let delete = loader::DeleteUserRequest { user_id: bob.clone(), ..Default::default() };
    let deleted = bench.clients.users.clone().delete_user(delete).await.expect("deleted");
    assert_eq!(deleted.into_inner().cleared, 2, "a binding and a selection");
    let owner_id = bob.clone();
    let gone = loader::GetBindingsRequest { owner: BindingOwner::User.into(), owner_id };
    let gone = bench.clients.selections.clone().get_bindings(gone).await;
    assert_eq!(gone.refused().code(), Code::NotFound);
    let hers = bench.bound(BindingOwner::User, &eve).await;
    assert_eq!(hers, slice::from_ref(&kept), "another user's");
    let expected = [(kept, "session".to_owned())];
    assert_eq!(effective(&bench.selection(&session).await), expected, "the session's own choice");
}

/// Seed 001, acceptance line 16: "preset and character hold zero or more worlds; the relation does not soil the original;
/// the order is session, user, preset, character, the character's embedded book, each once".
async fn worlds_come_from_session_user_preset_character_and_the_card_in_this_order(bench: &Bench) {
    let book = json!({ "entries": [book_entry("bell", "BOOK", 100)], "extensions": {} });
    let file = card("Mira", json!({ "character_book": book }));
    let character = bench.card(&file).await;
    let document = preset(&[("main", "M")]);
    let preset_id = bench.preset("P", &document).await;
    let user_id = bench.user("Bob", "U").await;
    let mut worlds = Vec::new();
    for text in ["OF-SESSION", "OF-USER", "OF-PRESET", "OF-CHARACTER", "OF-ALL", "SHARED"] {
        worlds.push(bench.lore(&[("", text)]).await);
    }
    let [of_session, of_user, of_preset, of_character, of_all, shared] = &worlds[..] else {
        panic!("six worlds")
    };
    for (owner, id, world) in [
        (BindingOwner::Global, "", of_all),
        (BindingOwner::Character, character.character_id.as_str(), of_character),
        (BindingOwner::Preset, &preset_id, of_preset),
        (BindingOwner::User, &user_id, of_user),
    ] {
        bench.bind(owner, id, &[world, shared]).await.expect("bound");
    }
    let selection = loader::Selection {
        preset_id: preset_id.clone(),
        character_id: character.character_id.clone(),
        user_id,
        world_ids: vec![of_session.clone()],
        ..Default::default()
    };
    let session = bench.session(Some(selection)).await;
    let named = |world: &str, sources: &str| (world.to_owned(), sources.to_owned());
    let expected = [
        named(of_session, "session"),
        named(of_user, "user"),
        named(shared, "user+preset+character+global"),
        named(of_preset, "preset"),
        named(of_character, "character"),
        named(of_all, "global"),
        named(&character.embedded_world_id, "embedded"),
    ];
    assert_eq!(effective(&bench.selection(&session).await), expected);
    let sent = bench.say(&session, "the bell").await;
    assert_eq!(sent.text().matches("SHARED").count(), 1, "{}", sent.text());
    for text in ["OF-SESSION", "OF-USER", "OF-PRESET", "OF-CHARACTER", "OF-ALL", "BOOK"] {
        assert!(sent.contains(text), "{text}: {}", sent.text());
    }
    assert_eq!(bench.exported(&character.character_id).await, file.to_string().into_bytes());
    let request = loader::ExportPresetRequest { preset_id };
    let answer = bench.clients.presets.clone().export_preset(request).await;
    let (mut parts, mut bytes) = (answer.expect("exported").into_inner(), Vec::new());
    while let Some(part) = parts.message().await.expect("a part") {
        bytes.extend(part.chunk);
    }
    assert_eq!(bytes, document.to_string().into_bytes());
}
