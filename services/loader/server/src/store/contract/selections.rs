//! Selections and bindings: given, copied, replaced, cleared.

use kernel::UserId;
use loader_core::selection::{Bindings, Selection, Worlds};

use super::{
    super::{Holder, Origin, WriteError, bindings_etag},
    character, furnished, on_each, session, user, with_book, worlds,
};

#[tokio::test]
async fn a_selection_is_replaced_whole_under_its_revision() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        let mut new = selection.clone();
        new.options.greeting_index = 2;
        new.rp.active = true;
        let set = store.set_selection(&ada, &session("s"), &new, Some(1), None).await.expect("set");
        assert_eq!((set.value.selection.clone(), set.value.revision), (new.clone(), 2));
        let read = store.selection(&ada, &session("s")).await.expect("read");
        assert_eq!(read, Some(set.value));
        let stale = store.set_selection(&ada, &session("s"), &selection, Some(1), None).await;
        assert!(matches!(stale, Err(WriteError::EtagMismatch { .. })));
        let same = store.set_selection(&ada, &session("s"), &new, None, None).await.expect("same");
        assert_eq!(same.value.revision, 2, "nothing changed");
    })
    .await;
}

#[tokio::test]
async fn a_selection_names_only_what_is_there() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        let gone = Selection { user: UserId::new("gone").ok(), ..selection.clone() };
        let set = store.set_selection(&ada, &session("s"), &gone, None, None).await;
        assert!(matches!(set, Err(WriteError::NotFound { kind: "user", .. })));
        let unknown = store.set_selection(&ada, &session("x"), &selection, None, None).await;
        assert!(matches!(unknown, Err(WriteError::NotFound { kind: "session", .. })));
    })
    .await;
}

#[tokio::test]
async fn a_fork_copies_its_parent_and_then_goes_its_own_way() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        let parent = Origin::Parent(session("s"));
        let fork = store.init_selection(&ada, &session("f"), &parent).await.expect("copied");
        assert_eq!(fork, selection);
        let empty = Selection::default();
        store.set_selection(&ada, &session("s"), &empty, None, None).await.expect("set");
        let again = store.init_selection(&ada, &session("f"), &Origin::Defaults).await;
        assert_eq!(again.expect("kept"), selection, "a session keeps its first selection");
        let orphan =
            store.init_selection(&ada, &session("o"), &Origin::Parent(session("no"))).await;
        assert_eq!(orphan.expect("the defaults"), Selection::default());
    })
    .await;
}

#[tokio::test]
async fn bindings_are_replaced_whole_under_their_etag() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        let card = with_book(&store, &ada, character("c", "C"), "book").await;
        store.edit_character(&ada, &card, false, None).await.expect("edited");
        let holder = Holder::User(user("u").id);
        let none = bindings_etag(&Worlds::default());
        let set = store.set_bindings(&ada, &holder, &worlds("b a"), Some(&none), None).await;
        assert_eq!(set.expect("bound").value, worlds("b a"));
        let stale = store.set_bindings(&ada, &holder, &worlds("c"), Some(&none), None).await;
        assert!(matches!(stale, Err(WriteError::EtagMismatch { .. })));
        assert_eq!(store.bindings(&ada, &holder).await.expect("read"), Some(worlds("b a")));
        store.set_bindings(&ada, &Holder::Global, &worlds("g"), None, None).await.expect("bound");
        let all = store.bindings_of(&ada, &selection).await.expect("read");
        let expected = Bindings {
            user: worlds("b a").into(),
            global: worlds("g").into(),
            embedded: card.embedded_world,
            ..Bindings::default()
        };
        assert_eq!(all, expected);
    })
    .await;
}
