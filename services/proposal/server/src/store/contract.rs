//! What any store must do, run on each of them.

use std::collections::BTreeMap;

use host::{
    idempotency::{Answer, Scope},
    testing,
};
use kernel::{
    AlternativeId, EntryId, Owner, RequestId, SessionId, Subject, TenantId, Timestamp, WorldId,
    digest,
};
use proposal_core::{
    Application, Changeset, Evaluation, Judged, JudgedTurn, LeftOut, Operation, Outcome, Rejected,
    Source, Stage, operation::Kind,
};

use super::*;

/// Each case is a test on each database; without PostgreSQL its half says that it was skipped.
macro_rules! cases {
    ($($name:ident)*) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $name() {
                let folder = tempfile::tempdir().expect("a folder");
                let data = host::database::DataFolder::open(folder.path()).expect("ours");
                super::$name(&super::SqliteStore::open(&data).await.expect("a store")).await;
            })*
        }
        mod on_postgres {
            $(#[tokio::test]
            async fn $name() {
                let Some(url) = super::testing::postgres().await else { return };
                super::$name(&super::PostgresStore::open(&url, 2).await.expect("a store")).await;
            })*
        }
    };
}

cases! {
    what_was_staged_is_read_back
    the_same_attempt_is_staged_once
    another_owner_finds_nothing
    the_newest_evaluation_of_a_turn_is_found
    a_list_goes_from_new_to_old_and_on_from_a_position
    a_list_is_filtered
    a_version_replaces_only_the_one_before_it
    a_call_that_was_answered_replaces_nothing
    unfinished_applications_are_those_that_began_before
    a_moved_turn_makes_its_pending_changesets_stale
    a_changed_source_makes_its_pending_changesets_stale
    a_deleted_session_takes_the_ids_and_leaves_the_labels
    old_answers_are_forgotten
}

const NOW: Timestamp = Timestamp::from_micros(9_000);

fn owner(subject: &str) -> Owner {
    let tenant = TenantId::new("acme").expect("an id");
    Owner { tenant, subject: Subject::new(subject).expect("an id") }
}

fn session(id: &str) -> SessionId {
    SessionId::new(id).expect("an id")
}

fn evaluation(session_id: &str, turn_seq: u64, judged_at: i64) -> Evaluation {
    let turn = JudgedTurn {
        session: session(session_id),
        turn_seq,
        alternative: AlternativeId::new("a1").expect("an id"),
        attempt: 1,
    };
    Evaluation {
        id: Evaluation::id_of(&owner("ada"), &turn),
        owner: owner("ada"),
        turn,
        outcome: Outcome::Staged,
        reason: "why\u{0}".into(),
        rejected: vec![Rejected { index: 1, reason: "no".into(), operation: "{}".into() }],
        model: "scripted/any".into(),
        input_tokens: 7,
        output_tokens: 3,
        judged_at: Timestamp::from_micros(judged_at),
    }
}

fn operation(name: &str) -> Operation {
    Operation {
        kind: Kind::Replace,
        target: Some(EntryId::new("e1").expect("an id")),
        name: Some(name.into()),
        content: Some("a\u{0}b".into()),
        constant: None,
        keywords: Some(vec!["k".into()]),
        rationale: "because".into(),
    }
}

fn changeset(evaluation: &Evaluation, world: &str) -> Changeset {
    let world = WorldId::new(world).expect("an id");
    Changeset {
        id: evaluation.changeset_id(&world),
        owner: evaluation.owner.clone(),
        evaluation: evaluation.id.clone(),
        world,
        world_name: "The World".into(),
        base_revision: 4,
        stage: Stage::Pending,
        version: 1,
        summary: "so".into(),
        operations: vec![operation("one"), operation("two")],
        source: Source {
            session: Some(evaluation.turn.session.clone()),
            turn_seq: Some(evaluation.turn.turn_seq),
            alternative: Some(evaluation.turn.alternative.clone()),
            excerpt: "Once".into(),
            labels: BTreeMap::from([("session".into(), "First".into())]),
        },
        attempts: 0,
        application: None,
        stale_reason: String::new(),
        created_at: evaluation.judged_at,
        decided_at: None,
    }
}

fn judged(name: &str, problem: &str) -> Judged {
    Judged {
        operation: operation(name),
        current_name: "Old".into(),
        current_content: "As it was\u{0}.".into(),
        problem: problem.into(),
        left_out: vec![LeftOut { field: "current_content".into(), bytes: 7 }],
    }
}

fn application(since: i64) -> Application {
    Application {
        change: kernel::ChangeId::new("c:1").expect("an id"),
        operations: vec![judged("one", ""), judged("two", "no")],
        request_id: RequestId::new("r1").expect("an id"),
        request: digest(b"request"),
        since: Timestamp::from_micros(since),
    }
}

/// One evaluation with one changeset, stored.
async fn staged(store: &dyn Store, session_id: &str, turn_seq: u64, at: i64) -> Changeset {
    let evaluation = evaluation(session_id, turn_seq, at);
    let changeset = changeset(&evaluation, "w1");
    assert!(store.stage(&evaluation, std::slice::from_ref(&changeset)).await.expect("stored"));
    changeset
}

async fn reread(store: &dyn Store, changeset: &Changeset) -> Changeset {
    let found = store.changeset(&changeset.owner, &changeset.id).await.expect("read");
    found.expect("a changeset")
}

fn answer() -> (Scope, Answer) {
    let request_id = RequestId::new("r1").expect("an id");
    let scope = Scope::new(&owner("ada"), "a/b", request_id);
    (scope, Answer { request: digest(b"request"), reference: b"x".to_vec() })
}

async fn what_was_staged_is_read_back(store: &dyn Store) {
    let evaluation = evaluation("s1", 3, 10);
    let changesets = [changeset(&evaluation, "w1"), changeset(&evaluation, "w2")];
    assert!(store.stage(&evaluation, &changesets).await.expect("stored"));
    let ada = owner("ada");
    let found = store.evaluation(&ada, &evaluation.turn).await.expect("read");
    assert_eq!(found, Some(evaluation.clone()));
    let mut found = store.changesets_of(&ada, &evaluation.id).await.expect("read");
    found.sort_by_key(|changeset| changeset.world.clone());
    assert_eq!(found, changesets);
}

async fn the_same_attempt_is_staged_once(store: &dyn Store) {
    staged(store, "s1", 3, 10).await;
    let again = evaluation("s1", 3, 99);
    assert!(!store.stage(&again, &[changeset(&again, "w2")]).await.expect("no error"));
    let found = store.changesets_of(&owner("ada"), &again.id).await.expect("read");
    assert_eq!(found.len(), 1);
}

async fn another_owner_finds_nothing(store: &dyn Store) {
    let kept = staged(store, "s1", 3, 10).await;
    let bob = owner("bob");
    assert_eq!(store.changeset(&bob, &kept.id).await.expect("read"), None);
    assert_eq!(store.newest_evaluation(&bob, &session("s1"), 3).await.expect("read"), None);
    assert_eq!(store.list(&bob, &Which::default(), None, 9).await.expect("read"), []);
    let stolen = Changeset { owner: bob, ..kept.rejected(NOW).expect("pending") };
    assert_eq!(store.replace(&stolen, None, NOW).await.expect("no error"), Replaced::Moved);
}

async fn the_newest_evaluation_of_a_turn_is_found(store: &dyn Store) {
    staged(store, "s1", 3, 10).await;
    let mut second = evaluation("s1", 3, 20);
    second.turn.attempt = 2;
    second.id = Evaluation::id_of(&second.owner, &second.turn);
    assert!(store.stage(&second, &[]).await.expect("stored"));
    let found = store.newest_evaluation(&owner("ada"), &session("s1"), 3).await.expect("read");
    assert_eq!(found, Some(second));
}

async fn a_list_goes_from_new_to_old_and_on_from_a_position(store: &dyn Store) {
    for (turn, at) in [(1, 10), (2, 30), (3, 20), (4, 20)] {
        staged(store, "s1", turn, at).await;
    }
    let ada = owner("ada");
    let all = store.list(&ada, &Which::default(), None, 9).await.expect("read");
    let times: Vec<_> = all.iter().map(|changeset| changeset.created_at.micros()).collect();
    assert_eq!(times, [30, 20, 20, 10]);
    let at = |changeset: &Changeset| Position {
        created_at: changeset.created_at,
        id: changeset.id.clone(),
    };
    let rest = store.list(&ada, &Which::default(), Some(&at(&all[1])), 1).await.expect("read");
    assert_eq!(rest, all[2..3]);
}

async fn a_list_is_filtered(store: &dyn Store) {
    let open = staged(store, "s1", 1, 10).await;
    let decided = staged(store, "s2", 1, 20).await.rejected(NOW).expect("pending");
    assert_eq!(store.replace(&decided, None, NOW).await.expect("stored"), Replaced::Done);
    let ada = owner("ada");
    let list = async |which: Which| store.list(&ada, &which, None, 9).await.expect("read");
    let state = |state| Which { state, ..Which::default() };
    assert_eq!(list(state(WhichState::Open)).await, std::slice::from_ref(&open));
    assert_eq!(list(state(WhichState::Decided)).await, std::slice::from_ref(&decided));
    let of_session = Which { session: Some(session("s1")), ..Which::default() };
    assert_eq!(list(of_session).await, std::slice::from_ref(&open));
    let of_world = Which { world: WorldId::new("w9").ok(), ..Which::default() };
    assert_eq!(list(of_world).await, []);
}

async fn a_version_replaces_only_the_one_before_it(store: &dyn Store) {
    let first = staged(store, "s1", 1, 10).await;
    let begun = first.begun(application(50)).expect("pending");
    assert_eq!(store.replace(&begun, None, NOW).await.expect("stored"), Replaced::Done);
    assert_eq!(reread(store, &first).await, begun);
    let late = first.rejected(NOW).expect("it was pending");
    assert_eq!(store.replace(&late, None, NOW).await.expect("no error"), Replaced::Moved);
    assert_eq!(reread(store, &first).await, begun);
}

async fn a_call_that_was_answered_replaces_nothing(store: &dyn Store) {
    let first = staged(store, "s1", 1, 10).await;
    let (scope, answer) = answer();
    let with = Some((&scope, &answer));
    let edited = first.edited(vec![operation("x")], Some("y".into())).expect("pending");
    assert_eq!(store.replace(&edited, with, NOW).await.expect("stored"), Replaced::Done);
    assert_eq!(store.answer(&scope).await.expect("read"), Some(answer.clone()));
    let next = edited.rejected(NOW).expect("pending");
    assert_eq!(store.replace(&next, with, NOW).await.expect("no error"), Replaced::Answered);
    assert_eq!(reread(store, &first).await, edited);
    assert!(!store.store_answer(&scope, &answer, NOW).await.expect("no error"));
}

async fn unfinished_applications_are_those_that_began_before(store: &dyn Store) {
    let early = staged(store, "s1", 1, 10).await.begun(application(50)).expect("pending");
    let late = staged(store, "s1", 2, 10).await.begun(application(70)).expect("pending");
    staged(store, "s1", 3, 10).await;
    for begun in [&early, &late] {
        assert_eq!(store.replace(begun, None, NOW).await.expect("stored"), Replaced::Done);
    }
    let before = Timestamp::from_micros(60);
    assert_eq!(store.unfinished(before, 9).await.expect("read"), std::slice::from_ref(&early));
    let applied = early.applied(NOW).expect("applying");
    assert_eq!(store.replace(&applied, None, NOW).await.expect("stored"), Replaced::Done);
    assert_eq!(store.unfinished(before, 9).await.expect("read"), []);
    assert_eq!(reread(store, &early).await, applied);
}

async fn a_moved_turn_makes_its_pending_changesets_stale(store: &dyn Store) {
    let kept = staged(store, "s1", 1, 10).await;
    let other = staged(store, "s1", 2, 10).await;
    store.turn_moved(&kept.owner, &kept.evaluation, NOW).await.expect("stored");
    let found = reread(store, &kept).await;
    assert_eq!((found.stage, found.version, found.decided_at), (Stage::Stale, 2, Some(NOW)));
    assert_eq!(reread(store, &other).await, other);
    let found = store.newest_evaluation(&kept.owner, &session("s1"), 1).await.expect("read");
    assert_eq!(found.map(|evaluation| evaluation.outcome), Some(Outcome::TurnMoved));
}

async fn a_changed_source_makes_its_pending_changesets_stale(store: &dyn Store) {
    let pending = staged(store, "s1", 1, 10).await;
    let decided = staged(store, "s2", 1, 10).await.rejected(NOW).expect("pending");
    assert_eq!(store.replace(&decided, None, NOW).await.expect("stored"), Replaced::Done);
    for (id, turn) in [("s1", 1), ("s1", 2), ("s2", 1)] {
        store.source_changed(&owner("ada"), &session(id), turn, NOW).await.expect("stored");
    }
    let found = reread(store, &pending).await;
    assert_eq!(found.stage, Stage::Stale);
    assert!(found.stale_reason.contains("has changed"), "{}", found.stale_reason);
    assert_eq!(reread(store, &decided).await, decided);
}

async fn a_deleted_session_takes_the_ids_and_leaves_the_labels(store: &dyn Store) {
    let pending = staged(store, "s1", 1, 10).await;
    let decided = staged(store, "s1", 2, 10).await.rejected(NOW).expect("pending");
    assert_eq!(store.replace(&decided, None, NOW).await.expect("stored"), Replaced::Done);
    store.source_deleted(&owner("ada"), &session("s1"), NOW).await.expect("stored");
    for (before, stage) in [(&pending, Stage::Stale), (&decided, Stage::Rejected)] {
        let found = reread(store, before).await;
        assert_eq!(found.stage, stage);
        assert_eq!((&found.source.session, found.source.turn_seq), (&None, None));
        assert_eq!(found.source.labels, before.source.labels);
    }
    let judged = store.newest_evaluation(&owner("ada"), &session("s1"), 1).await.expect("read");
    assert_eq!(judged, None);
}

async fn old_answers_are_forgotten(store: &dyn Store) {
    let (scope, answer) = answer();
    assert!(store.store_answer(&scope, &answer, NOW).await.expect("stored"));
    store.forget(NOW).await.expect("forgotten");
    assert!(store.answer(&scope).await.expect("read").is_some());
    store.forget(NOW.plus_ms(1)).await.expect("forgotten");
    assert_eq!(store.answer(&scope).await.expect("read"), None);
}
