//! The provider against a server in this process, the good answers and the bad ones.

use futures::TryStreamExt;

use super::*;
use crate::{
    CallConfig, Event, FinishReason, Usage,
    abilities::Names,
    adapt,
    testing::{Answer, Server},
};

const HELLO: &[&str] = &[
    r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
    r#"{"choices":[{"delta":{"content":"Hel"}}]}"#,
    r#"{"choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}"#,
    "[DONE]",
];

const COUNTED: Usage = Usage { input_tokens: 9, cached_tokens: 4, output_tokens: 2 };

fn provider(server: &Server, abilities: Abilities) -> OpenAi {
    OpenAi::new(&server.url, Some("secret-key".into()), abilities, Server::TIMING)
        .expect("a provider")
}

fn request(blocks: &[Block], call: CallConfig, abilities: &Abilities) -> Request {
    Request { model: "tiny".into(), prompt: adapt(blocks, &call, abilities) }
}

async fn stream(server: &Server) -> Result<Vec<Event>, Error> {
    let abilities = Abilities::openai_compatible();
    let blocks = [Block::new(Role::User, "hi")];
    let request = request(&blocks, CallConfig::default(), &abilities);
    provider(server, abilities).stream(request).await?.try_collect().await
}

async fn call(server: &Server, tools: ToolSupport) -> Result<ToolCall, Error> {
    let abilities = Abilities { tools, ..Abilities::openai_compatible() };
    let blocks = [Block::new(Role::User, "hi")];
    let request = request(&blocks, CallConfig::default(), &abilities);
    let tool = Tool {
        name: "judge".into(),
        description: "Judge it.".into(),
        parameters: json!({"type": "object"}),
    };
    provider(server, abilities).call_tool(request, &tool).await
}

fn tool_chunk(index: u64, name: &str, arguments: &str) -> String {
    let function = json!({"name": name, "arguments": arguments});
    let calls = json!([{"index": index, "function": function}]);
    json!({"choices": [{"delta": {"tool_calls": calls}}]}).to_string()
}

fn finished(reason: &str) -> String {
    json!({"choices": [{"delta": {}, "finish_reason": reason}]}).to_string()
}

fn events(pieces: &[String]) -> Answer {
    Answer::events(&pieces.iter().map(String::as_str).collect::<Vec<_>>())
}

#[tokio::test]
async fn a_reply_streams_and_its_usage_comes_before_its_finish() {
    let server = Server::start([Answer::events(HELLO)]).await;
    let said = stream(&server).await.expect("a reply");
    assert_eq!(
        said,
        [
            Event::Delta("Hel".into()),
            Event::Delta("lo".into()),
            Event::Usage(COUNTED),
            Event::Finish(FinishReason::Stop),
        ]
    );
}

#[tokio::test]
async fn a_server_that_never_says_done_but_gave_a_reason_has_finished() {
    let server = Server::start([Answer::events(&HELLO[..3])]).await;
    let said = stream(&server).await.expect("a reply");
    assert_eq!(said.last(), Some(&Event::Finish(FinishReason::Stop)));
}

#[tokio::test]
async fn the_body_says_what_was_asked_for() {
    let server = Server::start([Answer::events(HELLO)]).await;
    let common = Abilities::openai_compatible();
    let abilities = Abilities { completion_tokens: true, names: Names::Field, ..common };
    let call = CallConfig { temperature: Some(0.5), max_tokens: Some(7), ..CallConfig::default() };
    let blocks = [Block { name: Some("Ann".into()), ..Block::new(Role::User, "hi") }];
    let request = request(&blocks, call, &abilities);
    let _ = provider(&server, abilities).stream(request).await.expect("a reply");
    let seen = server.seen();
    assert_eq!(seen[0].authorization.as_deref(), Some("Bearer secret-key"));
    assert_eq!(seen[0].path, "/v1/chat/completions");
    let expected = json!({
        "model": "tiny", "messages": [{"role": "user", "name": "Ann", "content": "hi"}],
        "stream": true, "stream_options": {"include_usage": true},
        "temperature": 0.5, "max_completion_tokens": 7,
    });
    assert_eq!(seen[0].body, expected);
}

#[test]
fn where_roles_alternate_a_run_travels_as_parts_of_one_message() {
    let blocks = [Block::new(Role::User, "a"), Block::new(Role::User, "b")];
    let abilities = Abilities { alternating: true, ..Abilities::openai_compatible() };
    let parts = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
    assert_eq!(messages(&blocks, &abilities), [json!({"role": "user", "content": parts})]);
}

#[tokio::test]
async fn a_forced_call_is_put_together_from_its_pieces() {
    let pieces =
        [tool_chunk(0, "judge", "{\"a\""), tool_chunk(0, "judge", ":1}"), finished("tool_calls")];
    let server = Server::start([events(&pieces)]).await;
    let call = call(&server, ToolSupport::Forced).await.expect("a call");
    assert_eq!(call.arguments, json!({"a": 1}));
    let choice = json!({"type": "function", "function": {"name": "judge"}});
    assert_eq!(server.seen()[0].body["tool_choice"], choice);
}

#[tokio::test]
async fn of_several_calls_the_last_one_of_that_tool_wins() {
    let pieces = [
        tool_chunk(0, "judge", "{\"a\":1}"),
        tool_chunk(1, "judge", "{\"a\":2}"),
        tool_chunk(2, "other", "{}"),
        finished("tool_calls"),
    ];
    let server = Server::start([events(&pieces)]).await;
    let call = call(&server, ToolSupport::Forced).await.expect("a call");
    assert_eq!(call.arguments, json!({"a": 2}));
}

#[tokio::test]
async fn without_tools_the_schema_binds_the_text() {
    let text = json!({"choices": [{"delta": {"content": "{\"a\":3}"}}]}).to_string();
    let server = Server::start([events(&[text, finished("stop")])]).await;
    let call = call(&server, ToolSupport::JsonSchema).await.expect("a call");
    assert_eq!(call.arguments, json!({"a": 3}));
    let body = &server.seen()[0].body;
    assert_eq!(body["response_format"]["json_schema"]["schema"], json!({"type": "object"}));
    assert_eq!(body["messages"][1]["role"], "user");
    assert!(body["messages"][1]["content"].as_str().is_some_and(|text| text.contains("Judge it.")));
}

#[tokio::test]
async fn arguments_cut_at_the_token_limit_are_told_from_arguments_that_are_wrong() {
    let cut = [tool_chunk(0, "judge", "{\"a\":"), finished("length")];
    let wrong = [tool_chunk(0, "judge", "{a}"), finished("stop")];
    let server = Server::start([events(&cut), events(&wrong)]).await;
    let error = call(&server, ToolSupport::Forced).await.expect_err("cut off");
    assert_eq!(error, Error::ToolCutOff { tool: "judge".into() });
    let error = call(&server, ToolSupport::Forced).await.expect_err("wrong");
    assert_eq!(error.reason(), "TOOL_MALFORMED");
}

#[tokio::test]
async fn a_model_that_talks_instead_of_calling_is_reported() {
    let server = Server::start([Answer::events(HELLO)]).await;
    let error = call(&server, ToolSupport::Forced).await.expect_err("no call");
    assert_eq!(error, Error::ToolNotCalled { tool: "judge".into(), finish: "stop".into() });
    // One that used up its tokens thinking did not come to its call.
    let server = Server::start([events(&[finished("length")])]).await;
    let error = call(&server, ToolSupport::Forced).await.expect_err("nothing was called");
    assert_eq!(error, Error::ToolCutOff { tool: "judge".into() });
}

#[tokio::test]
async fn without_any_way_to_hold_the_output_nothing_is_sent() {
    let server = Server::start([]).await;
    assert_eq!(call(&server, ToolSupport::Absent).await, Err(Error::ToolsUnsupported));
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_busy_provider_is_tried_again_after_the_wait_it_asks_for() {
    let busy = Answer::Status(429, Some("0"), "{}");
    let server = Server::start([busy, Answer::events(HELLO)]).await;
    assert_eq!(stream(&server).await.expect("a reply").len(), 4);
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_wait_that_is_too_long_is_handed_to_the_caller() {
    let server = Server::start([Answer::Status(429, Some("3600"), "{}")]).await;
    let error = stream(&server).await.expect_err("too busy");
    assert_eq!(error, Error::RateLimited { retry_after_ms: Some(3_600_000) });
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_failing_provider_is_given_up_after_three_attempts() {
    let failing = || Answer::Status(503, None, r#"{"error":{"message":"loading"}}"#);
    let server = Server::start([failing(), failing(), failing(), Answer::events(HELLO)]).await;
    let error = stream(&server).await.expect_err("given up");
    assert_eq!(error, Error::Refused { status: 503, message: "loading".into() });
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_refusal_is_not_tried_again_and_does_not_give_the_key_away() {
    let body = r#"{"error":{"message":"bad key secret-key"}}"#;
    let server = Server::start([Answer::Status(401, None, body)]).await;
    let error = stream(&server).await.expect_err("refused");
    assert_eq!(error, Error::Refused { status: 401, message: "bad key [key]".into() });
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_stream_cut_before_its_first_word_is_tried_again() {
    let server = Server::start([Answer::Cut(&HELLO[..1]), Answer::events(HELLO)]).await;
    assert_eq!(stream(&server).await.expect("a reply").len(), 4);
}

#[tokio::test]
async fn a_stream_cut_after_its_first_word_is_an_error_and_not_tried_again() {
    let server = Server::start([Answer::Cut(&HELLO[..2]), Answer::events(HELLO)]).await;
    assert_eq!(stream(&server).await, Err(Error::CutOff));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_stream_that_ends_without_a_reason_was_cut() {
    let server = Server::start([Answer::events(&HELLO[..2])]).await;
    assert_eq!(stream(&server).await, Err(Error::CutOff));
}

#[tokio::test]
async fn a_chunk_that_is_not_json_is_malformed() {
    let server = Server::start([Answer::events(&["{\"choices\": oops"])]).await;
    assert_eq!(stream(&server).await.expect_err("malformed").reason(), "PROVIDER_MALFORMED");
}

#[tokio::test]
async fn an_error_inside_the_stream_ends_it_with_its_words() {
    let inside = r#"{"error":{"code":400,"message":"context too long"}}"#;
    let server = Server::start([Answer::events(&[HELLO[1], inside])]).await;
    let expected = Error::Refused { status: 400, message: "context too long".into() };
    assert_eq!(stream(&server).await, Err(expected));
}

#[tokio::test]
async fn an_answer_that_is_no_event_stream_is_malformed() {
    let server = Server::start([Answer::Status(200, None, "{}")]).await;
    assert_eq!(stream(&server).await.expect_err("malformed").reason(), "PROVIDER_MALFORMED");
}

#[tokio::test]
async fn a_provider_that_never_answers_times_out() {
    let server = Server::start([Answer::Silence(&[])]).await;
    assert!(matches!(stream(&server).await, Err(Error::TimedOut { doing: "thinking", .. })));
}

#[tokio::test]
async fn a_provider_that_falls_silent_times_out() {
    let server = Server::start([Answer::Silence(&HELLO[..2])]).await;
    assert!(matches!(stream(&server).await, Err(Error::TimedOut { doing: "writing", .. })));
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_unreachable() {
    let server = Server::start([]).await;
    let url = server.url.clone();
    drop(server);
    let abilities = Abilities::openai_compatible();
    let provider = OpenAi::new(&url, None, abilities.clone(), Server::TIMING).expect("a provider");
    let request = request(&[], CallConfig::default(), &abilities);
    assert_eq!(
        provider.stream(request).await.err().expect("away").reason(),
        "PROVIDER_UNREACHABLE"
    );
}
