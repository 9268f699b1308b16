//! Judging one finished turn: worlds read afresh, one forced call, validated, staged in one transaction.
//!
//! Whatever fails costs the turn nothing and stands with its reason on the evaluation. Only what may pass by
//! itself, a store or a peer that is away, has the job tried again.

use std::{sync::Arc, time::Duration};

use host::caller::Caller;
use kernel::{AlternativeId, Clock, SessionId, WorldId, limits};
use model::{CallConfig, FinishReason, Registry, Request, Tool, ToolCall, adapt};
use proposal_core::{
    Catalogue, Changeset, Evaluation, Exchange, JudgedTurn, Judgement, Operation, Outcome,
    Rejected, Room, Source, Stage, World, catalogue, judge, validate,
};
use wire::mesh::v1::EvaluateTurn;

use crate::{
    error::Error,
    lore::{Lore, Wanted, is_open},
    store::Store,
};

pub(crate) struct Judge {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    lore: Lore,
    models: Registry,
}

/// What a job asks for, once its ids are well formed.
struct Task<'a> {
    turn: JudgedTurn,
    exchange: Exchange,
    job: &'a EvaluateTurn,
}

/// A job that no attempt can do.
#[derive(Debug, thiserror::Error)]
#[error("the job's {0} is not an id")]
pub(crate) struct Malformed(&'static str);

// === impl Judge ===

impl Judge {
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, lore: Lore, models: Registry) -> Self {
        Self { store, clock, lore, models }
    }

    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// The evaluation of this attempt and what it has staged; made now, or found from an earlier lease.
    pub async fn evaluate(
        &self,
        caller: &Caller,
        job: &EvaluateTurn,
    ) -> Result<Result<(Evaluation, Vec<Changeset>), Malformed>, Error> {
        let task = match Task::read(job) {
            Ok(task) => task,
            Err(malformed) => return Ok(Err(malformed)),
        };
        let owner = &caller.principal.owner;
        if let Some(found) = self.store.evaluation(owner, &task.turn).await? {
            let staged = self.store.changesets_of(owner, &found.id).await?;
            return Ok(Ok((found, staged)));
        }
        let (evaluation, changesets) = self.make(caller, &task).await?;
        if self.store.stage(&evaluation, &changesets).await? {
            return Ok(Ok((evaluation, changesets)));
        }
        // Another lease of the same job was faster; what it has stored stands.
        let found = self.store.evaluation(owner, &task.turn).await?.unwrap_or(evaluation);
        let staged = self.store.changesets_of(owner, &found.id).await?;
        Ok(Ok((found, staged)))
    }

    async fn make(
        &self,
        caller: &Caller,
        task: &Task<'_>,
    ) -> Result<(Evaluation, Vec<Changeset>), Error> {
        let mut evaluation = task.unjudged(caller, &*self.clock);
        let worlds = self.worlds(caller, task.job).await?;
        if worlds.is_empty() {
            return Ok((evaluation, Vec::new()));
        }
        evaluation.model = task.model();
        let room = task.room();
        let catalogue = catalogue(&worlds, &task.exchange, &room);
        let called = match self.ask(task, &catalogue, &room).await {
            Ok(called) => called,
            Err(error) => {
                evaluation.outcome = Outcome::Failed;
                evaluation.reason = format!("{}: {error}", error.reason());
                return Ok((evaluation, Vec::new()));
            }
        };
        evaluation.input_tokens = called.usage.input_tokens;
        evaluation.output_tokens = called.usage.output_tokens;
        evaluation.reason = cut(&called.finish).unwrap_or_default().to_owned();
        let judgement = match validate(&called.arguments, &worlds, &catalogue) {
            Ok(judgement) => judgement,
            Err(unusable) => {
                evaluation.outcome = Outcome::Failed;
                evaluation.reason = format!("ANSWER_UNUSABLE: {unusable}");
                return Ok((evaluation, Vec::new()));
            }
        };
        let judgement = self.confirm(caller, &evaluation, &worlds, judgement).await?;
        evaluation.outcome = judgement.outcome();
        evaluation.rejected = judgement.rejected.clone();
        let changesets = task.changesets(&evaluation, &worlds, judgement);
        Ok((evaluation, changesets))
    }

    /// The job's worlds as they are right now; one that dropped out does not disturb the others.
    async fn worlds(&self, caller: &Caller, job: &EvaluateTurn) -> Result<Vec<World>, Error> {
        let mut worlds: Vec<World> = Vec::new();
        for target in &job.worlds {
            let Ok(id) = WorldId::new(&target.world_id) else { continue };
            if worlds.iter().any(|world| world.id == id) {
                continue;
            }
            worlds.extend(self.lore.opted_in(caller, &id).await?);
        }
        Ok(worlds)
    }

    /// The one forced call.
    async fn ask(
        &self,
        task: &Task<'_>,
        catalogue: &Catalogue,
        room: &Room,
    ) -> Result<ToolCall, model::Error> {
        let target = task.job.model.clone().unwrap_or_default();
        let provider = self.models.get(&target.provider)?;
        let call = CallConfig {
            temperature: Some(judge::TEMPERATURE),
            max_tokens: Some(room.answer_tokens),
            ..CallConfig::default()
        };
        let blocks = judge::blocks(catalogue, &task.exchange, room);
        let prompt = adapt(&blocks, &call, provider.abilities());
        let tool = Tool {
            name: judge::TOOL_NAME.into(),
            description: judge::TOOL_DESCRIPTION.into(),
            parameters: judge::tool_schema(),
        };
        let after_ms = limits::JUDGE_MS_MAX;
        let asked = provider.call_tool(Request { model: target.name, prompt }, &tool);
        tokio::time::timeout(Duration::from_millis(after_ms), asked)
            .await
            .unwrap_or(Err(model::Error::TimedOut { doing: "judging", after_ms }))
    }

    /// Lorebook has the last word on each operation, at the revision that was judged.
    async fn confirm(
        &self,
        caller: &Caller,
        evaluation: &Evaluation,
        worlds: &[World],
        mut judgement: Judgement,
    ) -> Result<Judgement, Error> {
        for (id, operations) in &mut judgement.worlds {
            let Some(world) = worlds.iter().find(|world| world.id == *id) else { continue };
            let changeset = staged(evaluation, world, String::new(), operations.clone());
            let wanted = Wanted::of(&changeset, changeset.next_change(), &changeset.operations);
            let verdicts = match self.lore.verdicts(caller, &wanted).await {
                Ok(Some(verdicts)) => verdicts,
                // Gone by now: applying will say so, and cost nothing.
                Ok(None) => continue,
                Err(status) if is_open(&status) => return Err(status.into()),
                Err(status) => {
                    tracing::warn!(world = %id, code = ?status.code(), "lorebook gave no verdicts");
                    continue;
                }
            };
            let mut problems = verdicts.into_iter().map(|verdict| verdict.problem);
            let mut at = 0;
            operations.retain(|operation| {
                let problem = problems.next().unwrap_or_default();
                let holds = problem.is_empty();
                if !holds {
                    judgement.rejected.push(refused(at, operation, problem));
                }
                at += 1;
                holds
            });
        }
        judgement.worlds.retain(|(_, operations)| !operations.is_empty());
        Ok(judgement)
    }
}

/// What the record says of a call whose arguments could be read but may not be all that there was to say.
fn cut(finish: &FinishReason) -> Option<&'static str> {
    match finish {
        FinishReason::Length => Some("ANSWER_CUT_OFF: the model stopped at its token limit"),
        FinishReason::ContentFilter => {
            Some("ANSWER_FILTERED: the provider's moderation stopped the model")
        }
        FinishReason::Stop | FinishReason::ToolCall | FinishReason::Other(_) => None,
    }
}

/// An operation that our rules let pass and lorebook's did not.
fn refused(index: usize, operation: &Operation, problem: String) -> Rejected {
    let written = serde_json::to_string(operation).unwrap_or_default();
    let operation = written.chars().take(limits::CHANGE_REJECTED_CHARS_MAX).collect();
    Rejected { index, reason: problem, operation }
}

/// A PENDING changeset of one world, without its source.
fn staged(
    evaluation: &Evaluation,
    world: &World,
    summary: String,
    operations: Vec<Operation>,
) -> Changeset {
    Changeset {
        id: evaluation.changeset_id(&world.id),
        owner: evaluation.owner.clone(),
        evaluation: evaluation.id.clone(),
        world: world.id.clone(),
        world_name: world.name.clone(),
        base_revision: world.revision,
        stage: Stage::Pending,
        version: 1,
        summary,
        operations,
        source: Source::default(),
        attempts: 0,
        application: None,
        stale_reason: String::new(),
        created_at: evaluation.judged_at,
        decided_at: None,
    }
}

// === impl Task ===

impl<'a> Task<'a> {
    fn read(job: &'a EvaluateTurn) -> Result<Self, Malformed> {
        let turn = JudgedTurn {
            session: SessionId::new(&job.session_id).map_err(|_| Malformed("session_id"))?,
            turn_seq: job.turn_seq,
            alternative: AlternativeId::new(&job.alternative_id)
                .map_err(|_| Malformed("alternative_id"))?,
            attempt: job.attempt,
        };
        let exchange = Exchange { user: job.user_text.clone(), reply: job.reply_text.clone() };
        Ok(Self { turn, exchange, job })
    }

    /// The record as it is when there is nothing to judge.
    fn unjudged(&self, caller: &Caller, clock: &dyn Clock) -> Evaluation {
        let owner = caller.principal.owner.clone();
        Evaluation {
            id: Evaluation::id_of(&owner, &self.turn),
            owner,
            turn: self.turn.clone(),
            outcome: Outcome::NoWorld,
            reason: String::new(),
            rejected: Vec::new(),
            model: String::new(),
            input_tokens: 0,
            output_tokens: 0,
            judged_at: clock.now(),
        }
    }

    fn model(&self) -> String {
        let model = self.job.model.clone().unwrap_or_default();
        format!("{}/{}", model.provider, model.name)
    }

    fn room(&self) -> Room {
        let window = self.job.model.as_ref().map(|model| model.window_tokens);
        Room::of_window(window.filter(|&tokens| tokens > 0))
    }

    fn changesets(
        &self,
        evaluation: &Evaluation,
        worlds: &[World],
        judgement: Judgement,
    ) -> Vec<Changeset> {
        let source = Source {
            session: Some(self.turn.session.clone()),
            turn_seq: Some(self.turn.turn_seq),
            alternative: Some(self.turn.alternative.clone()),
            excerpt: self.exchange.excerpt(limits::EXCERPT_CHARS_MAX),
            labels: self.job.labels.clone().into_iter().collect(),
        };
        let summary = judgement.summary;
        let filed = judgement.worlds.into_iter().filter_map(|(id, operations)| {
            let world = worlds.iter().find(|world| world.id == id)?;
            let changeset = staged(evaluation, world, summary.clone(), operations);
            Some(Changeset { source: source.clone(), ..changeset })
        });
        filed.collect()
    }
}
