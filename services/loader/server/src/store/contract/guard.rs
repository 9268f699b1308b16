//! Leases and the running guard: nothing changes for a session that is running.

use kernel::{PresetId, WorldId};
use loader_core::selection::{Part, Selection};

use super::{
    super::{Holder, Kind, Origin},
    LONG_MS, character, furnished, lease, on_each, owner, preset, refused_as_running, session,
    user, worlds,
};

#[tokio::test]
async fn a_compile_reads_everything_and_leaves_a_lease() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        let snapshot = store.begin_compile(&ada, &session("s"), &lease("g1", LONG_MS)).await;
        let snapshot = snapshot.expect("begun");
        assert_eq!(snapshot.selection, selection);
        assert_eq!(snapshot.preset, Some(preset("p", "P")));
        assert_eq!(snapshot.character, Some(character("c", "C")));
        assert_eq!(snapshot.user, Some(user("u")));
        assert_eq!(store.peek(&ada, &session("s")).await.expect("read"), Some(snapshot));
        let fresh = store.begin_compile(&ada, &session("new"), &lease("g2", LONG_MS)).await;
        assert_eq!(fresh.expect("begun").selection, Selection::default());
        let kept = store.selection(&ada, &session("new")).await.expect("read");
        assert!(kept.is_some(), "a fresh session keeps the defaults");
    })
    .await;
}

#[tokio::test]
async fn a_running_session_refuses_a_new_selection() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        store.begin_compile(&ada, &session("s"), &lease("g", LONG_MS)).await.expect("begun");
        let set = |new: Selection| {
            let (store, ada) = (store.clone(), ada.clone());
            async move { store.set_selection(&ada, &session("s"), &new, None, None).await }
        };
        refused_as_running(
            set(Selection { preset: None, ..selection.clone() }).await,
            Part::Preset,
        );
        let no_character = Selection { character: None, ..selection.clone() };
        refused_as_running(set(no_character).await, Part::Character);
        refused_as_running(set(Selection { user: None, ..selection.clone() }).await, Part::User);
        let other_worlds = Selection { worlds: worlds("w2"), ..selection.clone() };
        refused_as_running(set(other_worlds).await, Part::Worlds);
        assert!(set(selection).await.is_ok(), "nothing changes");
    })
    .await;
}

#[tokio::test]
async fn a_resource_of_a_running_session_is_not_deleted() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        store.begin_compile(&ada, &session("s"), &lease("g", LONG_MS)).await.expect("begun");
        for (kind, id, part) in [
            (Kind::Preset, "p", Part::Preset),
            (Kind::Character, "c", Part::Character),
            (Kind::User, "u", Part::User),
        ] {
            refused_as_running(store.delete(&ada, kind, id, None, None).await, part);
        }
        store.add_preset(&ada, &preset("free", "F"), None).await.expect("added");
        assert!(store.delete(&ada, Kind::Preset, "free", None, None).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn bindings_of_a_running_session_are_not_changed() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        store.begin_compile(&ada, &session("s"), &lease("g", LONG_MS)).await.expect("begun");
        for holder in [
            Holder::User(user("u").id),
            Holder::Preset(preset("p", "P").id),
            Holder::Character(character("c", "C").id),
            Holder::Global,
        ] {
            let set = store.set_bindings(&ada, &holder, &worlds("w"), None, None).await;
            refused_as_running(set, Part::Worlds);
            let same = store.set_bindings(&ada, &holder, &worlds(""), None, None).await;
            assert!(same.is_ok(), "nothing changes");
        }
        let bob = owner("bob");
        assert!(store.set_bindings(&bob, &Holder::Global, &worlds("w"), None, None).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn a_lease_ends_when_its_generation_does() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        let session = session("s");
        store.begin_compile(&ada, &session, &lease("old", LONG_MS)).await.expect("begun");
        store.begin_compile(&ada, &session, &lease("new", LONG_MS)).await.expect("replaced");
        store.release(&ada, &session, &lease("old", 0).generation).await.expect("nothing to do");
        refused_as_running(store.delete(&ada, Kind::User, "u", None, None).await, Part::User);
        store.release(&ada, &session, &lease("new", 0).generation).await.expect("released");
        store.release(&ada, &session, &lease("new", 0).generation).await.expect("again");
        assert!(store.delete(&ada, Kind::User, "u", None, None).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn an_expired_lease_guards_nothing() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        store.begin_compile(&ada, &session("s"), &lease("g", -1)).await.expect("begun");
        assert!(store.delete(&ada, Kind::User, "u", None, None).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn a_lease_and_a_guarded_write_never_both_miss_each_other() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        for round in 0..20 {
            let target = format!("t{round}");
            store.add_preset(&ada, &preset(&target, &target), None).await.expect("added");
            let selects = Selection { preset: PresetId::new(&target).ok(), ..Selection::default() };
            let running = session(&format!("r{round}"));
            let origin = Origin::Given(selects);
            store.init_selection(&ada, &running, &origin).await.expect("given");
            let lease = lease("g", LONG_MS);
            let (compiled, deleted) = tokio::join!(
                store.begin_compile(&ada, &running, &lease),
                store.delete(&ada, Kind::Preset, &target, None, None),
            );
            let saw_it = compiled.expect("begun").preset.is_some();
            assert_eq!(saw_it, deleted.is_err(), "round {round}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_lease_and_a_new_selection_take_place_in_exactly_one_order() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        let empty = Selection::default();
        for round in 0..20 {
            let running = session(&format!("r{round}"));
            let origin = Origin::Given(selection.clone());
            store.init_selection(&ada, &running, &origin).await.expect("given");
            let lease = lease("g", LONG_MS);
            let (compiled, set) = tokio::join!(
                store.begin_compile(&ada, &running, &lease),
                store.set_selection(&ada, &running, &empty, None, None),
            );
            let saw_the_old = compiled.expect("begun").selection == selection;
            assert_eq!(saw_the_old, set.is_err(), "round {round}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_world_of_a_running_session_is_not_deleted_however_it_takes_part() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        for (world, holder) in [
            ("by-user", Holder::User(user("u").id)),
            ("by-preset", Holder::Preset(preset("p", "P").id)),
            ("by-character", Holder::Character(character("c", "C").id)),
            ("by-global", Holder::Global),
        ] {
            store.set_bindings(&ada, &holder, &worlds(world), None, None).await.expect("bound");
        }
        store.begin_compile(&ada, &session("s"), &lease("g", LONG_MS)).await.expect("begun");
        for name in ["w1", "by-user", "by-preset", "by-character", "by-global"] {
            let world = WorldId::new(name).expect("an id");
            refused_as_running(store.delete_world(&ada, &world, None).await, Part::Worlds);
        }
        let free = WorldId::new("free").expect("an id");
        assert!(store.delete_world(&ada, &free, None).await.is_ok());
        let other = session("other");
        store.init_selection(&ada, &other, &Origin::Defaults).await.expect("given");
        let mine = WorldId::new("by-user").expect("an id");
        assert!(store.delete_world(&owner("bob"), &mine, None).await.is_ok(), "it is not bob's");
    })
    .await;
}

#[tokio::test]
async fn a_running_session_takes_no_copy_and_its_check_says_so() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        let from = session("from");
        store.init_selection(&ada, &from, &Origin::Defaults).await.expect("given");
        store.begin_compile(&ada, &session("s"), &lease("g", LONG_MS)).await.expect("begun");
        let copied = store.copy_selection(&ada, &from, &session("s"), None, None).await;
        refused_as_running(copied, Part::Preset);
        let none = Selection::default();
        let checked = store.check_selection(&ada, &session("s"), &none, None).await;
        refused_as_running(checked, Part::Preset);
        let away = store.copy_selection(&ada, &session("s"), &from, None, None).await;
        assert!(away.is_ok(), "a running session is copied from");
    })
    .await;
}
