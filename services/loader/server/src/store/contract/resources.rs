//! Resources: added once for each content and attempt, listed, deleted.

use kernel::Timestamp;
use loader_core::selection::Part;

use super::{
    super::{Added, After, Capacity, CharacterRow, Holder, Kind, Origin, PresetRow, WriteError},
    LONG_MS, add_user, attempt, character, furnished, lease, on_each, on_each_of, owner, preset,
    refused_as_running, session, user, worlds,
};

#[tokio::test]
async fn resources_come_back_as_they_were_put() {
    on_each(|store| async move {
        let ada = owner("ada");
        let (preset, character, user) = (preset("p", "P"), character("c", "C"), user("u"));
        store.add_preset(&ada, &preset, None).await.expect("added");
        store.add_character(&ada, &character, Some(b"png"), None).await.expect("added");
        store.add_users(&ada, std::slice::from_ref(&user), None).await.expect("added");
        assert_eq!(store.preset(&ada, &preset.id).await.expect("read"), Some(preset));
        let found = store.character_by_hash(&ada, &character.hash).await.expect("read");
        assert_eq!(found, Some(character.clone()));
        assert_eq!(store.character(&ada, &character.id).await.expect("read"), Some(character));
        assert_eq!(store.user(&ada, &user.id).await.expect("read"), Some(user));
    })
    .await;
}

#[tokio::test]
async fn another_owner_sees_nothing_of_them() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        let bob = owner("bob");
        let (p, c, u) = (preset("p", "P").id, character("c", "C").id, user("u").id);
        assert_eq!(store.preset(&bob, &p).await.expect("read"), None);
        assert_eq!(store.character(&bob, &c).await.expect("read"), None);
        assert_eq!(store.user(&bob, &u).await.expect("read"), None);
        assert_eq!(store.selection(&bob, &session("s")).await.expect("read"), None);
        assert_eq!(store.peek(&bob, &session("s")).await.expect("read"), None);
        assert!(
            store.list(&bob, Kind::Preset, &After::default(), 9).await.expect("read").is_empty()
        );
        let deleted = store.delete(&bob, Kind::Preset, "p", None, None).await;
        assert!(matches!(deleted, Err(WriteError::NotFound { .. })));
        let bound = store.bindings(&bob, &Holder::Preset(p.clone())).await.expect("read");
        assert_eq!(bound, None);
        let given = Origin::Given(selection);
        let taken = store.init_selection(&bob, &session("t"), &given).await;
        assert!(matches!(taken, Err(WriteError::NotFound { kind: "preset", .. })));
        assert!(store.preset(&ada, &p).await.expect("read").is_some());
    })
    .await;
}

#[tokio::test]
async fn the_same_bytes_are_recognised_per_owner_b20() {
    on_each(|store| async move {
        let (ada, bob) = (owner("ada"), owner("bob"));
        store.add_preset(&ada, &preset("p1", "same"), None).await.expect("added");
        let again = store.add_preset(&ada, &preset("p2", "same"), None).await.expect("known");
        assert_eq!(again.value, Added { row: preset("p1", "same"), already: true });
        let hers = store.add_preset(&bob, &preset("p3", "same"), None).await.expect("added");
        assert!(!hers.value.already);
        store.delete(&ada, Kind::Preset, "p1", None, None).await.expect("deleted");
        let new = store.add_preset(&ada, &preset("p4", "same"), None).await.expect("added");
        assert!(!new.value.already);
    })
    .await;
}

#[tokio::test]
async fn two_characters_of_one_name_are_two_b36() {
    on_each(|store| async move {
        let ada = owner("ada");
        let named = |id, content| CharacterRow { name: "X".to_owned(), ..character(id, content) };
        store.add_character(&ada, &named("c1", "v1"), None, None).await.expect("added");
        store.add_character(&ada, &named("c2", "v2"), None, None).await.expect("added");
        let list = store.list(&ada, Kind::Character, &After::default(), 9).await.expect("read");
        assert_eq!(list.iter().map(|c| c.id.as_str()).collect::<Vec<_>>(), ["c1", "c2"]);
    })
    .await;
}

#[tokio::test]
async fn an_attempt_is_answered_once_and_replayed() {
    on_each(|store| async move {
        let ada = owner("ada");
        let first = attempt(&ada, "r1", "add p");
        let done = store.add_preset(&ada, &preset("p", "P"), Some(&first)).await.expect("added");
        assert!(!done.replayed && store.answered(&first).await.expect("read"));
        let again = store.add_preset(&ada, &preset("other", "P2"), Some(&first)).await;
        let again = again.expect("replayed");
        assert!(again.replayed);
        assert_eq!(again.value.row, preset("p", "P"));
        let reused = attempt(&ada, "r1", "something else");
        let refused = store.add_preset(&ada, &preset("q", "Q"), Some(&reused)).await;
        assert!(matches!(refused, Err(WriteError::RequestIdReused(_))));
        let mine = attempt(&owner("bob"), "r1", "something else");
        assert!(store.add_users(&owner("bob"), &[user("u")], Some(&mine)).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn a_refused_attempt_stores_nothing() {
    on_each(|store| async move {
        let ada = owner("ada");
        let attempt = attempt(&ada, "r1", "delete p");
        let refused = store.delete(&ada, Kind::Preset, "p", None, Some(&attempt)).await;
        assert!(matches!(refused, Err(WriteError::NotFound { kind: "preset", .. })));
        assert!(!store.answered(&attempt).await.expect("read"));
        store.add_preset(&ada, &preset("p", "P"), None).await.expect("added");
        let deleted =
            store.delete(&ada, Kind::Preset, "p", None, Some(&attempt)).await.expect("deleted");
        assert!(!deleted.replayed);
        let again =
            store.delete(&ada, Kind::Preset, "p", None, Some(&attempt)).await.expect("replayed");
        assert_eq!((again.value, again.replayed), (deleted.value, true));
    })
    .await;
}

#[tokio::test]
async fn old_answers_are_forgotten_and_young_ones_kept() {
    on_each(|store| async move {
        let ada = owner("ada");
        let attempt = attempt(&ada, "r1", "add p");
        store.add_preset(&ada, &preset("p", "P"), Some(&attempt)).await.expect("added");
        let answered_at = Timestamp::from_micros(1_000_000);
        assert_eq!(store.forget(answered_at).await.expect("kept"), 0);
        assert_eq!(store.forget(answered_at.plus_ms(1)).await.expect("forgotten"), 1);
        assert!(!store.answered(&attempt).await.expect("read"));
    })
    .await;
}

#[tokio::test]
async fn concurrent_attempts_with_one_id_write_once() {
    on_each(|store| async move {
        let ada = owner("ada");
        let attempt = attempt(&ada, "r1", "add");
        let add = |id| {
            let (store, ada, attempt) = (store.clone(), ada.clone(), attempt.clone());
            async move { store.add_preset(&ada, &preset(id, id), Some(&attempt)).await.expect("done") }
        };
        let (a, b, c) = tokio::join!(add("a"), add("b"), add("c"));
        let winners = [&a, &b, &c].into_iter().filter(|done| !done.replayed).count();
        assert_eq!(winners, 1);
        assert!(a.value.row == b.value.row && b.value.row == c.value.row);
        let list = store.list(&ada, Kind::Preset, &After::default(), 9).await.expect("read");
        assert_eq!(list.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn lists_go_by_name_and_go_on_after_the_last() {
    on_each(|store| async move {
        let ada = owner("ada");
        for id in ["b", "a", "c"] {
            add_user(&store, &ada, id).await;
        }
        let first = store.list(&ada, Kind::User, &After::default(), 2).await.expect("read");
        assert_eq!(first.iter().map(|u| u.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let after = After { name: first[1].name.clone(), id: first[1].id.clone() };
        let second = store.list(&ada, Kind::User, &after, 2).await.expect("read");
        assert_eq!(second.iter().map(|u| u.id.as_str()).collect::<Vec<_>>(), ["c"]);
    })
    .await;
}

#[tokio::test]
async fn a_deleted_resource_leaves_selections_and_bindings() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        let holder = Holder::Character(character("c", "C").id);
        store.set_bindings(&ada, &holder, &worlds("w1 w2"), None, None).await.expect("bound");
        let done = store.delete(&ada, Kind::Character, "c", None, None).await.expect("deleted");
        assert_eq!(done.value, 3, "two bindings and one selection");
        let stored = store.selection(&ada, &session("s")).await.expect("read").expect("there");
        assert_eq!((stored.selection.character, stored.revision), (None, 2));
        assert!(stored.selection.preset.is_some());
        assert_eq!(store.bindings(&ada, &holder).await.expect("read"), None);
    })
    .await;
}

#[tokio::test]
async fn what_goes_beyond_the_capacity_is_refused_and_nothing_makes_room() {
    let capacity = Capacity { resources: 1, selections: 1, templates: 1 };
    on_each_of(capacity, |store| async move {
        let (ada, _) = furnished(&store).await;
        let full =
            |what| move |error| matches!(error, WriteError::Full { what: w, max: 1 } if w == what);
        let preset_too_many = store.add_preset(&ada, &preset("p2", "P2"), None).await;
        assert!(preset_too_many.is_err_and(full("presets")));
        assert!(store.add_preset(&ada, &preset("p2", "P"), None).await.is_ok(), "known bytes");
        let character_too_many =
            store.add_character(&ada, &character("c2", "C2"), None, None).await;
        assert!(character_too_many.is_err_and(full("characters")));
        let user_too_many = store.add_users(&ada, &[user("u"), user("u2")], None).await;
        assert!(user_too_many.is_err_and(full("users")));
        let other = session("other");
        let session_too_many = store.init_selection(&ada, &other, &Origin::Defaults).await;
        assert!(session_too_many.is_err_and(full("selections")));
        let compile = store.begin_compile(&ada, &other, &lease("g", LONG_MS)).await;
        assert!(compile.is_err_and(full("selections")));
        assert!(store.begin_compile(&ada, &session("s"), &lease("g", LONG_MS)).await.is_ok());
        assert!(store.add_preset(&owner("bob"), &preset("p", "P"), None).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn a_file_comes_back_whole_and_an_attempt_that_was_forgotten_finds_its_resource() {
    on_each(|store| async move {
        let ada = owner("ada");
        let card = character("c", "C");
        store.add_character(&ada, &card, Some(b"png"), None).await.expect("added");
        assert_eq!(store.original(&ada, &card.id).await.expect("read"), Some(b"png".to_vec()));
        assert_eq!(store.original(&owner("bob"), &card.id).await.expect("read"), None);
        let same_id = CharacterRow { hash: preset("p", "other").hash, ..card.clone() };
        let known = store.add_character(&ada, &same_id, None, None).await.expect("known");
        assert_eq!(known.value, Added { row: card, already: true });
    })
    .await;
}

#[tokio::test]
async fn an_edit_takes_the_place_of_its_revision_and_names_who_runs() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        store.begin_compile(&ada, &session("s"), &lease("g", LONG_MS)).await.expect("begun");
        let row = preset("p", "edited");
        let rejected = store.edit_preset(&ada, &row, true, None).await;
        refused_as_running(rejected, Part::Preset);
        let edit = attempt(&ada, "r1", "edit p");
        for replayed in [false, true] {
            let done = store.edit_preset(&ada, &row, false, Some(&edit)).await.expect("edited");
            let expected = PresetRow { revision: 2, ..row.clone() };
            assert_eq!((done.value.row, done.replayed), (expected, replayed));
            assert_eq!(done.value.running, [session("s")]);
        }
        let stale = store.edit_preset(&ada, &row, false, None).await;
        assert!(matches!(stale, Err(WriteError::EtagMismatch { .. })));
        let card = CharacterRow { embedded_world: None, ..character("c", "edited") };
        store.edit_character(&ada, &card, false, None).await.expect("edited");
        let read = store.character(&ada, &card.id).await.expect("read");
        assert_eq!(read, Some(CharacterRow { revision: 2, ..card.clone() }));
        let original = store.original(&ada, &card.id).await.expect("read");
        assert_eq!(original, Some(b"png".to_vec()), "the file that it came in stays");
        store.edit_user(&ada, &user("u"), false, None).await.expect("edited");
        assert_eq!(
            store.user(&ada, &user("u").id).await.expect("read").expect("there").revision,
            2
        );
        let hers = store.edit_user(&owner("bob"), &user("u"), false, None).await;
        assert!(matches!(hers, Err(WriteError::NotFound { kind: "user", .. })));
    })
    .await;
}

#[tokio::test]
async fn what_was_edited_is_not_what_was_imported_any_more() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        store.edit_preset(&ada, &preset("p", "Q"), false, None).await.expect("edited");
        let anew = store.add_preset(&ada, &preset("p2", "P"), None).await.expect("added");
        assert!(!anew.value.already);
        let twin = store.add_preset(&ada, &preset("p3", "Q"), None).await.expect("added");
        assert!(!twin.value.already, "an edit is no import, whatever it became");
    })
    .await;
}
