//! Turns as their readers see them: the fold's skeleton with the texts and facts of its events.

use std::collections::{BTreeSet, HashMap};

use kernel::{AlternativeId, Owner, SessionId, Timestamp, TurnId};
use ledger_core::{
    Body, Event, State,
    event::{AbortReason, Failure, TurnFailed, Usage, Visibility},
    state::{Phase, Turn, TurnKind},
};
use prompt::{
    derive::{Author, Tier, TurnClass},
    item::TextRef,
};

use super::Ledger;
use crate::error::{Error, Result};

/// One turn.
#[derive(Debug, Clone)]
pub struct TurnView {
    pub session: SessionId,
    pub seq: u64,
    pub turn: TurnId,
    pub author: Author,
    pub phase: Phase,
    pub content: String,
    pub class: Option<TurnClass>,
    pub alternatives: Vec<AlternativeView>,
    pub selected: Option<AlternativeId>,
    pub revision: u64,
    pub in_context: bool,
    pub provenance: Option<Provenance>,
    pub recorded_at: Timestamp,
    pub offset: u64,
}

/// One reply of a slot, or the attempt that left none.
#[derive(Debug, Clone)]
pub struct AlternativeView {
    /// None: an attempt that failed or was stopped.
    pub alternative: Option<AlternativeId>,
    pub phase: Phase,
    pub content: String,
    pub usage: Usage,
    /// Why the provider stopped, where it said so.
    pub finish: Option<String>,
    /// Stable reason and words for a person.
    pub failure: Option<(String, String)>,
    pub recorded_at: Timestamp,
}

/// Who wrote a SEEDED turn, really.
#[derive(Debug, Clone)]
pub struct Provenance {
    pub write_actor: String,
    pub claimed_author: Author,
    pub injected_at: Timestamp,
    pub claimed_at: Option<Timestamp>,
    pub origin: String,
    pub trust: Tier,
    pub visibility: Visibility,
}

// === impl Ledger ===

impl Ledger {
    pub async fn turn(&self, owner: &Owner, session: &SessionId, seq: u64) -> Result<TurnView> {
        let state = self.load(owner, session).await?.state;
        self.turn_view(owner, session, &state, seq).await
    }

    /// Turns from a seq on, at most `limit`.
    pub async fn turns(
        &self,
        owner: &Owner,
        session: &SessionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<TurnView>> {
        let state = self.load(owner, session).await?.state;
        let seqs: Vec<u64> =
            state.turns().map(|(seq, _)| seq).filter(|seq| *seq >= from).take(limit).collect();
        self.views(owner, session, &state, &seqs).await
    }

    pub(super) async fn turn_view(
        &self,
        owner: &Owner,
        session: &SessionId,
        state: &State,
        seq: u64,
    ) -> Result<TurnView> {
        let views = self.views(owner, session, state, &[seq]).await?;
        let absent = || Error::NotFound { kind: "turn", id: format!("{session}/{seq}") };
        views.into_iter().next().ok_or_else(absent)
    }

    async fn views(
        &self,
        owner: &Owner,
        session: &SessionId,
        state: &State,
        seqs: &[u64],
    ) -> Result<Vec<TurnView>> {
        let turns: Vec<(u64, &Turn)> =
            seqs.iter().filter_map(|seq| Some((*seq, state.turn(*seq)?))).collect();
        let offsets: BTreeSet<u64> = turns.iter().flat_map(|(_, turn)| sources(turn)).collect();
        let offsets: Vec<u64> = offsets.into_iter().collect();
        let events = self.events_there(owner, session, &offsets).await?;
        let shown = turns.iter().map(|(seq, turn)| show(session, state, *seq, turn, &events));
        Ok(shown.collect())
    }
}

/// The events that a view is made from.
fn sources(turn: &Turn) -> Vec<u64> {
    let mut offsets = vec![turn.offset];
    offsets.extend(turn.text().map(|text| text.offset));
    if let Some(slot) = turn.slot() {
        for alternative in &slot.alternatives {
            offsets.extend([alternative.completed, alternative.text.offset]);
        }
        offsets.extend(slot.ended.map(|ended| ended.offset));
    }
    offsets
}

fn show(
    session: &SessionId,
    state: &State,
    seq: u64,
    turn: &Turn,
    events: &HashMap<u64, Event>,
) -> TurnView {
    let text = |at: TextRef| {
        let found = events.get(&at.offset).and_then(|event| event.body.text(at.part));
        found.unwrap_or_default().to_owned()
    };
    let alternatives = turn.slot().map(|slot| {
        let replies = slot.alternatives.iter().map(|alternative| {
            let completed = events.get(&alternative.completed);
            AlternativeView {
                alternative: Some(alternative.id.clone()),
                phase: Phase::Completed,
                content: text(alternative.text),
                usage: completed.map(usage).unwrap_or_default(),
                finish: completed.and_then(finish),
                failure: None,
                recorded_at: completed.map_or(turn.recorded_at, |event| event.meta.recorded_at),
            }
        });
        let ended = slot.ended.and_then(|ended| attempt(events.get(&ended.offset)?));
        replies.chain(ended).collect()
    });
    TurnView {
        session: session.clone(),
        seq,
        turn: turn.id.clone(),
        author: turn.author(),
        phase: state.phase(seq).unwrap_or(Phase::Failed),
        content: turn.text().map(text).unwrap_or_default(),
        class: match &turn.kind {
            TurnKind::Seeded { class, .. } => Some(*class),
            TurnKind::Received { .. } | TurnKind::Imported { .. } | TurnKind::Slot(_) => None,
        },
        alternatives: alternatives.unwrap_or_default(),
        selected: turn.slot().and_then(|slot| slot.shown()).map(|reply| reply.id.clone()),
        revision: turn.revision,
        // A slot without a reply has nothing to hold.
        in_context: turn.in_context && turn.text().is_some(),
        provenance: events.get(&turn.offset).and_then(provenance),
        recorded_at: turn.recorded_at,
        offset: turn.offset,
    }
}

fn usage(event: &Event) -> Usage {
    match &event.body {
        Body::TurnCompleted(completed) => completed.usage,
        _ => Usage::default(),
    }
}

fn finish(event: &Event) -> Option<String> {
    match &event.body {
        Body::TurnCompleted(completed) => completed.finish.clone(),
        _ => None,
    }
}

/// An attempt that left no reply, with its partial text.
fn attempt(event: &Event) -> Option<AlternativeView> {
    let (phase, failure, partial) = match &event.body {
        Body::TurnFailed(failed) => {
            let failure = (failure_name(failed.reason).to_owned(), failure_detail(failed));
            (Phase::Failed, failure, &failed.partial)
        }
        Body::TurnAborted(aborted) => {
            let reason = abort_name(aborted.reason).to_owned();
            (Phase::Aborted, (reason, String::new()), &aborted.partial)
        }
        _ => return None,
    };
    Some(AlternativeView {
        alternative: None,
        phase,
        content: partial.clone().unwrap_or_default(),
        usage: Usage::default(),
        finish: None,
        failure: Some(failure),
        recorded_at: event.meta.recorded_at,
    })
}

fn provenance(event: &Event) -> Option<Provenance> {
    let write_actor = event.meta.actor.label();
    let injected_at = event.meta.recorded_at;
    match &event.body {
        Body::TurnSeeded(seeded) => Some(Provenance {
            write_actor,
            claimed_author: seeded.author,
            injected_at,
            claimed_at: seeded.claimed_at,
            origin: seeded.origin.clone(),
            trust: seeded.trust,
            visibility: seeded.visibility,
        }),
        Body::TurnImported(imported) => Some(Provenance {
            write_actor,
            claimed_author: imported.author,
            injected_at,
            claimed_at: imported.claimed_at,
            origin: "import".to_owned(),
            trust: event.meta.actor.tier,
            visibility: Visibility { model: true, user: true, memory_eligible: false },
        }),
        _ => None,
    }
}

/// The stable reason of a failure.
pub(super) const fn failure_name(failure: Failure) -> &'static str {
    match failure {
        Failure::Compile => "COMPILE",
        Failure::Provider => "PROVIDER",
        Failure::Lease => "LEASE",
        Failure::Window => "WINDOW_EXCEEDED",
        Failure::Damaged => "DATA_LOSS",
        Failure::Store => "STORE_UNAVAILABLE",
        Failure::Internal => "INTERNAL",
    }
}

/// For a person; a lease that ran out has nobody left to say more.
pub(super) fn failure_detail(failed: &TurnFailed) -> String {
    match (&failed.detail, failed.reason) {
        (Some(detail), _) => detail.clone(),
        (None, Failure::Lease) => "the process that produced the reply is gone".to_owned(),
        (None, _) => String::new(),
    }
}

pub(super) const fn abort_name(reason: AbortReason) -> &'static str {
    match reason {
        AbortReason::Caller => "ABORTED",
        AbortReason::Forked => "FORKED",
        AbortReason::Shutdown => "SHUTDOWN",
    }
}
