//! A provider in this process that answers as told, once per request.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{Response, StatusCode},
};
use futures::{StreamExt, stream};
use serde_json::Value;

use crate::http::Timing;

/// How one request is answered.
pub(crate) enum Answer {
    /// A whole stream of these events.
    Events(Vec<String>),
    /// These events, then the connection breaks.
    Cut(&'static [&'static str]),
    /// These events, then nothing; without any, not even the head of an answer.
    Silence(&'static [&'static str]),
    /// A status, a `retry-after`, a JSON body.
    Status(u16, Option<&'static str>, &'static str),
}

/// One request as it came.
#[derive(Clone)]
pub(crate) struct Seen {
    pub path: String,
    pub authorization: Option<String>,
    pub body: Value,
}

/// A server that stops when it is dropped.
pub(crate) struct Server {
    pub url: String,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

struct Shared {
    answers: Mutex<VecDeque<Answer>>,
    seen: Mutex<Vec<Seen>>,
}

// === impl Answer ===

impl Answer {
    pub fn events(events: &[&str]) -> Self {
        Self::Events(events.iter().map(|event| (*event).to_owned()).collect())
    }
}

// === impl Server ===

impl Server {
    /// Short enough for tests of silence; no wait between attempts.
    pub const TIMING: Timing =
        Timing { connect_ms: 2_000, first_ms: 300, idle_ms: 300, retry_base_ms: 0 };

    pub async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let answers = Mutex::new(answers.into_iter().collect());
        let shared = Arc::new(Shared { answers, seen: Mutex::default() });
        let router = Router::new().fallback(answer).with_state(shared.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("a server");
        });
        Self { url, shared, task }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().expect("unpoisoned").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.expect("a body");
    let header = |name| head.headers.get(name).and_then(|value| Some(value.to_str().ok()?.into()));
    shared.seen.lock().expect("unpoisoned").push(Seen {
        path: head.uri.path().to_owned(),
        authorization: header("authorization").or_else(|| header("x-api-key")),
        body: serde_json::from_slice(&bytes).expect("JSON"),
    });
    let answer = shared.answers.lock().expect("unpoisoned").pop_front();
    match answer.expect("an answer for every request") {
        Answer::Events(events) => event_stream(Body::from(frames(&events))),
        Answer::Cut(events) => {
            let sent = Ok(Bytes::from(frames(events)));
            // A body that is not ready for a moment has what it gave so far sent out.
            let broken = stream::once(async {
                tokio::task::yield_now().await;
                Err(std::io::Error::other("cut"))
            });
            event_stream(Body::from_stream(stream::iter([sent]).chain(broken)))
        }
        Answer::Silence([]) => std::future::pending().await,
        Answer::Silence(events) => {
            let sent = Ok::<_, std::io::Error>(Bytes::from(frames(events)));
            event_stream(Body::from_stream(stream::iter([sent]).chain(stream::pending())))
        }
        Answer::Status(status, retry_after, body) => {
            let mut response = Response::builder()
                .status(StatusCode::from_u16(status).expect("a status"))
                .header("content-type", "application/json");
            if let Some(seconds) = retry_after {
                response = response.header("retry-after", seconds);
            }
            response.body(Body::from(body)).expect("a response")
        }
    }
}

fn event_stream(body: Body) -> Response<Body> {
    Response::builder().header("content-type", "text/event-stream").body(body).expect("a response")
}

fn frames<T: AsRef<str>>(events: &[T]) -> String {
    events.iter().map(|event| format!("data: {}\n\n", event.as_ref())).collect()
}
