//! What an owner says for all sessions, templates, and worlds that go.

use kernel::{PresetId, TemplateId, Timestamp, UserId, WorldId};
use loader_core::selection::{Rp, Selection};

use super::{
    super::{After, Capacity, Holder, Kind, Origin, TemplateRow, WriteError},
    LONG_MS, attempt, furnished, lease, on_each, on_each_of, owner, session, user, worlds,
};

fn world(name: &str) -> WorldId {
    WorldId::new(name).expect("an id")
}

fn template(id: &str, selection: &Selection) -> TemplateRow {
    TemplateRow {
        id: TemplateId::new(id).expect("an id"),
        name: format!("template {id}"),
        selection: selection.clone(),
        created_at: Timestamp::from_micros(7),
    }
}

#[tokio::test]
async fn a_fresh_session_takes_the_defaults_and_keeps_them() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        let none = store.defaults(&ada).await.expect("read");
        assert_eq!(none.selection, Selection::default());
        let set = store.set_defaults(&ada, &selection, Some(&none.etag), None).await.expect("set");
        assert_eq!(store.defaults(&ada).await.expect("read"), set.value);
        let stale = store.set_defaults(&ada, &selection, Some(&none.etag), None).await;
        assert!(matches!(stale, Err(WriteError::EtagMismatch { .. })));
        let (given, compiled) = (session("given"), session("compiled"));
        let first = store.init_selection(&ada, &given, &Origin::Defaults).await.expect("given");
        let lease = lease("g", LONG_MS);
        let begun = store.begin_compile(&ada, &compiled, &lease).await.expect("begun");
        assert_eq!((&first, &begun.selection), (&selection, &selection));
        let empty = Selection::default();
        store.set_defaults(&ada, &empty, None, None).await.expect("set");
        let kept = store.selection(&ada, &compiled).await.expect("read").expect("there");
        assert_eq!(kept.selection, selection);
        let gone = Selection { preset: PresetId::new("gone").ok(), ..empty };
        let gone = store.set_defaults(&ada, &gone, None, None).await;
        assert!(matches!(gone, Err(WriteError::NotFound { kind: "preset", .. })));
        assert_eq!(
            store.defaults(&owner("bob")).await.expect("read").selection,
            Selection::default()
        );
    })
    .await;
}

#[tokio::test]
async fn what_is_deleted_leaves_the_defaults_and_stays_in_templates() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        store.set_defaults(&ada, &selection, None, None).await.expect("set");
        store.add_template(&ada, &template("t", &selection), None).await.expect("added");
        let done = store.delete(&ada, Kind::User, "u", None, None).await.expect("deleted");
        assert_eq!(done.value, 2, "one selection and the defaults");
        let done = store.delete_world(&ada, &world("w1"), None).await.expect("deleted");
        assert_eq!(done.value, 2, "one selection and the defaults");
        let defaults = store.defaults(&ada).await.expect("read").selection;
        assert_eq!((defaults.user, defaults.worlds.as_slice()), (None, &[][..]));
        let kept = store.template(&ada, &template("t", &selection).id).await.expect("read");
        assert_eq!(kept.expect("there").selection, selection);
    })
    .await;
}

#[tokio::test]
async fn the_policy_is_set_under_its_etag_and_names_who_runs_in_role_play() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        let shipped = store.rp_policy(&ada).await.expect("read");
        assert_eq!(shipped.text, None);
        let etag = Some(shipped.etag.as_str());
        let quiet = store.set_rp_policy(&ada, Some(""), etag, None).await.expect("set");
        assert!(quiet.value.is_empty());
        let stale = store.set_rp_policy(&ada, Some("x"), etag, None).await;
        assert!(matches!(stale, Err(WriteError::EtagMismatch { .. })));
        let acting = session("acting");
        let rp = Rp { active: true, ..Rp::default() };
        let origin = Origin::Given(Selection { rp, ..Selection::default() });
        store.init_selection(&ada, &acting, &origin).await.expect("given");
        for running in [&acting, &session("s")] {
            store.begin_compile(&ada, running, &lease("g", LONG_MS)).await.expect("begun");
        }
        let attempt = attempt(&ada, "r1", "policy");
        for replayed in [false, true] {
            let set = store.set_rp_policy(&ada, Some("Stay."), None, Some(&attempt)).await;
            let set = set.expect("set");
            assert_eq!((set.value, set.replayed), (vec![acting.clone()], replayed));
        }
        let begun = store.peek(&ada, &acting).await.expect("read").expect("there");
        assert_eq!(begun.rp_policy.as_deref(), Some("Stay."));
        store.set_rp_policy(&ada, None, None, None).await.expect("set");
        assert_eq!(store.rp_policy(&ada).await.expect("read"), shipped);
    })
    .await;
}

#[tokio::test]
async fn templates_come_back_go_by_name_and_leave() {
    let capacity = Capacity { templates: 2, ..Capacity::default() };
    on_each_of(capacity, |store| async move {
        let (ada, selection) = furnished(&store).await;
        let (a, b) = (template("a", &selection), template("b", &Selection::default()));
        let first = attempt(&ada, "r1", "add a");
        for replayed in [false, true] {
            let added = store.add_template(&ada, &a, Some(&first)).await.expect("added");
            assert_eq!((added.value, added.replayed), (a.clone(), replayed));
        }
        store.add_template(&ada, &b, None).await.expect("added");
        let full = store.add_template(&ada, &template("c", &selection), None).await;
        assert!(matches!(full, Err(WriteError::Full { what: "templates", max: 2 })));
        let all = store.templates(&ada, &After::default(), 9).await.expect("read");
        assert_eq!(all, [a.clone(), b.clone()]);
        let after = After { name: a.name.clone(), id: a.id.to_string() };
        assert_eq!(store.templates(&ada, &after, 9).await.expect("read"), [b]);
        assert!(
            store.templates(&owner("bob"), &After::default(), 9).await.expect("read").is_empty()
        );
        assert!(store.delete_template(&owner("bob"), &a.id, None).await.is_err());
        store.delete_template(&ada, &a.id, None).await.expect("deleted");
        assert_eq!(store.template(&ada, &a.id).await.expect("read"), None);
    })
    .await;
}

#[tokio::test]
async fn a_decided_deletion_is_pending_until_it_is_finished_and_binds_at_once() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        let holder = Holder::User(user("u").id);
        store.set_bindings(&ada, &holder, &worlds("w1 w2"), None, None).await.expect("bound");
        let attempt = attempt(&ada, "r1", "delete w1");
        for replayed in [false, true] {
            let deleted = store.delete_world(&ada, &world("w1"), Some(&attempt)).await;
            let deleted = deleted.expect("deleted");
            assert_eq!((deleted.value, deleted.replayed), (2, replayed));
        }
        let stored = store.selection(&ada, &session("s")).await.expect("read").expect("there");
        assert_eq!((stored.selection.worlds.as_slice(), stored.revision), (&[][..], 2));
        let bound = store.bindings(&ada, &holder).await.expect("read");
        assert_eq!(bound, Some(worlds("w2")));
        let pending = store.pending_deletions(9).await.expect("read");
        assert_eq!(pending, [(ada.clone(), world("w1"))]);
        for _ in ["while it is pending", "when it is finished"] {
            let set = store.set_selection(&ada, &session("s"), &selection, None, None).await;
            assert!(matches!(set, Err(WriteError::NotFound { kind: "world", .. })));
            let bind = store.set_bindings(&ada, &holder, &worlds("w1"), None, None).await;
            assert!(matches!(bind, Err(WriteError::NotFound { kind: "world", .. })));
            store.world_deleted(&ada, &world("w1")).await.expect("finished");
        }
        assert!(store.pending_deletions(9).await.expect("read").is_empty());
        store.forget(Timestamp::from_micros(2_000_000)).await.expect("forgotten");
        assert!(store.set_bindings(&ada, &holder, &worlds("w1"), None, None).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn a_selection_is_copied_whole_and_then_goes_its_own_way() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        let (from, to) = (session("s"), session("to"));
        let unknown = store.copy_selection(&ada, &from, &to, None, None).await;
        assert!(matches!(unknown, Err(WriteError::NotFound { kind: "session", .. })));
        store.init_selection(&ada, &to, &Origin::Defaults).await.expect("given");
        let stale = store.copy_selection(&ada, &from, &to, Some(9), None).await;
        assert!(matches!(stale, Err(WriteError::EtagMismatch { .. })));
        let copied = store.copy_selection(&ada, &from, &to, Some(1), None).await.expect("copied");
        assert_eq!((copied.value.selection, copied.value.revision), (selection.clone(), 2));
        let changed = Selection { user: UserId::new("u").ok(), ..Selection::default() };
        store.set_selection(&ada, &from, &changed, None, None).await.expect("set");
        let kept = store.selection(&ada, &to).await.expect("read").expect("there");
        assert_eq!(kept.selection, selection);
    })
    .await;
}

#[tokio::test]
async fn a_forgotten_session_leaves_nothing_and_runs_no_more() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        store.begin_compile(&ada, &session("s"), &lease("g", LONG_MS)).await.expect("begun");
        store.forget_session(&owner("bob"), &session("s")).await.expect("nothing of bob's");
        assert!(store.delete(&ada, Kind::User, "u", None, None).await.is_err());
        for _ in ["once", "again"] {
            store.forget_session(&ada, &session("s")).await.expect("forgotten");
        }
        assert_eq!(store.selection(&ada, &session("s")).await.expect("read"), None);
        let deleted = store.delete(&ada, Kind::User, "u", None, None).await.expect("deleted");
        assert_eq!(deleted.value, 0);
        let world = store.delete_world(&ada, &world("w1"), None).await.expect("deleted");
        assert_eq!(world.value, 0, "its worlds went with it");
    })
    .await;
}
