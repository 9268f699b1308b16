//! Submitting a turn: append the message, start the reply, follow it; a retry finds it again.

use std::{future, time::Duration};

use host::caller::Caller;
use kernel::{GenerationId, RequestId, SessionId, limits};
use ledger_core::{
    command::Text,
    decide::{Started, Submit, TakeOver},
    settings::ModelChoice,
};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tracing::Instrument as _;
use wire::ledger::v1 as pb;

use super::{
    Ledger,
    append::{Beside, WriteError, Writer},
    frames::FrameStream,
    run::Reply,
};
use crate::{
    attempt::Attempt,
    error::{Error, Result},
};

const GENERATION_DEADLINE: Duration =
    Duration::from_millis(limits::GENERATION_DEADLINE_MS.unsigned_abs());

/// What a caller submits.
#[derive(Clone)]
pub struct SubmitTurn {
    pub attempt: Attempt,
    pub request_id: RequestId,
    pub session: SessionId,
    pub content: Option<Text>,
    pub guidance: Option<Text>,
    pub expected_head: Option<u64>,
    pub sampling: Option<pb::Sampling>,
}

/// A caller who submits again, and so may take over what a dead process left.
#[derive(Clone)]
pub(super) struct Heir {
    caller: Caller,
    submit: SubmitTurn,
}

/// What the stored answer refers to.
#[derive(Debug, Serialize, Deserialize)]
struct Reference {
    session: SessionId,
    generation: GenerationId,
}

// === impl Ledger ===

impl Ledger {
    /// Submits a turn, or follows the one that this attempt submitted before (then the flag is set). What
    /// is begun is produced, whether or not the caller is still there when it has begun.
    pub async fn submit(&self, caller: &Caller, submit: SubmitTurn) -> Result<(FrameStream, bool)> {
        let (ledger, caller) = (self.clone(), caller.clone());
        let begin = async move { ledger.begin(&caller, submit).await };
        self.whole(begin, |_| future::ready(())).await
    }

    async fn begin(&self, caller: &Caller, submit: SubmitTurn) -> Result<(FrameStream, bool)> {
        if let Some(reference) = self.answered(&submit.attempt).await? {
            return Ok((self.reattach(caller, &submit, &reference).await?, true));
        }
        let owner = &caller.principal.owner;
        let loaded = self.load(owner, &submit.session).await?;
        let model = loaded.state.settings().model.as_ref();
        self.model(model.map_or("", |model| model.provider.as_str()))?;
        fits(submit.sampling.as_ref(), model)?;

        let generation = match &submit.attempt.scope {
            Some(scope) => GenerationId::derived(&scope.parts()),
            None => GenerationId::from(self.inner.clock.fresh()),
        };
        let reference =
            Reference { session: submit.session.clone(), generation: generation.clone() };
        let reference = serde_json::to_vec(&reference).unwrap_or_default();
        let verb = Submit {
            generation,
            content: submit.content.clone(),
            guidance: submit.guidance.clone(),
        };
        let mut writer = Writer::of(caller, Some(submit.request_id.clone()));
        writer.expected_head = submit.expected_head;
        let written = self.write(&writer, &submit.session, verb, |_| {
            Ok(Beside { answer: submit.attempt.entry(&reference), ..Beside::default() })
        });
        match written.await {
            Ok(decision) => {
                let started = decision.outcome;
                let heir = Heir { caller: caller.clone(), submit };
                Ok((self.start(&heir, started), false))
            }
            Err(error) => {
                let reference = self.or_answered(&submit.attempt, error).await?;
                Ok((self.reattach(caller, &submit, &reference).await?, true))
            }
        }
    }

    /// The frames of an attempt that is running or over; a dead one is taken over in its slot.
    async fn reattach(
        &self,
        caller: &Caller,
        submit: &SubmitTurn,
        reference: &[u8],
    ) -> Result<FrameStream> {
        let reference: Reference = serde_json::from_slice(reference)
            .map_err(|error| Error::Internal(format!("a stored answer: {error}")))?;
        let owner = &caller.principal.owner;
        if let Some(run) = self.inner.board.find(&owner.tenant, &reference.generation) {
            return Ok(self.follow_run(owner, &reference.generation, run, None));
        }
        let row = self.generation_row(owner, &reference.generation).await?;
        let heir = Heir { caller: caller.clone(), submit: submit.clone() };
        if row.running
            && row.dead
            && let Some(frames) =
                self.take_over(&heir, &reference.session, &reference.generation).await?
        {
            return Ok(frames);
        }
        self.follow(owner.clone(), row, 0, Some(heir)).await
    }

    /// The frames of the attempt that goes on with a dead one's slot; nothing where somebody else took the
    /// generation over, or closed it.
    pub(super) async fn take_over(
        &self,
        heir: &Heir,
        session: &SessionId,
        generation: &GenerationId,
    ) -> Result<Option<FrameStream>> {
        let (ledger, heir) = (self.clone(), heir.clone());
        let (session, generation) = (session.clone(), generation.clone());
        let go_on = async move {
            let started = ledger.decide_take_over(&heir, &session, &generation).await?;
            Ok(started.map(|started| ledger.start(&heir, started)))
        };
        self.whole(go_on, |_| future::ready(())).await
    }

    async fn decide_take_over(
        &self,
        heir: &Heir,
        session: &SessionId,
        generation: &GenerationId,
    ) -> Result<Option<Started>> {
        let verb =
            TakeOver { generation: generation.clone(), guidance: heir.submit.guidance.clone() };
        let writer = Writer::of(&heir.caller, Some(heir.submit.request_id.clone()));
        let none = |_: &_| Ok(Beside::default());
        match self.write(&writer, session, verb, none).await {
            Ok(decision) => {
                Ok(Some(Started { message: message_of(&decision), ..decision.outcome }))
            }
            Err(
                WriteError::Answered | WriteError::Failed(Error::Rejected(_) | Error::LeaseLost),
            ) => Ok(None),
            Err(WriteError::Failed(error)) => Err(error),
        }
    }

    /// Produces the reply, whoever follows it.
    fn start(&self, heir: &Heir, started: Started) -> FrameStream {
        let Heir { caller, submit } = heir;
        let Started { generation, fence, .. } = &started;
        let run = self.inner.board.begin(caller.tenant(), generation, *fence);
        let owner = &caller.principal.owner;
        let frames = self.follow_run(owner, generation, run.clone(), None);
        let reply = Reply {
            ledger: self.clone(),
            caller: caller.clone(),
            session: submit.session.clone(),
            started,
            sampling: submit.sampling.clone(),
            run,
            deadline: Instant::now() + GENERATION_DEADLINE,
        };
        let span = tracing::info_span!(
            "generation",
            session = %submit.session,
            generation = %reply.started.generation
        );
        self.inner.shutdown.spawn(reply.run().instrument(span));
        frames
    }
}

/// Refuses a reply that may be longer than the model's window.
fn fits(sampling: Option<&pb::Sampling>, model: Option<&ModelChoice>) -> Result<()> {
    let asked = sampling.and_then(|sampling| sampling.max_tokens).unwrap_or(0);
    match model.map_or(0, |model| model.window_tokens) {
        window if window > 0 && asked > window => {
            let why = format!("is {asked}, the model's window holds {window} tokens");
            Err(Error::invalid("sampling.max_tokens", why))
        }
        _ => Ok(()),
    }
}

/// The user's message of a slot that is taken over.
fn message_of(decision: &ledger_core::Decision<Started>) -> Option<(u64, kernel::TurnId)> {
    let slot = decision.state.turn(decision.outcome.slot)?.slot()?;
    let own = slot.own?;
    Some((own, decision.state.turn(own)?.id.clone()))
}
