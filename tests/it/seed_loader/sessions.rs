//! What sessions have bound is each session's own.

use tests::prelude::*;
use wire::mesh::v1 as mesh;

use super::{Bench, card, echoing, effective, on_each, preset, profile};

on_each! {
    two_sessions_have_each_their_preset_and_one_may_say_none
    forks_and_delegated_children_take_a_copy_of_the_selection_and_go_their_own_way
}

async fn default_preset(bench: &Bench, preset_id: &str) {
    let selection = loader::Selection { preset_id: preset_id.to_owned(), ..Default::default() };
    let request =
        loader::SetDefaultSelectionRequest { selection: Some(selection), ..Default::default() };
    bench.clients.selections.clone().set_default_selection(request).await.expect("set");
}

fn of_preset(preset_id: &str) -> loader::Selection {
    loader::Selection { preset_id: preset_id.to_owned(), ..Default::default() }
}

/// Seed 001, acceptance line 2: "two sessions may choose different presets, or say explicitly: no preset".
async fn two_sessions_have_each_their_preset_and_one_may_say_none(bench: &Bench) {
    let first = bench.preset("First", &preset(&[("main", "FIRST")])).await;
    let second = bench.preset("Second", &preset(&[("main", "SECOND")])).await;
    default_preset(bench, &first).await;
    let by_default = bench.session(None).await;
    let other = bench.session(Some(of_preset(&second))).await;
    let none = bench.session(Some(loader::Selection::default())).await;
    for round in 0..2 {
        let said = [
            bench.say(&by_default, "Well?").await,
            bench.say(&other, "Well?").await,
            bench.say(&none, "Well?").await,
        ];
        let has = |text| said.each_ref().map(|sent| sent.contains(text));
        assert_eq!(has("FIRST"), [true, false, false], "round {round}");
        assert_eq!(has("SECOND"), [false, true, false], "round {round}");
        assert_eq!(profile(&said[2]), "", "no preset, no profile");
        // What new sessions take is nothing to those that have their own.
        default_preset(bench, &second).await;
    }
    bench.select(&by_default, loader::Selection::default()).await.expect("set");
    assert!(!bench.say(&by_default, "Well?").await.contains("FIRST"), "at once");
    assert!(bench.say(&other, "Well?").await.contains("SECOND"), "the other one keeps its own");
}

async fn child_of(bench: &Bench, parent: &str, child: &str) {
    let request = mesh::InitSelectionRequest {
        session_id: child.to_owned(),
        selection: None,
        parent_session_id: parent.to_owned(),
    };
    bench.compiler().init_selection(request).await.expect("copied");
}

/// Seed 001, acceptance line 3: "ordinary forks and delegated subagents inherit a snapshot of the parent's selection (RP
/// state included), and then do not move with each other". Checklist, characters 5: "fork, subagent".
async fn forks_and_delegated_children_take_a_copy_of_the_selection_and_go_their_own_way(
    bench: &Bench,
) {
    let world = bench.lore(&[("", "LORE")]).await;
    let rp = loader::RpSelection {
        active: true,
        source: "command".to_owned(),
        follow_suppressed: true,
        sandbox_before: "workspace-write".to_owned(),
    };
    let selection = loader::Selection {
        preset_id: bench.preset("P", &preset(&[("main", "M")])).await,
        character_id: bench
            .card(&card("Mira", serde_json::json!({ "alternate_greetings": ["b"] })))
            .await
            .character_id,
        user_id: bench.user("Bob", "U").await,
        world_ids: vec![world],
        options: Some(loader::SelectionOptions { greeting_index: 1, ..Default::default() }),
        rp: Some(rp),
    };
    let parent = bench.session(Some(selection)).await;
    let at_that_moment = bench.selection(&parent).await.selection;
    child_of(bench, &parent, "fork").await;
    child_of(bench, &parent, "delegated").await;
    child_of(bench, "delegated", "delegated-again").await;
    let copied = bench.session(Some(loader::Selection::default())).await;
    let request = loader::CopySelectionRequest {
        from_session_id: parent.clone(),
        to_session_id: copied.clone(),
        ..Default::default()
    };
    bench.clients.selections.clone().copy_selection(request).await.expect("copied");
    let children = ["fork", "delegated", "delegated-again", &copied];
    for child in children {
        assert_eq!(bench.selection(child).await.selection, at_that_moment, "{child}");
        let keys = bench.previewed(child, "Well?").await.segments;
        let keys: Vec<_> = keys.iter().map(|segment| segment.key.as_str()).collect();
        assert!(keys.contains(&"rp:policy"), "{child}: {keys:?}");
    }
    bench.select(&parent, loader::Selection::default()).await.expect("set");
    assert_eq!(bench.selection("fork").await.selection, at_that_moment, "the parent moved");
    bench.select("fork", loader::Selection::default()).await.expect("set");
    for child in &children[1..] {
        assert_eq!(
            bench.selection(child).await.selection,
            at_that_moment,
            "{child}: a sibling moved"
        );
    }
    assert_eq!(bench.selection(&parent).await.selection, bench.selection("fork").await.selection);
    // A retried fork keeps what the first attempt gave it.
    child_of(bench, &copied, "fork").await;
    let fork = bench.selection("fork").await.selection.expect("one");
    assert_eq!(fork.character_id, "");
}

/// Seed 001, acceptance line 7: "the characters' API uses the one session policy; … so that an unbound card does not
/// come back after a restart". Checklist, characters 2: "the session's choice lives in the session selection".
#[tokio::test]
async fn a_card_that_was_unbound_is_unbound_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::of(echoing().in_folder(folder.path()).near().await);
    let character =
        bench.card(&card("Mira", serde_json::json!({ "description": "DESCRIPTION" }))).await;
    let bound =
        loader::Selection { character_id: character.character_id.clone(), ..Default::default() };
    let (session, other) =
        (bench.session(Some(bound.clone())).await, bench.session(Some(bound)).await);
    assert!(bench.say(&session, "Well?").await.contains("DESCRIPTION"));
    bench.select(&session, loader::Selection::default()).await.expect("unbound");
    let Bench { world, clients, links } = bench;
    drop((clients, links));
    world.end().await;

    let bench = Bench::of(echoing().in_folder(folder.path()).near().await);
    let selection = bench.selection(&session).await.selection.expect("one");
    assert_eq!(selection.character_id, "");
    assert!(!bench.say(&session, "Well?").await.contains("DESCRIPTION"));
    assert!(bench.say(&other, "Well?").await.contains("DESCRIPTION"), "the other session keeps it");
    assert_eq!(effective(&bench.selection(&session).await), []);
}

/// What two conversations that run at the same time send: each its own preset's text, never the other's.
///
/// Seed 001, checklist, characters 5: "two sessions"; and acceptance line 2 under load.
async fn never_each_others_text(bench: &Bench) {
    const SESSIONS: usize = 8;
    const TURNS: usize = 6;
    let mut sessions = Vec::new();
    for at in 0..SESSIONS {
        let name = format!("TEXT-OF-{at}-ALONE");
        let world = bench.lore(&[("", &format!("LORE {name}"))]).await;
        let fields = serde_json::json!({ "description": format!("CARD {name}") });
        let selection = loader::Selection {
            preset_id: bench
                .preset("P", &preset(&[("main", &name), ("worldInfoBefore", "")]))
                .await,
            character_id: bench.card(&card("Mira", fields)).await.character_id,
            user_id: bench.user(&format!("User {at}"), &format!("USER {name}")).await,
            world_ids: vec![world],
            ..Default::default()
        };
        sessions.push(bench.session_in(MODES[at % 3], Some(selection)).await);
    }
    let talks = sessions.iter().enumerate().map(|(at, session)| async move {
        for turn in 0..TURNS {
            let sent = bench.say(session, &format!("turn {turn}")).await;
            let text = sent.text();
            for part in ["", "LORE ", "CARD ", "USER "] {
                let own = format!("{part}TEXT-OF-{at}-ALONE");
                assert!(text.contains(&own), "{own} is not in the request of session {at}");
            }
            for other in (0..SESSIONS).filter(|other| *other != at) {
                let others = format!("TEXT-OF-{other}-ALONE");
                assert!(!text.contains(&others), "session {at} was sent {others}");
            }
        }
    });
    futures::future::join_all(talks).await;
}

on_each! { never_each_others_text }
