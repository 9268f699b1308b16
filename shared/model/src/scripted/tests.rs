//! What a script answers to what.

use futures::StreamExt;
use prompt::{Block, Role};
use serde_json::json;

use super::*;
use crate::{CallConfig, adapt};

const SCRIPT: &str = r#"
    chunk_chars = 4

    [[reply]]
    when = "door"
    turn = 1
    text = "It creaks."

    [[reply]]
    when = "break"
    text = "Oh n"
    fail = "CUT_OFF"

    [[reply]]
    text = "You said {message}"

    [[tool]]
    name = "judge"
    when = "door"
    arguments = '{"open": true}'
"#;

fn request(blocks: &[(Role, &str)]) -> Request {
    let blocks: Vec<Block> = blocks.iter().map(|(role, text)| Block::new(*role, *text)).collect();
    let prompt = adapt(&blocks, &CallConfig::default(), &Abilities::everything());
    Request { model: "any".into(), prompt }
}

async fn events(blocks: &[(Role, &str)]) -> Vec<Result<Event, Error>> {
    let model = Scripted::parse(SCRIPT).expect("a script");
    model.stream(request(blocks)).await.expect("a reply").collect().await
}

fn text(events: &[Result<Event, Error>]) -> String {
    let delta = |event: &Result<Event, Error>| match event {
        Ok(Event::Delta(text)) => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(delta).collect()
}

#[track_caller]
fn refused(script: &str, expected: &str) {
    let error = Scripted::parse(script).err().expect("a refusal").to_string();
    assert!(error.contains(expected), "{error}");
}

#[tokio::test]
async fn the_first_rule_whose_conditions_hold_answers_in_chunks() {
    let said = events(&[(Role::Assistant, "Hello"), (Role::User, "Open the DOOR")]).await;
    assert_eq!(said[0], Ok(Event::Delta("It c".into())));
    assert_eq!(text(&said), "It creaks.");
    assert_eq!(said.last(), Some(&Ok(Event::Finish(FinishReason::Stop))));
}

#[tokio::test]
async fn a_rule_with_another_turn_is_passed_over() {
    assert_eq!(text(&events(&[(Role::User, "door")]).await), "You said door");
}

#[tokio::test]
async fn the_same_request_gets_the_same_answer() {
    let blocks = [(Role::User, "hi")];
    assert_eq!(events(&blocks).await, events(&blocks).await);
}

#[tokio::test]
async fn a_scripted_failure_comes_after_its_text() {
    let said = events(&[(Role::User, "break")]).await;
    assert_eq!(said, [Ok(Event::Delta("Oh n".into())), Err(Error::CutOff)]);
}

#[tokio::test]
async fn a_tool_call_is_found_by_name_and_message() {
    let model = Scripted::parse(SCRIPT).expect("a script");
    let tool =
        |name: &str| Tool { name: name.into(), description: "".into(), parameters: json!({}) };
    let call = model.call_tool(request(&[(Role::User, "the door")]), &tool("judge")).await;
    assert_eq!(call.expect("a call").arguments, json!({"open": true}));
    let none = model.call_tool(request(&[(Role::User, "the door")]), &tool("other")).await;
    assert_eq!(none.expect_err("nothing").reason(), "UNSCRIPTED");
}

#[test]
fn arguments_that_are_not_json_are_refused_with_their_place() {
    refused("[[tool]]\nname = 'x'\narguments = '{'", "tool rule 0");
}

#[test]
fn a_key_that_no_rule_has_is_refused() {
    refused("[[reply]]\ntext = 'x'\nwhem = 'y'", "whem");
}

#[test]
fn chunks_of_nothing_are_refused() {
    refused("chunk_chars = 0", "chunk_chars");
}
