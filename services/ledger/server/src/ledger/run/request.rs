//! Making one request: land what changed, render, compare with the request before, stamp.

use std::sync::Arc;

use kernel::Timestamp;
use ledger_core::{
    Decision, Envelope, Event, Rejection, State, decide,
    decide::{Land, ReplaceRange, StampRequest, TailChoice},
    event::{Failure, Versions},
    settings::OnOverflow,
};
use model::{CallConfig, adapt};
use prompt::{
    ProfileMode,
    item::Item,
    journal::Tail,
    prefix::{SharedPrefix, request_digest, shared_prefix},
};
use tokio::time::Instant;

use super::{
    Reply, Stopped,
    compile::{ChatFormat, Compiled},
    tokens,
};
use crate::{
    error::{Error, Result},
    ledger::{
        append::{Beside, RACES_WITHIN, Writer},
        frames::Sent,
        record::{Profile, RequestRecord, WorldRecord},
        render::{Rendered, newest_versions, render},
    },
    store::{AppendError, RequestRow},
};

/// At this share of the window the oldest messages go, down to [`TRIM_TO`].
const TRIM_AT: f64 = 0.9;
const TRIM_TO: f64 = 0.6;

type Attempted<T> = std::result::Result<T, Stopped>;

/// A stamped request, ready to be sent.
pub(super) struct Ready {
    pub prompt: model::Adapted,
    pub sent: Sent,
    pub record: RequestRecord,
}

/// What is decided so far, on its way to one append.
struct Draft {
    events: Vec<Event>,
    state: State,
    active_lore: Vec<Arc<str>>,
    rendered: Rendered,
}

// === impl Reply ===

impl Reply {
    /// Lands and stamps in one transaction; an append of somebody else in between is rendered anew.
    pub(super) async fn request(
        &self,
        compiled: &Compiled,
        provider: &dyn model::ChatModel,
    ) -> Attempted<Ready> {
        let call: CallConfig =
            serde_json::from_str(&compiled.summary.call_config_json).map_err(|error| {
                Stopped::of(Failure::Compile, format!("the loader's call config: {error}"))
            })?;
        let lines = &self.ledger.inner.lines;
        let _line = lines.stand(&self.owner().tenant, &self.session).await;
        let until = Instant::now() + RACES_WITHIN;
        loop {
            let before = self.ledger.load(self.owner(), &self.session).await?.state;
            // One envelope: the stamp that is rendered is the stamp that is appended.
            let writer = Writer::of(&self.caller, None);
            let envelope = self.ledger.envelope(&writer, &self.session, &before).await?;
            let draft = self.draft(&before, &envelope, compiled, &call).await?;
            let stamp = self.stamp(&before, &envelope, draft, compiled, &call, provider);
            let (decision, ready) = stamp.await?;
            let row = RequestRow { offset: ready.sent.offset, record: ready.record.to_bytes()? };
            let texts = match before.settings().profile_mode {
                ProfileMode::Journal => Vec::new(),
                ProfileMode::InChat | ProfileMode::Contract => profile(compiled).keep().1,
            };
            let beside = Beside { request: Some(row), texts, ..Beside::default() };
            let owner = self.owner();
            match self.ledger.append(owner, &self.session, &before, &decision, beside).await {
                Ok(()) => return Ok(ready),
                Err(AppendError::HeadMoved) if Instant::now() < until => {}
                Err(other) => return Err(Error::from(other).into()),
            }
        }
    }

    /// Lands, renders, and trims what does not fit the window.
    async fn draft(
        &self,
        before: &State,
        envelope: &Envelope,
        compiled: &Compiled,
        call: &CallConfig,
    ) -> Attempted<Draft> {
        let (mut events, mut state, active_lore) = match before.settings().profile_mode {
            ProfileMode::Journal => {
                let land = self.land(before, compiled).await?;
                let landed = decide(before, envelope, land).map_err(Error::from)?;
                (landed.events, landed.state, landed.outcome.active_lore)
            }
            ProfileMode::InChat | ProfileMode::Contract => (vec![], before.clone(), vec![]),
        };
        let mut rendered = self.render(&state, envelope.now, &events, compiled).await?;
        if let Some(before) = trim_before(&state, &rendered, call)? {
            let range = ReplaceRange {
                holder: Some((self.started.generation.clone(), self.started.fence)),
                before,
                summary: None,
                active_lore: Some(active_lore.clone()),
            };
            match decide(&state, envelope, range) {
                Ok(trimmed) => {
                    events.extend(trimmed.events);
                    state = trimmed.state;
                    rendered = self.render(&state, envelope.now, &events, compiled).await?;
                }
                // What fills the window is the newest message and the profile.
                Err(Rejection::RangeEmpty(_)) => {}
                Err(other) => return Err(Error::from(other).into()),
            }
        }
        fits(&state, &rendered, call)?;
        Ok(Draft { events, state, active_lore, rendered })
    }

    async fn stamp(
        &self,
        before: &State,
        envelope: &Envelope,
        draft: Draft,
        compiled: &Compiled,
        call: &CallConfig,
        provider: &dyn model::ChatModel,
    ) -> Attempted<(Decision<()>, Ready)> {
        let Draft { mut events, state, active_lore, rendered } = draft;
        let earlier = self.ledger.marks_of_last(self.owner(), &self.session, before).await?;
        let shared = shared_prefix(&earlier, &rendered.marks);
        let prompt = adapt(&rendered.blocks, call, provider.abilities());
        let versions = state.versions_for_next(newest_versions());
        let stamp = StampRequest {
            generation: self.started.generation.clone(),
            fence: self.started.fence,
            model: state.settings().model.clone(),
            versions: Versions { adapter: prompt.version(), ..versions },
            sent: request_digest(&rendered.blocks),
            call_config: serde_json::to_value(call).unwrap_or_default(),
            active_lore,
            tail: TailChoice::Guidance,
            shared,
            differs: earlier.get(shared.blocks as usize).filter(|_| !shared.complete).cloned(),
            normalizations: normalizations(&prompt),
        };
        let stamped = decide(&state, envelope, stamp).map_err(Error::from)?;
        events.extend(stamped.events);
        let sent = sent(stamped.outcome, shared, &rendered, &events, &prompt);
        let mode = before.settings().profile_mode;
        let record = record(compiled, mode, sent.total_bytes);
        self.ledger.remember_marks(self.owner(), &self.session, sent.offset, rendered.marks);
        let decision = Decision { events, state: stamped.state, outcome: () };
        Ok((decision, Ready { prompt, sent, record }))
    }

    async fn land(&self, state: &State, compiled: &Compiled) -> Result<Land> {
        Ok(Land {
            generation: self.started.generation.clone(),
            fence: self.started.fence,
            segments: compiled.segments.clone(),
            withdrawn: compiled.summary.withdrawn_keys.clone(),
            refresh: self.drifted(state).await?,
        })
    }

    /// Keys that have sunk too deep. A text has at most as many tokens as bytes, so that most sessions
    /// are settled without counting.
    async fn drifted(&self, state: &State) -> Result<Vec<Arc<str>>> {
        if state.drifted_keys(|text| u64::from(text.bytes)).is_empty() {
            return Ok(Vec::new());
        }
        let places = state.pieces().filter_map(|piece| piece.text());
        let texts = self.ledger.texts(self.owner(), &self.session, places).await?;
        Ok(state.drifted_keys(|text| tokens::count(texts.or_empty(Some(text)))))
    }

    async fn render(
        &self,
        state: &State,
        now: Timestamp,
        unstored: &[Event],
        compiled: &Compiled,
    ) -> Attempted<Rendered> {
        let stamped = state.with_stamp(Some(self.started.slot), now);
        let tail = state.generation().and_then(|generation| generation.guidance);
        let fresh = unstored.first().map_or(u64::MAX, |event| event.meta.offset);
        let places = stamped.pieces().filter_map(|piece| piece.text()).chain(tail);
        let places: Vec<_> = places.filter(|at| at.offset < fresh).collect();
        let mut texts = self.ledger.texts(self.owner(), &self.session, places).await?;
        texts.add(unstored);
        let tail = tail.map(|tail| texts.or_empty(Some(tail)).to_owned());
        let names = (&*compiled.summary.user_name, &*compiled.summary.character_name);
        let rendered = render(
            &stamped,
            state.versions_for_next(newest_versions()).render,
            Some(&profile(compiled)),
            names,
            tail.as_deref().map(Tail::Guidance),
            &texts,
        );
        rendered.map_err(|missing| Error::Internal(missing.to_string()).into())
    }
}

/// The turn before which everything goes, if the request nears the window and the session trims.
fn trim_before(state: &State, rendered: &Rendered, call: &CallConfig) -> Attempted<Option<u64>> {
    let Some(window) = window(state, call) else { return Ok(None) };
    if state.settings().on_overflow != OnOverflow::TrimOldest {
        return Ok(None);
    }
    let Some(counts) = tokens::over(&rendered.blocks, share(window, TRIM_AT)) else {
        return Ok(None);
    };
    let excess = counts.iter().sum::<u64>() - share(window, TRIM_TO);
    Ok(trim_point(state, rendered, &counts, excess))
}

/// Refuses a request that is over the window.
fn fits(state: &State, rendered: &Rendered, call: &CallConfig) -> Attempted<()> {
    let Some(window) = window(state, call) else { return Ok(()) };
    let Some(counts) = tokens::over(&rendered.blocks, window) else { return Ok(()) };
    let tokens: u64 = counts.iter().sum();
    let detail = format!("the request has {tokens} tokens, the window less the reply {window}");
    Err(Stopped::of(Failure::Window, detail))
}

/// The first turn that stays, when at least `excess` tokens of messages must go.
fn trim_point(state: &State, rendered: &Rendered, counts: &[u64], excess: u64) -> Option<u64> {
    let mut dropped = 0;
    for (origins, count) in rendered.origins.iter().zip(counts) {
        let Some(seq) = origins.iter().find_map(|origin| origin.turn) else { continue };
        let is_message = state.turn(seq).is_some_and(|turn| turn.slot().is_none());
        if dropped >= excess && is_message {
            return Some(seq);
        }
        dropped += count;
    }
    // Even the newest message would have to go: that one stays.
    state.items().iter().rev().find_map(|item| match item {
        Item::Message(message) => message.voice.turn(),
        Item::Section(_) | Item::Stamp(_) => None,
    })
}

/// The window less the reply, in tokens; none where the model's window is not known.
fn window(state: &State, call: &CallConfig) -> Option<u64> {
    let window = state.settings().model.as_ref().map_or(0, |model| model.window_tokens);
    (window > 0).then(|| u64::from(window.saturating_sub(call.max_tokens.unwrap_or(0))))
}

fn share(window: u64, of: f64) -> u64 {
    (window as f64 * of) as u64
}

fn profile(compiled: &Compiled) -> Profile {
    let ChatFormat { options, replace } = compiled.format.clone();
    Profile { segments: compiled.segments.clone(), options, replace }
}

fn normalizations(prompt: &model::Adapted) -> Vec<String> {
    let told = prompt.normalizations().iter();
    told.map(|n| format!("{}: {}", n.rule.name(), n.detail)).collect()
}

fn sent(
    offset: u64,
    shared: SharedPrefix,
    rendered: &Rendered,
    events: &[Event],
    prompt: &model::Adapted,
) -> Sent {
    let broken = events.last().and_then(|event| match &event.body {
        ledger_core::Body::LlmRequestRequested(stamp) => stamp.broken,
        _ => None,
    });
    Sent {
        offset,
        shared,
        total_bytes: rendered.blocks.iter().map(|block| block.text.len() as u64).sum(),
        broken: broken.map(|broken| (broken.cause, broken.block)),
        normalizations: normalizations(prompt),
    }
}

fn record(compiled: &Compiled, mode: ProfileMode, total_bytes: u64) -> RequestRecord {
    let summary = &compiled.summary;
    let worlds = summary.worlds.iter().map(|world| WorldRecord {
        world: world.world_id.clone(),
        name: world.name.clone(),
        revision: world.content_revision,
        dynamic: world.dynamic_enabled,
    });
    RequestRecord {
        fingerprint: summary.fingerprint.clone(),
        audit: summary.audit_json.clone(),
        diagnostics: super::compile::diagnostics(&summary.diagnostics),
        worlds: worlds.collect(),
        user_name: summary.user_name.clone(),
        character_name: summary.character_name.clone(),
        total_bytes,
        profile: match mode {
            ProfileMode::Journal => None,
            ProfileMode::InChat | ProfileMode::Contract => Some(profile(compiled).keep().0),
        },
    }
}
