//! Sessions: created, pending, listed; their snapshots and requests.

use ledger_core::{
    decide::{DeleteSession, Fail, Submit, UpdateSession},
    event::Failure,
};

use super::*;
use crate::store::{ListedSession, RequestRow, SessionCursor};

pub(super) async fn a_created_session_is_read_back_whole(bench: Bench) {
    let state = bench.create().await;
    let (append, _) = bench.fact(&state, "a fact with \u{0} and 龙");
    let written = append.events.clone();
    bench.store.append(append).await.expect("appended");
    let read = bench.store.events(&owner("ada"), &session(), 2, 10).await.expect("read");
    assert_eq!(read, written);
    let named = bench.store.events_at(&owner("ada"), &session(), &[2, 9]).await.expect("read");
    assert_eq!(named, written);
    let kind = written[0].meta.kind;
    let of = bench.store.events_of(&owner("ada"), &session(), kind, 1).await.expect("read");
    assert_eq!(of, written);
    let row = bench.store.session(&owner("ada"), &session()).await.expect("read").expect("there");
    assert_eq!((row.title.as_str(), row.head), ("s1", 2));
}

pub(super) async fn another_owner_sees_nothing(bench: Bench) {
    bench.create().await;
    let row = bench.store.session(&owner("bob"), &session()).await.expect("read");
    assert_eq!(row, None);
    let rows = bench.store.sessions(&owner("bob"), None, 10).await.expect("read");
    assert_eq!(rows, vec![]);
}

pub(super) async fn a_pending_session_becomes_live_or_is_forgotten(bench: Bench) {
    let pending = |name: &str| PendingSession {
        owner: owner("ada"),
        session: SessionId::new(name).expect("an id"),
        recorded_at: Timestamp::from_micros(5),
    };
    for name in ["s1", "s2"] {
        bench.store.begin_session(&pending(name)).await.expect("begun");
        bench.store.begin_session(&pending(name)).await.expect("begun twice");
    }
    assert_eq!(bench.store.session(&owner("ada"), &session()).await.expect("read"), None);
    bench.create().await;
    let later = Timestamp::from_micros(6);
    let left = bench.store.pending_sessions(later, 10).await.expect("read");
    assert_eq!(left, vec![pending("s2")]);
    bench.store.drop_pending(&owner("ada"), &session()).await.expect("a live one is kept");
    assert_eq!(bench.head().await, 1);
    bench.store.drop_pending(&owner("ada"), &pending("s2").session).await.expect("dropped");
    assert_eq!(bench.store.pending_sessions(later, 10).await.expect("read"), vec![]);
}

pub(super) async fn snapshots_only_move_forward(bench: Bench) {
    let (owner, session) = (owner("ada"), session());
    assert_eq!(bench.store.snapshot(&owner, &session).await.expect("read"), None);
    bench.store.put_snapshot(&owner, &session, 9, b"nine").await.expect("kept");
    bench.store.put_snapshot(&owner, &session, 4, b"four").await.expect("ignored");
    let kept = bench.store.snapshot(&owner, &session).await.expect("read");
    assert_eq!(kept, Some((9, b"nine".to_vec())));
}

pub(super) async fn sessions_are_listed_newest_first(bench: Bench) {
    for (name, at) in [("a", 1), ("b", 3), ("c", 2), ("d", 3)] {
        bench.create_named(name, at).await;
    }
    let owner = owner("ada");
    let first = bench.store.sessions(&owner, None, 2).await.expect("read");
    let names = |rows: &[ListedSession]| -> Vec<String> {
        rows.iter().map(|listed| listed.row.session.to_string()).collect()
    };
    assert_eq!(names(&first), ["b", "d"]);
    let cursor = SessionCursor { created_at: 3, session: "d".to_owned() };
    let rest = bench.store.sessions(&owner, Some(&cursor), 9).await.expect("read");
    assert_eq!(names(&rest), ["c", "a"]);
}

pub(super) async fn a_listed_session_is_what_its_events_fold_to(bench: Bench) {
    let state = bench.create().await;
    is_listed_as(&bench, &state).await;
    let settings = Settings { refresh_tokens: 77, ..Settings::default() };
    let (append, state) = bench.decided(&state, UpdateSession { settings });
    bench.store.append(append).await.expect("appended");
    is_listed_as(&bench, &state).await;

    let lease = lease("g1", 1);
    let (content, guidance) = (Text::new("Hello.").ok(), None);
    let submit = Submit { generation: lease.generation.clone(), content, guidance };
    let (append, state) = bench.decided(&state, submit);
    let open = GenerationWrite::Open(lease.clone());
    bench.store.append(Append { generation: open, ..append }).await.expect("appended");
    is_listed_as(&bench, &state).await;

    let generation = lease.generation;
    let fail = Fail {
        generation: generation.clone(),
        fence: 1,
        reason: Failure::Provider,
        detail: None,
        partial: None,
    };
    let (append, state) = bench.decided(&state, fail);
    let close = GenerationWrite::Close { generation, fence: 1 };
    bench.store.append(Append { generation: close, ..append }).await.expect("appended");
    is_listed_as(&bench, &state).await;

    let (deleted, _) = bench.decided(&state, DeleteSession);
    bench.store.append(deleted).await.expect("appended");
    let listed = bench.store.sessions(&owner("ada"), None, 9).await.expect("read");
    assert_eq!(listed, vec![], "a deleted session is in no list");
}

pub(super) async fn the_request_before_an_offset_is_the_newest_of_them(bench: Bench) {
    let mut state = bench.create().await;
    for text in ["one", "two", "three"] {
        let (append, after) = bench.fact(&state, text);
        let (offset, record) = (after.head().offset, text.as_bytes().to_vec());
        let request = (text != "two").then_some(RequestRow { offset, record });
        bench.store.append(Append { request, ..append }).await.expect("appended");
        state = after;
    }
    for (offset, expected) in [(2, None), (3, Some(2)), (4, Some(2)), (5, Some(4))] {
        let found = bench.store.request_before(&owner("ada"), &session(), offset).await;
        let found = found.expect("read").map(|row| row.offset);
        assert_eq!(found, expected, "before {offset}");
    }
}

async fn is_listed_as(bench: &Bench, state: &State) {
    let listed = bench.store.sessions(&owner("ada"), None, 9).await.expect("read").remove(0);
    assert_eq!(listed.row.head, state.head().offset);
    assert_eq!((&listed.settings, listed.turn_count), (state.settings(), state.next_seq()));
    let running = state.generation().map(|generation| generation.id.clone());
    assert_eq!(listed.active_generation, running);
}
