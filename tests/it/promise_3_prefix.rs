//! Unless a caller asks for a rewrite by name, each request extends the previous one's bytes.

use model::{
    Abilities,
    abilities::{DeveloperRole, Names, SystemRole},
};
use tests::{prelude::*, recording::Blocks};

use common::ProfileMode;
use ledger::BreakCause;

/// The judge proposes after every turn, whatever the provider's roles made of the question.
const SCRIPT: &str = r#"
[[reply]]
text = "I hear you."

[[tool]]
name = "propose_world_changes"
arguments = '''{"operations": [{"rationale": "r", "op": "revise", "target_entry_id": 2,
    "name": "The bell", "content": "The harbour bell lies four fathoms deep."}], "summary": "Sunk."}'''
"#;

/// A conversation with everything in it that may happen between two requests.
async fn converse(clients: &Clients) -> (String, Vec<Told>) {
    let cast = clients.cast().await.expect("imported");
    let session = clients.opened(&cast, ProfileMode::Journal).await.expect("opened");
    let say = async |at: usize, text: &str| {
        clients.say(&session, &format!("turn-{at}"), text).await.expect("a turn")
    };
    let mut told = vec![say(0, job::FIRST).await];
    let changeset = told[0].proposed()[0].changeset_id.clone();
    add(clients, &session, "weather", "Fog from the north.").await;
    told.push(say(1, "Is that the wreckers' fire, at night, in fog?").await);
    clients.apply(&changeset).await.expect("applied");
    add(clients, &session, "weather", "The fog lifts.").await;
    told.push(say(2, job::SECOND).await);
    let aside = job::authored("*The lamp gutters, and burns on.*");
    clients.write(&session, "aside", aside).await.expect("written");
    told.push(say(3, "Mind the lamp!").await);
    clients.undo(&changeset).await.expect("undone");
    told.push(say(4, job::THIRD).await);
    let without_message = ledger::SubmitTurnRequest {
        session_id: session.clone(),
        request_id: "go-on".to_owned(),
        ..Default::default()
    };
    told.push(clients.submit(without_message).await.expect("a turn"));
    told.push(say(5, "Good night.").await);
    (session, told)
}

async fn add(clients: &Clients, session: &str, key: &str, content: &str) {
    for key in [Some(key.to_owned()), None] {
        let request = ledger::AddContextRequest {
            session_id: session.to_owned(),
            request_id: format!("add-{}-{}", content.len(), key.is_some()),
            key,
            content: content.to_owned(),
            expected_head: 0,
        };
        clients.contexts.clone().add_context(request).await.expect("added");
    }
}

#[track_caller]
fn each_extends_the_one_before(replies: &[Blocks]) {
    for (earlier, later) in replies.iter().zip(&replies[1..]) {
        assert!(later.len() > earlier.len(), "something was said in between");
        let same = earlier.iter().zip(later).position(|(a, b)| a != b);
        assert_eq!(same, None, "{earlier:#?}\n{later:#?}");
    }
}

async fn check(abilities: Abilities) {
    let recording = Recording::with_abilities(SCRIPT, abilities);
    let world = Plan::new().model(recording.clone()).near().await;
    let clients = world.clients();
    let (session, told) = converse(&clients).await;
    each_extends_the_one_before(&recording.replies());
    let mut earlier: Option<Sent> = None;
    for told in told {
        let prefix = told.request().shared_prefix.expect("always");
        assert_eq!(prefix.break_cause(), BreakCause::Unspecified, "{prefix:?}");
        let sent = clients.sent(&session, told.request().offset).await.expect("kept");
        assert!(sent.is_exact());
        if let Some(earlier) = earlier {
            assert!(sent.extends(&earlier));
            assert_eq!(prefix.blocks as usize, earlier.blocks.len());
        }
        earlier = Some(sent);
    }
}

#[tokio::test]
async fn with_a_provider_that_takes_everything() {
    check(Abilities::everything()).await;
}

#[tokio::test]
async fn with_a_provider_that_wants_a_user_first_and_knows_no_developer() {
    check(Abilities {
        user_first: true,
        developer: DeveloperRole::User,
        system: SystemRole::Leading,
        names: Names::InText,
        ..Abilities::everything()
    })
    .await;
}

#[tokio::test]
async fn with_a_provider_that_knows_no_system_role() {
    let abilities = Abilities::everything();
    check(Abilities { developer: DeveloperRole::System, system: SystemRole::Absent, ..abilities })
        .await;
}

#[tokio::test]
async fn what_breaks_the_prefix_is_named() {
    let world = World::near().await;
    let clients = world.clients();
    let cast = clients.cast().await.expect("imported");
    let session = clients.opened(&cast, ProfileMode::Journal).await.expect("opened");
    let guided = ledger::SubmitTurnRequest {
        session_id: session.clone(),
        request_id: "guided".to_owned(),
        content: Some(job::FIRST.to_owned()),
        guidance: "Answer in one word.".to_owned(),
        ..Default::default()
    };
    let first = clients.submit(guided).await.expect("a turn");
    let second = clients.say(&session, "turn-2", job::SECOND).await.expect("a turn");
    let third = clients.say(&session, "turn-3", job::THIRD).await.expect("a turn");

    let guided = clients.sent(&session, first.request().offset).await.expect("kept");
    assert!(guided.blocks.last().expect("blocks").text.contains("Answer in one word."));
    let prefix = second.request().shared_prefix.expect("always");
    assert_eq!(prefix.break_cause(), BreakCause::Guidance);
    assert_eq!(prefix.first_differing_block as usize, guided.blocks.len() - 1);
    let after = clients.sent(&session, second.request().offset).await.expect("kept");
    assert!(!after.contains("Answer in one word."), "guidance never becomes history");
    let prefix = third.request().shared_prefix.expect("always");
    assert_eq!(prefix.break_cause(), BreakCause::Unspecified, "one request later it holds again");
}

#[tokio::test]
async fn the_rebuilding_modes_say_what_they_cost() {
    for mode in [ProfileMode::InChat, ProfileMode::Contract] {
        let world = World::near().await;
        let clients = world.clients();
        let cast = clients.cast().await.expect("imported");
        let session = clients.opened(&cast, mode).await.expect("opened");
        clients.say(&session, "turn-1", job::FIRST).await.expect("a turn");
        let second = clients.say(&session, "turn-2", job::SECOND).await.expect("a turn");
        let prefix = second.request().shared_prefix.expect("always");
        let whole = prefix.break_cause() == BreakCause::Unspecified;
        assert!(whole || prefix.break_cause() == BreakCause::Mode, "{mode:?}: {prefix:?}");
        assert!(prefix.bytes <= prefix.total_bytes && prefix.total_bytes > 0);
    }
}
