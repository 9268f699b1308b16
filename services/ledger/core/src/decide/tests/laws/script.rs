//! Random steps on sessions that share a past.

use std::collections::{BTreeMap, BTreeSet};

use kernel::SessionId;
use prompt::{
    Placement, Segment,
    derive::{Author, Source, Tier, TurnClass},
};

use super::{
    super::harness::*,
    holds::{in_context, is_profile, lived, standing},
    ops::{Op, Run},
    words,
};
use crate::{
    command::Key,
    decide::*,
    event::{AbortReason, Body, Cause, Failure},
    state::{Spoken, State},
};

/// Sessions that share a past, and what must not and must be seen in each.
pub(super) struct World {
    pub sessions: Vec<Session>,
    pub seen: Vec<Seen>,
    pub at: usize,
    counted: u64,
}

#[derive(Clone, Default)]
pub(super) struct Seen {
    pub taken_back: BTreeSet<String>,
    pub standing: BTreeMap<String, String>,
}

// === impl World ===

impl World {
    pub fn new() -> Self {
        let session = Session::created();
        Self { sessions: vec![session], seen: vec![Seen::default()], at: 0, counted: 0 }
    }

    pub fn step(&mut self, op: Op) {
        match op {
            Op::Submit { message, run } => self.submit(message, run),
            Op::Regenerate { run } => {
                let (generation, guidance) = self.named(&run);
                let begun = self.session().run(Regenerate { generation, guidance });
                self.go_on(begun, run);
            }
            Op::Retry { run } => self.retry(run),
            Op::Select { nth } => self.select(nth),
            Op::Add { key, again } => self.add(key, again),
            Op::Fact { tier } => self.fact(tier),
            Op::Tool => self.tool(),
            Op::Author { class, seen } => self.author(class, seen),
            Op::Rewrite { nth, how } => self.rewrite(nth, how),
            Op::TakeBack { nth, edit, rewrite_summary } => {
                self.take_back(nth, edit, rewrite_summary)
            }
            Op::Compact { nth, how } => self.compact(nth, how),
            Op::Fork { nth } => self.fork(nth),
            Op::Turn { to } => self.at = to % self.sessions.len(),
        }
        self.holds();
    }

    pub fn session(&mut self) -> &mut Session {
        &mut self.sessions[self.at]
    }

    pub fn word(&mut self, kind: &str) -> String {
        self.counted += 1;
        format!("{kind}{}", self.counted)
    }

    fn named(&mut self, run: &Run) -> (kernel::GenerationId, Option<crate::command::Text>) {
        let name = self.word("g");
        let guidance = run.guidance.then(|| text(&self.word("GUIDE")));
        (generation(&name), guidance)
    }

    fn submit(&mut self, message: bool, run: Run) {
        let (generation, guidance) = self.named(&run);
        let content = message.then(|| text(&self.word("USER")));
        let begun = self.session().run(Submit { generation, content, guidance });
        self.go_on(begun, run);
    }

    fn retry(&mut self, run: Run) {
        let Some(generation) = self.session().state.generation().map(|g| g.id.clone()) else {
            return;
        };
        let begun = self.session().run(TakeOver { generation, guidance: None });
        self.go_on(begun, run);
    }

    /// A generation from its compile to its end.
    fn go_on(&mut self, begun: Result<Started, Rejection>, run: Run) {
        let Ok(begun) = begun else { return };
        self.session().envelope.lease = Lease::Alive;
        let name = begun.generation.as_str().to_owned();
        if run.end == 0 {
            return self.die();
        }
        if run.add_midway {
            self.add(0, false);
        }
        let active = self.land(&name, &run);
        if run.end == 1 {
            return self.die();
        }
        self.overflow(&name, &run, &active);
        self.request(&name, active.clone());
        if run.tool_loop {
            self.tool();
            self.tool();
            self.request(&name, active);
        }
        if run.add_midway {
            self.fact(2);
        }
        let (generation, fence) = (begun.generation, begun.fence);
        match run.end {
            2 => self.die(),
            3 => {
                let partial = Some(text(&self.word("PARTIAL")));
                let reason = Failure::Provider;
                self.session().ok(Fail { generation, fence, reason, detail: None, partial });
            }
            4 => {
                let partial = Some(text(&self.word("PARTIAL")));
                self.session().ok(Abort { generation, reason: AbortReason::Caller, partial });
            }
            _ => {
                let reply = self.word("REPLY");
                self.session().complete(&name, &reply);
            }
        }
    }

    fn die(&mut self) {
        self.session().envelope.lease = Lease::Expired;
    }

    fn land(&mut self, name: &str, run: &Run) -> Vec<std::sync::Arc<str>> {
        let mut segments = vec![
            segment("prompt:main", &format!("MAIN{}", run.main), &format!("m{}", run.main)),
            Segment { placement: Placement::After, ..segment("prompt:post", "POST0", "p") },
        ];
        if !run.gone {
            segments.push(segment("character:description", "DESC0", "d"));
        }
        for (at, fires) in run.lore.into_iter().enumerate() {
            if fires {
                let dynamic = at == 1;
                let (key, said) = (format!("lore:w:{at}"), format!("LORE{at}"));
                segments.push(Segment { dynamic, ..segment(&key, &said, &said) });
            }
        }
        segments.extend(self.quoting(run.quote));
        let withdrawn: &[&str] = if run.gone { &["character:description"] } else { &[] };
        let session = self.session();
        let refresh = session.state.drifted_keys(|_| 2_001);
        let fence = session.fence();
        let withdrawn = withdrawn.iter().map(|&key| key.to_owned()).collect();
        let generation = generation(name);
        let landed = session.ok(Land { generation, fence, segments, withdrawn, refresh });
        // a request's sections and its stamp are one batch
        session.batches.pop();
        landed.active_lore
    }

    /// A segment whose macro quotes the last thing that was said.
    fn quoting(&mut self, quote: usize) -> Option<Segment> {
        let session = self.session();
        let spoken = session.state.spoken();
        let wanted = |said: &&Spoken| match quote {
            1 => said.turn.is_some(),
            2 => said.source == Source::Reply,
            _ => false,
        };
        let said = spoken.iter().rev().find(wanted)?;
        let (_, turn) = said.turn.clone()?;
        let at = said.text?;
        let quoted = session.log[at.offset as usize - 1].body.text(at.part)?.to_owned();
        let quotes = vec![turn.as_str().to_owned()];
        Some(Segment { quotes, ..segment("prompt:quote", &format!("said: {quoted}"), &quoted) })
    }

    fn overflow(&mut self, name: &str, run: &Run, active: &[std::sync::Arc<str>]) {
        let state = &self.session().state;
        let live = in_context(state);
        if run.overflow > 1 || live.len() < 3 {
            return;
        }
        let before = live[live.len() * 2 / 3];
        let summary = (run.overflow == 0).then(|| self.summary_of(before));
        if summary.is_some() {
            let tail = TailChoice::SummaryInstruction("Sum up.".into());
            let active = active.to_vec();
            self.stamp(name, active, tail);
        }
        let holder = Some((generation(name), self.session().fence()));
        let summary = summary.map(|summary| text(&summary));
        let active_lore = Some(active.to_vec());
        let replaced = ReplaceRange { holder, before, summary, active_lore };
        let _ = self.session().run(replaced);
        self.collapsed();
    }

    fn request(&mut self, name: &str, active: Vec<std::sync::Arc<str>>) {
        self.stamp(name, active, TailChoice::Guidance);
    }

    fn stamp(&mut self, name: &str, active: Vec<std::sync::Arc<str>>, tail: TailChoice) {
        let session = self.session();
        let verb = session.request(name, active, tail);
        session.ok(verb);
        let Some(Body::LlmRequestRequested(stamp)) = session.log.last().map(|event| &event.body)
        else {
            panic!("a stamp was appended")
        };
        let cause = stamp.broken.map(|broken| broken.cause);
        assert_ne!(cause, Some(Cause::Unexplained), "the prefix broke without a cause");
        self.request_holds();
    }

    fn select(&mut self, nth: usize) {
        let state = &self.session().state;
        let Some(slot) = state.tail_slot().and_then(|seq| state.turn(seq)?.slot()) else { return };
        let Some(reply) = slot.alternatives.get(nth % slot.alternatives.len().max(1)) else {
            return;
        };
        let alternative = reply.id.clone();
        let _ = self.session().run(SelectAlternative { alternative });
    }

    fn add(&mut self, key: usize, again: bool) {
        let key = format!("k{key}");
        let held = self.seen[self.at].standing.get(&key).cloned().filter(|_| again);
        let content = held.clone().unwrap_or_else(|| self.word("SECTION"));
        let before = self.session().log.len();
        let closes = usize::from(
            self.session().state.generation().is_some()
                && self.session().envelope.lease == Lease::Expired,
        );
        let added = self.session().add(&key, &content);
        let wrote = self.session().log.len() - before - closes;
        assert_eq!(
            added.unchanged,
            held.is_some(),
            "equal content is a no-op, other content is not"
        );
        assert_eq!(wrote, usize::from(!added.unchanged));
        self.seen[self.at].standing.insert(key, content);
    }

    fn fact(&mut self, tier: usize) {
        let tier = [Tier::Owner, Tier::Platform, Tier::Agent, Tier::Worker][tier % 4];
        let content = text(&self.word("FACT"));
        self.session().tier(tier).ok(AddContext { key: None, content });
        self.session().tier(Tier::Owner);
    }

    fn tool(&mut self) {
        let said = text(&self.word("TOOL"));
        let open = self.session().state.tool_runs.keys().next().copied();
        let session = self.session().tier(Tier::Agent);
        match open {
            Some(run) => session.ok(SettleToolRun { run, ok: true, text: said }),
            None => session.ok(RecordToolRun { name: "dice".into(), text: said }),
        };
        session.tier(Tier::Owner);
    }

    fn author(&mut self, class: usize, seen: bool) {
        let (author, class) = [
            (Author::Assistant, TurnClass::AssistantOutput),
            (Author::Assistant, TurnClass::Narration),
            (Author::System, TurnClass::Narration),
        ][class % 3];
        let mut turn = authored(author, class, &self.word("AUTHORED"));
        turn.visibility.model = seen;
        let before = self.session().log.len();
        if self.session().run(WriteAuthored { turn }).is_ok() {
            let kinds = self.session().kinds(before);
            let silent = kinds.iter().all(|kind| ["turn-seeded", "turn-failed"].contains(kind));
            assert!(silent && kinds.last() == Some(&"turn-seeded"), "an authored turn is silent");
        }
    }

    fn rewrite(&mut self, nth: usize, how: usize) {
        let shown = words(&self.session().shown());
        let keys: Vec<_> = self.seen[self.at].standing.keys().cloned().collect();
        if how == 0 {
            if self.session().run(RewriteContext { op: RewriteOp::DeleteAll }).is_ok() {
                let seen = &mut self.seen[self.at];
                seen.standing.clear();
                seen.taken_back.extend(shown.into_iter().filter(|word| !is_profile(word)));
            }
            return;
        }
        let Some(name) = keys.get(nth % keys.len().max(1)) else { return };
        let old = self.contents_of(name);
        let key = id(Key::new(name));
        let content = how.is_multiple_of(2).then(|| self.word("SECTION"));
        let op = match &content {
            Some(content) => RewriteOp::Replace { key, content: text(content) },
            None => RewriteOp::DeleteKey(key),
        };
        if self.session().run(RewriteContext { op }).is_ok() {
            let seen = &mut self.seen[self.at];
            seen.taken_back.extend(old);
            match content {
                Some(content) => seen.standing.insert(name.clone(), content),
                None => seen.standing.remove(name),
            };
        }
    }

    fn take_back(&mut self, nth: usize, edit: bool, rewrite_summary: bool) {
        let state = &self.session().state;
        let standing: Vec<_> = state.turns().filter(|(_, turn)| !turn.retracted).collect();
        let Some(&(seq, turn)) = standing.iter().rev().nth(nth % standing.len().max(1)) else {
            return;
        };
        let texts: Vec<_> = match turn.slot() {
            Some(slot) if !edit => slot.alternatives.iter().map(|reply| reply.text).collect(),
            _ => turn.text().into_iter().collect(),
        };
        let covering = state.summaries_covering(seq);
        let old: BTreeSet<String> = texts.iter().flat_map(|at| self.words_at(*at)).collect();
        let summaries = match rewrite_summary {
            true => {
                Summaries::New(covering.iter().map(|at| (*at, self.without(*at, &old))).collect())
            }
            false => Summaries::Drop,
        };
        let done = if edit {
            let said = text(&self.word("EDITED"));
            self.session().run(EditTurn { seq, text: said, summaries }).is_ok()
        } else {
            self.session().run(RetractTurn { seq, summaries }).is_ok()
        };
        if done {
            self.seen[self.at].taken_back.extend(old);
        }
    }

    fn compact(&mut self, nth: usize, how: usize) {
        let live = in_context(&self.session().state);
        if live.len() < 2 {
            return;
        }
        let before = live[1 + nth % (live.len() - 1)];
        let summary = (how > 0).then(|| self.summary_of(before));
        if how < 2 {
            let summary = summary.map(|summary| text(&summary));
            let replace = ReplaceRange { holder: None, before, summary, active_lore: None };
            if self.session().run(replace).is_ok() {
                self.collapsed();
            }
            return;
        }
        let name = self.word("g");
        if self.session().run(BeginCompaction { generation: generation(&name) }).is_err() {
            return;
        }
        self.session().envelope.lease = Lease::Alive;
        let active = self.land(&name, &Run { main: nth % 3, ..Run::default() });
        self.stamp(&name, active.clone(), TailChoice::SummaryInstruction("Sum up.".into()));
        let summary = summary.map(|summary| text(&summary));
        let holder = Some((generation(&name), 1));
        let replace = ReplaceRange { holder, before, summary, active_lore: Some(active) };
        if nth.is_multiple_of(3) || self.session().run(replace).is_err() {
            let (generation, reason) = (generation(&name), AbortReason::Caller);
            self.session().ok(Abort { generation, reason, partial: None });
        } else {
            assert!(self.session().state.generation().is_none(), "the compaction ended");
        }
        self.collapsed();
    }

    fn fork(&mut self, nth: usize) {
        if self.sessions.len() > 3 {
            return;
        }
        let parent = &self.sessions[self.at];
        let ends = &parent.batches;
        let Some(&at) = ends.iter().rev().nth(nth % ends.len().max(1)) else { return };
        let shared = State::fold(&parent.log[..at]).expect("it folds");
        let later = &parent.log[at..];
        let name = format!("s{}", self.sessions.len() + 1);
        let owner = create().owner;
        let session = id(SessionId::new(name));
        let asked = Fork { session, owner, shared: &shared, later };
        let decision = super::super::super::fork(asked, &parent.envelope).expect("it forks");
        let future: BTreeSet<String> = later.iter().flat_map(|event| lived(&event.body)).collect();

        let mut child = Session::created();
        child.envelope = parent.envelope.clone();
        child.envelope.lease = Lease::Alive;
        child.log = [&parent.log[..at], &decision.events].concat();
        child.state = decision.state;
        child.requests = parent.requests.clone();
        child.requests.retain(|(offset, _)| *offset as usize <= at);
        child.marks = child.requests.last().map(|(_, sent)| sent.marks()).unwrap_or_default();
        child.batches = ends.iter().copied().filter(|end| *end <= at).collect();
        child.batches.push(child.log.len());
        for _ in 0..1_000 * self.sessions.len() {
            child.tick();
        }
        let shown = words(&child.shown());
        assert!(shown.is_disjoint(&future), "the fork shows its parent's future");
        assert!(child.state.generation().is_none(), "the fork inherits no open generation");
        let taken_back = self.seen[self.at].taken_back.clone();
        self.seen.push(Seen { taken_back, standing: standing(&child) });
        self.sessions.push(child);
        self.at = self.sessions.len() - 1;
    }
}
