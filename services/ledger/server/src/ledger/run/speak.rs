//! Speaking: compile, request, stream the provider, complete.

use std::time::Duration;

use futures::StreamExt;
use kernel::{JobId, limits};
use ledger_core::{
    Decision,
    command::Text,
    decide::{Complete, Completed, Started},
    event::{Failure, Usage},
};
use model::{Event, FinishReason};

use super::{
    Reply, Stopped,
    compile::{Carry, Compiled},
    request::Ready,
};
use crate::{
    ledger::{
        append::Beside,
        evaluation::job_of,
        frames::{self, Frame},
        queue::EvaluateTurn,
        record::RequestRecord,
    },
    store::NewJob,
};

/// A reply that is in the ledger, and the evaluation that waits for it.
pub(super) struct Spoken {
    pub completed: Completed,
    pub offset: u64,
    pub job: Option<JobId>,
    pub wait_ms: i64,
}

/// A reply as far as it came.
#[derive(Default)]
struct Heard {
    text: String,
    /// Bytes that are in the scratch table already.
    flushed: usize,
    usage: Usage,
    finish: Option<FinishReason>,
}

// === impl Reply ===

impl Reply {
    pub(super) async fn speak(&self) -> Result<Spoken, Stopped> {
        let state = self.ledger.load(self.owner(), &self.session).await?.state;
        let compiled = self.compile(&state).await?;
        let fingerprint = compiled.summary.fingerprint.clone();
        let diagnostics = super::compile::diagnostics(&compiled.summary.diagnostics);
        self.run.show(Frame::Profile { fingerprint, diagnostics });

        let choice = state.settings().model.clone();
        let choice =
            choice.ok_or_else(|| Stopped::of(Failure::Provider, "the session names no model"))?;
        let provider = self.ledger.model(&choice.provider);
        let provider =
            provider.map_err(|error| Stopped::of(Failure::Provider, error.to_string()))?;
        let Ready { prompt, sent, record } = self.request(&compiled, &*provider).await?;
        self.run.show(Frame::Sent(sent));

        let request = model::Request { model: choice.name, prompt };
        let heard = self.listen(&*provider, request).await?;
        self.complete(heard, compiled, record).await
    }

    /// Streams the provider; every piece is shown at once and kept for other replicas now and then.
    async fn listen(
        &self,
        provider: &dyn model::ChatModel,
        request: model::Request,
    ) -> Result<Heard, Stopped> {
        let mut heard = Heard::default();
        let mut events = provider.stream(request).await.map_err(|error| heard.stopped(&error))?;
        let mut flush = tokio::time::interval(Duration::from_millis(limits::DELTA_FLUSH_MS));
        flush.tick().await;
        loop {
            tokio::select! {
                event = events.next() => match event {
                    None => return Ok(heard),
                    Some(Err(error)) => return Err(heard.stopped(&error)),
                    Some(Ok(event)) => self.hear(event, &mut heard)?,
                },
                _ = flush.tick() => self.flush(&mut heard).await,
            }
        }
    }

    fn hear(&self, event: Event, heard: &mut Heard) -> Result<(), Stopped> {
        match event {
            Event::Delta(text) => {
                let offset = heard.text.len() as u64;
                if heard.text.len() + text.len() > limits::TURN_BYTES_MAX {
                    let detail = format!("the reply exceeds {} bytes", limits::TURN_BYTES_MAX);
                    let partial = std::mem::take(&mut heard.text);
                    return Err(Stopped { failure: Failure::Provider, detail, partial });
                }
                heard.text.push_str(&text);
                self.run.show(Frame::Delta { offset, text });
            }
            Event::Usage(usage) => {
                heard.usage = Usage {
                    input_tokens: usage.input_tokens,
                    output_tokens: usage.output_tokens,
                    cached_tokens: usage.cached_tokens,
                };
            }
            Event::Finish(reason) => heard.finish = Some(reason),
        }
        Ok(())
    }

    /// A chunk that is not kept only delays a reader on another replica.
    async fn flush(&self, heard: &mut Heard) {
        let fresh = &heard.text[heard.flushed..];
        if fresh.is_empty() {
            return;
        }
        let Started { generation, fence, .. } = &self.started;
        let (store, at) = (self.ledger.store(), heard.flushed as u64);
        match store.put_chunk(self.owner(), generation, *fence, at, fresh).await {
            Ok(()) => heard.flushed = heard.text.len(),
            Err(error) => tracing::warn!(%error, "a piece of a running reply was not kept"),
        }
    }

    async fn complete(
        &self,
        heard: Heard,
        compiled: Compiled,
        record: RequestRecord,
    ) -> Result<Spoken, Stopped> {
        let carry = Carry {
            timed_state: compiled.summary.timed_state_json,
            variables: compiled.summary.variables_json,
        };
        let text = Text::or_empty(heard.text)
            .map_err(|error| Stopped::of(Failure::Provider, format!("the reply {error}")))?;
        let is_empty = text.as_str().trim().is_empty();
        let Started { generation, fence, .. } = &self.started;
        let verb = Complete {
            generation: generation.clone(),
            fence: *fence,
            text,
            usage: heard.usage,
            finish: heard.finish.as_ref().map(|finish| finish.name().to_owned()),
            carry: serde_json::to_value(&carry).ok(),
        };
        let job = |decision: &Decision<Completed>| {
            if is_empty { None } else { self.evaluation(decision, &record) }
        };
        let beside = |decision: &Decision<Completed>| {
            Ok(Beside { jobs: job(decision).into_iter().collect(), ..Beside::default() })
        };
        let decision = self.keep(verb, beside).await?;
        let seq = decision.outcome.seq;
        let turn = self.patiently(|| self.ledger.turn(self.owner(), &self.session, seq)).await?;
        let shown = frames::Completed { turn, usage: heard.usage };
        self.run.show(Frame::Completed(Box::new(shown)));
        Ok(Spoken {
            offset: decision.state.head().offset,
            job: job(&decision).map(|job| job.job),
            wait_ms: decision.state.settings().proposal.wait_ms,
            completed: decision.outcome,
        })
    }

    /// The evaluation to queue: only when the agent is on and a world in effect has opted in.
    fn evaluation(&self, decision: &Decision<Completed>, record: &RequestRecord) -> Option<NewJob> {
        let settings = decision.state.settings();
        let worlds: Vec<_> = record.worlds.iter().filter(|w| w.dynamic).cloned().collect();
        if !settings.proposal.agent || worlds.is_empty() {
            return None;
        }
        let completed = &decision.outcome;
        let own = decision.state.turn(completed.seq)?.slot()?.own;
        let work = EvaluateTurn {
            seq: completed.seq,
            turn: completed.turn.clone(),
            alternative: completed.alternative.clone(),
            attempt: 1,
            revision: completed.revision,
            own,
            worlds,
            user: record.user_name.clone(),
            character: record.character_name.clone(),
            model: settings.proposal.model.clone().or_else(|| settings.model.clone()),
            scopes: self.caller.principal.scopes.clone(),
        };
        let job = job_of(&completed.alternative);
        Some(NewJob { job, place: decision.state.head().offset, work: work.to_bytes() })
    }
}

// === impl Heard ===

impl Heard {
    /// The provider's failure, with the text that had come.
    fn stopped(&mut self, error: &model::Error) -> Stopped {
        Stopped {
            failure: Failure::Provider,
            detail: format!("{}: {error}", error.reason()),
            partial: std::mem::take(&mut self.text),
        }
    }
}
