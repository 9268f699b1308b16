//! The provider against a server in this process.

use futures::TryStreamExt;

use super::*;
use crate::{
    CallConfig, Event, FinishReason, Usage, adapt,
    testing::{Answer, Server},
};

const START: &str = r#"{"type":"message_start","message":{"usage":{"input_tokens":3,"cache_read_input_tokens":40,"cache_creation_input_tokens":7,"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn delta(reason: &str) -> String {
    let stop = json!({"stop_reason": reason});
    json!({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 5}}).to_string()
}

fn provider(server: &Server) -> Anthropic {
    let key = Some("secret-key".into());
    Anthropic::new(&server.url, key, Abilities::anthropic(), Server::TIMING).expect("a provider")
}

fn request(blocks: &[Block]) -> Request {
    let call = CallConfig { temperature: Some(1.7), ..CallConfig::default() };
    Request { model: "claude".into(), prompt: adapt(blocks, &call, &Abilities::anthropic()) }
}

#[tokio::test]
async fn a_reply_streams_and_the_cache_counts_as_input() {
    let text = |text| json!({"type": "content_block_delta", "delta": {"text": text}}).to_string();
    let (one, two, end) = (text("Hel"), text("lo"), delta("end_turn"));
    let ping = r#"{"type":"ping"}"#;
    let server = Server::start([Answer::events(&[START, ping, &one, &two, &end, STOP])]).await;
    let stream = provider(&server).stream(request(&[Block::new(Role::User, "hi")])).await;
    let said: Vec<Event> = stream.expect("a reply").try_collect().await.expect("all of it");
    let usage = Usage { input_tokens: 50, cached_tokens: 40, output_tokens: 5 };
    assert_eq!(
        said,
        [
            Event::Delta("Hel".into()),
            Event::Delta("lo".into()),
            Event::Usage(usage),
            Event::Finish(FinishReason::Stop),
        ]
    );
}

#[tokio::test]
async fn a_forced_call_is_put_together_from_its_pieces() {
    let begin = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","name":"judge"}}"#;
    let piece = |json| {
        let delta = json!({"type": "input_json_delta", "partial_json": json});
        json!({"type": "content_block_delta", "index": 1, "delta": delta}).to_string()
    };
    let (one, two, end) = (piece("{\"a\""), piece(":1}"), delta("tool_use"));
    let server = Server::start([Answer::events(&[START, begin, &one, &two, &end, STOP])]).await;
    let tool = Tool { name: "judge".into(), description: "".into(), parameters: json!({}) };
    let call = provider(&server).call_tool(request(&[Block::new(Role::User, "hi")]), &tool).await;
    assert_eq!(call.expect("a call").arguments, json!({"a": 1}));
    let seen = &server.seen()[0];
    assert_eq!(seen.body["tool_choice"], json!({"type": "tool", "name": "judge"}));
    assert_eq!(seen.authorization.as_deref(), Some("secret-key"));
}

#[tokio::test]
async fn an_overloaded_provider_is_tried_again_before_its_first_word_only() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
    let text = json!({"type": "content_block_delta", "delta": {"text": "Hel"}}).to_string();
    let server = Server::start([
        Answer::events(&[START, overloaded]),
        Answer::events(&[START, &text, overloaded]),
    ])
    .await;
    let stream = provider(&server).stream(request(&[Block::new(Role::User, "hi")])).await;
    let ended = stream.expect("the second attempt").try_collect::<Vec<_>>().await;
    assert_eq!(ended, Err(Error::Refused { status: 529, message: "busy".into() }));
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn blocks_become_parts_and_the_newest_ones_are_marked_for_the_cache() {
    let blocks = [
        Block::new(Role::System, "s"),
        Block::new(Role::Assistant, "opening"),
        Block::new(Role::User, "a"),
        Block::new(Role::Developer, "b"),
    ];
    let body = Value::Object(body(&request(&blocks)));
    let cached = json!({"type": "ephemeral"});
    assert_eq!(body["system"], json!([{"type": "text", "text": "s", "cache_control": cached}]));
    let roles: Vec<_> =
        body["messages"].as_array().expect("messages").iter().map(|m| m["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    let last = &body["messages"][2]["content"];
    assert_eq!(last[0], json!({"type": "text", "text": "a"}));
    assert_eq!(last[1]["cache_control"], cached);
    assert_eq!(body["temperature"], json!(1.0));
    assert_eq!(body["max_tokens"], json!(4096));
}
