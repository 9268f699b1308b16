//! A model never touches the user's lore: it proposes, and nothing is in effect until a person accepts it.

use skald::demo::samples;
use tests::{prelude::*, script};

use common::{ProfileMode, Reason};
use ledger::EvaluationState;
use lorebook::{Entry, WorldView};
use proposal::{ChangesetFilter, ChangesetState, Outcome};

struct Scene {
    world: World,
    clients: Clients,
    cast: Cast,
    session: String,
}

impl Scene {
    async fn of(script: &str) -> Self {
        Self::in_world(Plan::new().script(script).near().await).await
    }

    async fn in_world(world: World) -> Self {
        let clients = world.clients();
        let cast = clients.cast().await.expect("imported");
        let session = clients.opened(&cast, ProfileMode::Journal).await.expect("opened");
        Self { world, clients, cast, session }
    }

    /// A turn that leads to a changeset.
    async fn proposed(&self, request_id: &str) -> String {
        let told = self.clients.say(&self.session, request_id, job::FIRST).await.expect("a turn");
        told.proposed()[0].changeset_id.clone()
    }

    async fn entries(&self, view: WorldView) -> Vec<Entry> {
        self.clients.entries(&self.cast.world.world_id, view).await.expect("entries")
    }

    async fn evaluation(&self, turn_seq: u64) -> proposal::Evaluation {
        let request = proposal::GetEvaluationRequest { session_id: self.session.clone(), turn_seq };
        let answer = self.clients.evaluations.clone().get_evaluation(request).await;
        answer.expect("judged").into_inner().evaluation.expect("one")
    }
}

#[tokio::test]
async fn authored_rows_are_the_same_bytes_through_apply_and_undo() {
    let scene = Scene::of(samples::SCRIPT).await;
    let before = scene.entries(WorldView::Authored).await;
    let changeset = scene.proposed("turn-1").await;
    assert_eq!(scene.entries(WorldView::Authored).await, before);
    scene.clients.apply(&changeset).await.expect("applied");
    assert_eq!(scene.entries(WorldView::Authored).await, before);
    assert_ne!(scene.entries(WorldView::Effective).await, before);
    scene.clients.undo(&changeset).await.expect("undone");
    assert_eq!(scene.entries(WorldView::Authored).await, before);
    assert_eq!(scene.entries(WorldView::Effective).await, before);
}

#[tokio::test]
async fn a_pending_or_rejected_proposal_is_in_no_view_and_no_request() {
    let scene = Scene::of(samples::SCRIPT).await;
    let before = scene.entries(WorldView::All).await;
    let revision = scene.cast.world.content_revision;
    let changeset = scene.proposed("turn-1").await;
    for request_id in ["pending", "rejected"] {
        assert_eq!(scene.entries(WorldView::All).await, before, "{request_id}");
        let told =
            scene.clients.say(&scene.session, request_id, job::SECOND).await.expect("a turn");
        let offset = told.request().offset;
        let sent = scene.clients.sent(&scene.session, offset).await.expect("kept");
        assert!(!sent.contains(job::PROPOSED), "{request_id}");
        if request_id == "pending" {
            scene.clients.reject(&changeset).await.expect("rejected");
        }
    }
    let world = scene.clients.world(&scene.cast.world.world_id).await.expect("the world");
    assert_eq!(world.content_revision, revision, "and moves no revision");
}

#[tokio::test]
async fn a_proposal_for_an_older_revision_is_stale() {
    let scene = Scene::of(samples::SCRIPT).await;
    let (first, second) = (scene.proposed("turn-1").await, scene.proposed("turn-2").await);
    assert_ne!(first, second);
    scene.clients.apply(&first).await.expect("applied");
    let effective = scene.entries(WorldView::Effective).await;
    let open = scene.clients.listed(ChangesetFilter::Open).await.expect("a list");
    assert_eq!((open.len(), open[0].state()), (1, ChangesetState::Stale));
    assert!(!open[0].stale_reason.is_empty());

    let refused = scene.clients.apply(&second).await.refused();
    let (code, why) = reason(&refused);
    assert!(
        matches!(why, Reason::StaleRevision | Reason::ChangesetState),
        "{code:?} {why:?} {}",
        refused.message()
    );
    assert_eq!(scene.entries(WorldView::Effective).await, effective, "nothing was applied");
    scene.clients.reject(&second).await.expect("a stale one can be rejected");
}

#[tokio::test]
async fn of_apply_and_reject_at_once_one_wins_and_the_lore_agrees() {
    let scene = Scene::of(samples::SCRIPT).await;
    for round in 0..3 {
        let changeset = scene.proposed(&format!("turn-{round}")).await;
        let before = scene.entries(WorldView::All).await;
        let (applied, rejected) =
            tokio::join!(scene.clients.apply(&changeset), scene.clients.reject(&changeset));
        assert_ne!(applied.is_ok(), rejected.is_ok(), "{applied:?} {rejected:?}");
        let state = scene.clients.changeset(&changeset).await.expect("kept").state();
        let after = scene.entries(WorldView::All).await;
        if applied.is_ok() {
            assert!(state == ChangesetState::Applied && after != before);
            scene.clients.undo(&changeset).await.expect("undone for the next round");
        } else {
            assert!(state == ChangesetState::Rejected && after == before);
        }
    }
}

/// Applies a changeset from many callers at once, each under the request id that it is given, and checks that
/// one change came of it and that every other caller was told the state that it met.
async fn race(clients: &Clients, changeset: &str, world: &lorebook::World, ids: &[String]) {
    let applications = ids.iter().map(|request_id| {
        let request = proposal::ApplyChangesetRequest {
            changeset_id: changeset.to_owned(),
            request_id: request_id.clone(),
            ..Default::default()
        };
        let mut changesets = clients.changesets.clone();
        async move { changesets.apply_changeset(request).await }
    });
    let answers = futures::future::join_all(applications).await;
    let changes: Vec<_> = answers
        .into_iter()
        .filter_map(|answer| match answer {
            Ok(answer) => Some(answer.into_inner().change.expect("one").change_id),
            Err(status) => {
                let (code, why) = reason(&status);
                assert_eq!(code, Code::FailedPrecondition, "{status:?}");
                let told = matches!(why, Reason::ApplyInProgress | Reason::ChangesetState);
                assert!(told && !status.message().contains("PENDING"), "{status:?}");
                None
            }
        })
        .collect();
    assert!(!changes.is_empty() && changes.iter().all(|change| *change == changes[0]));
    let now = clients.world(&world.world_id).await.expect("the world").content_revision;
    assert_eq!(now, world.content_revision + 1);
    let state = clients.changeset(changeset).await.expect("kept").state();
    assert_eq!(state, ChangesetState::Applied);
}

/// Callers of one race: more than any number of attempts that a decision could be given.
const RACERS: usize = 24;

async fn many_applications_are_one(scene: Scene) {
    let Scene { clients, cast, session, .. } = &scene;
    for (round, own) in [true, false, true].into_iter().enumerate() {
        let told = clients.say(session, &format!("turn-{round}"), job::FIRST).await;
        let changeset = told.expect("a turn").proposed()[0].changeset_id.clone();
        let ids = (0..RACERS).map(|n| format!("{round}-{}", if own { n } else { 0 }));
        let world = clients.world(&cast.world.world_id).await.expect("the world");
        race(clients, &changeset, &world, &ids.collect::<Vec<_>>()).await;
        clients.undo(&changeset).await.expect("undone for the next round");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_applications_at_once_are_one_on_sqlite() {
    many_applications_are_one(Scene::of(samples::SCRIPT).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_applications_at_once_are_one_on_postgres_and_two_replicas() {
    let Some(world) = Plan::new().far().await else { return };
    many_applications_are_one(Scene::in_world(world).await).await;
}

#[tokio::test]
async fn what_an_accepted_change_replaced_and_why_can_be_read_ever_after() {
    let arguments = r#"{"operations": [{"rationale": "It was told.", "op": "revise",
        "target_entry_id": 1, "name": "Told anew", "content": "It is otherwise."}], "summary": "S"}"#;
    let scene = Scene::of(&script::proposing(arguments)).await;
    let changeset = scene.proposed("turn-1").await;
    let shown = async || {
        let shown = scene.clients.changeset(&changeset).await.expect("kept").operations;
        (shown[0].current_name.clone(), shown[0].current_content.clone(), shown[0].diff.clone())
    };
    let before = shown().await;
    assert!(!before.0.is_empty() && before.2.contains("+It is otherwise."), "{before:?}");
    let change = scene.clients.apply(&changeset).await.expect("applied").change.expect("one");
    assert_eq!(shown().await, before);
    scene.clients.undo(&changeset).await.expect("undone");
    assert_eq!(shown().await, before);
    let request = lorebook::GetChangeRequest { change_id: change.change_id, ..Default::default() };
    let history =
        scene.clients.history.clone().get_change(request).await.expect("kept").into_inner();
    assert_eq!(history.change.expect("one").rows[0].rationale, "It was told.");
}

/// Creates an entry, and on the second turn revises it: the catalogue lists it behind the three authored ones.
const TWICE: &str = r#"
[[reply]]
text = "So it is."

[[tool]]
name = "propose_world_changes"
when = "once more"
arguments = '''{"operations": [{"rationale": "r", "op": "revise", "target_entry_id": 4,
    "content": "The gate is shut."}], "summary": "Shut."}'''

[[tool]]
name = "propose_world_changes"
arguments = '''{"operations": [{"rationale": "r", "op": "create", "name": "The gate",
    "content": "The gate is open.", "activation": "constant"}], "summary": "Open."}'''
"#;

#[tokio::test]
async fn an_undo_over_a_later_change_is_refused_and_names_the_rows() {
    let scene = Scene::of(TWICE).await;
    let said = async |request_id: &str, text: &str| {
        let told = scene.clients.say(&scene.session, request_id, text).await.expect("a turn");
        told.proposed().first().map(|change| change.changeset_id.clone())
    };
    let first = said("turn-1", "Hello.").await.expect("proposed");
    scene.clients.apply(&first).await.expect("applied");
    let second = said("turn-2", "Once more.").await;
    let judged = scene.evaluation(4).await;
    let second = second.unwrap_or_else(|| panic!("nothing was proposed: {judged:#?}"));
    scene.clients.apply(&second).await.expect("applied");
    let before = scene.entries(WorldView::All).await;
    let refused = scene.clients.undo(&first).await.refused();
    assert_eq!(reason(&refused), (Code::FailedPrecondition, Reason::UndoConflict));
    assert_eq!(scene.entries(WorldView::All).await, before, "nothing was taken back");
    scene.clients.undo(&second).await.expect("the later one can be taken back");
}

#[tokio::test]
async fn what_the_rules_refuse_is_recorded_with_its_reason_and_never_staged() {
    let arguments = r#"{"operations": [
        {"rationale": "r", "op": "revise", "target_entry_id": 999, "name": "x", "content": "x"},
        {"rationale": "r", "op": "create", "name": "", "content": "", "activation": "keywords"},
        {"rationale": "r", "op": "explode", "target_entry_id": 1}
    ], "summary": "Mischief."}"#;
    let scene = Scene::of(&script::proposing(arguments)).await;
    let before = scene.entries(WorldView::All).await;
    let told = scene.clients.say(&scene.session, "turn-1", "Hello.").await.expect("a turn");
    assert!(told.proposed().is_empty());
    let evaluation = scene.evaluation(told.reply().seq).await;
    assert_eq!(evaluation.outcome(), Outcome::AllRejected);
    let reasons: Vec<_> = evaluation.rejected.iter().map(|r| r.reason.as_str()).collect();
    assert!(reasons.len() == 3 && reasons.iter().all(|reason| !reason.is_empty()), "{reasons:?}");
    assert_eq!(scene.entries(WorldView::All).await, before);
}

#[tokio::test]
async fn a_judge_that_fails_costs_the_turn_nothing() {
    let script = "[[reply]]\ntext = \"So it is.\"\n";
    let scene = Scene::of(script).await;
    let told = scene.clients.say(&scene.session, "turn-1", "Hello.").await.expect("a turn");
    assert_eq!(told.reply().content, "So it is.");
    assert_eq!(told.evaluation(), EvaluationState::Failed);
    let evaluation = scene.evaluation(told.reply().seq).await;
    assert_eq!(evaluation.outcome(), Outcome::Failed);
    assert!(!evaluation.reason.is_empty());
}

#[tokio::test]
async fn the_running_copy_of_a_cards_book_is_no_ones_to_change() {
    let scene = Scene::of(samples::SCRIPT).await;
    let world_id = scene.cast.character.embedded_world_id.clone();
    let request = lorebook::UpdateWorldRequest {
        world: Some(lorebook::World { world_id, dynamic_enabled: true, ..Default::default() }),
        update_mask: Some(prost_types::FieldMask { paths: vec!["dynamic_enabled".to_owned()] }),
        request_id: "opt-in-embedded".to_owned(),
    };
    let refused = scene.clients.worlds.clone().update_world(request).await.refused();
    assert_eq!(reason(&refused), (Code::FailedPrecondition, Reason::WorldImmutable));
    drop(scene.world);
}

#[tokio::test]
async fn a_world_that_was_not_opted_in_is_never_judged() {
    let recording = Recording::of(samples::SCRIPT);
    let world = Plan::new().model(recording.clone()).near().await;
    let clients = world.clients();
    let staged = Stage::new().set(&clients).await.expect("set");
    let told = clients.say(&staged.session, "turn-1", job::FIRST).await.expect("a turn");
    assert_eq!(told.evaluation(), EvaluationState::NotAsked);
    assert!(recording.verdicts().is_empty());
}
