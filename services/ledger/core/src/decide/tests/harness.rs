//! A session in memory that speaks in verbs: the shortest way to say what happened.

use kernel::{AlternativeId, GenerationId, Owner, SessionId, Subject, TenantId, Timestamp, digest};
use prompt::{
    Placement, Role, Segment, SegmentKind,
    derive::{Author, Tier, TurnClass},
    item::TextRef,
    journal::{self, RenderVersion, Rendered, Tail, Texts},
    prefix::{BlockMark, request_digest, shared_prefix},
};

use super::super::*;
use crate::{
    command::{Key, Text},
    event::{Break, Cause, Effects, Usage, Versions, Visibility},
    settings::Settings,
    state::State,
};

/// A session, its log, and the requests that it made.
pub(super) struct Session {
    pub state: State,
    pub log: Vec<Event>,
    pub envelope: Envelope,
    pub marks: Vec<BlockMark>,
    /// Each stamp's offset and what was sent.
    pub requests: Vec<(u64, Rendered)>,
    pub broken: Option<Break>,
    /// Lengths of the log at which a batch ended.
    pub batches: Vec<usize>,
    decided: u64,
}

/// Texts of a log by offset and part.
pub(super) struct Log<'a>(pub &'a [Event]);

impl Texts for Log<'_> {
    fn text(&self, at: TextRef) -> Option<&str> {
        self.0.get(usize::try_from(at.offset).ok()? - 1)?.body.text(at.part)
    }
}

pub(super) fn id<T, E: std::fmt::Debug>(made: Result<T, E>) -> T {
    made.expect("a well-formed value")
}

pub(super) fn text(text: &str) -> Text {
    id(Text::or_empty(text))
}

pub(super) fn generation(name: &str) -> GenerationId {
    id(GenerationId::new(name))
}

pub(super) fn create() -> Create {
    let owner = Owner { tenant: id(TenantId::new("t")), subject: id(Subject::new("me")) };
    let session = id(SessionId::new("s1"));
    Create { session, owner, settings: Settings::default(), parent: None }
}

pub(super) fn authored(author: Author, class: TurnClass, content: &str) -> AuthoredTurn {
    AuthoredTurn {
        author,
        class,
        text: text(content),
        effects: Effects::None,
        visibility: Visibility { model: true, user: true, memory_eligible: false },
        claimed_at: None,
        origin: "test".into(),
        provider_wants_user_first: false,
    }
}

pub(super) fn segment(key: &str, content: &str, source: &str) -> Segment {
    Segment {
        key: key.into(),
        kind: if key.starts_with("lore:") { SegmentKind::Lore } else { SegmentKind::Prompt },
        placement: Placement::Before,
        role: Role::System,
        name: None,
        text: content.into(),
        source_hash: digest(source.as_bytes()),
        volatile: false,
        dynamic: false,
        squash: false,
        quotes: vec![],
    }
}

// === impl Session ===

impl Session {
    /// Nothing yet: the session is still to be created.
    pub fn nothing() -> Self {
        let actor = Actor { tier: Tier::Owner, subject: id(Subject::new("me")), claim: None };
        let envelope = Envelope {
            now: Timestamp::from_micros(1_796_016_926_000_000),
            actor,
            scopes: Default::default(),
            request_id: None,
            entropy: [0; 32],
            lease: Lease::Alive,
        };
        Self {
            state: State::default(),
            log: vec![],
            envelope,
            marks: vec![],
            requests: vec![],
            broken: None,
            batches: vec![],
            decided: 0,
        }
    }

    pub fn created() -> Self {
        let mut session = Self::nothing();
        session.ok(create());
        session
    }

    pub fn tier(&mut self, tier: Tier) -> &mut Self {
        self.envelope.actor.tier = tier;
        self
    }

    /// Decides and appends.
    pub fn run<V: Verb>(&mut self, verb: V) -> Result<V::Outcome, Rejection> {
        self.tick();
        let decision = decide(&self.state, &self.envelope, verb)?;
        self.log.extend(decision.events);
        self.state = decision.state;
        self.batches.push(self.log.len());
        Ok(decision.outcome)
    }

    /// A second later, with fresh chance.
    pub fn tick(&mut self) {
        self.decided += 1;
        self.envelope.entropy = *digest(&self.decided.to_be_bytes()).as_bytes();
        self.envelope.now = self.envelope.now.plus_ms(1_000);
    }

    #[track_caller]
    pub fn ok<V: Verb>(&mut self, verb: V) -> V::Outcome {
        self.run(verb).expect("the verb is allowed")
    }

    #[track_caller]
    pub fn refused<V: Verb>(&mut self, verb: V, expected: Rejection)
    where
        V::Outcome: std::fmt::Debug,
    {
        let before = self.log.len();
        assert_eq!(self.run(verb).map(|_| ()), Err(expected));
        assert_eq!(self.log.len(), before, "a refusal writes nothing");
    }

    #[track_caller]
    pub fn add(&mut self, key: &str, content: &str) -> Added {
        self.ok(AddContext { key: Some(id(Key::new(key))), content: text(content) })
    }

    #[track_caller]
    pub fn submit(&mut self, name: &str, content: &str) -> Started {
        let content = Some(text(content));
        self.ok(Submit { generation: generation(name), content, guidance: None })
    }

    #[track_caller]
    pub fn land(&mut self, name: &str, segments: Vec<Segment>, withdrawn: &[&str]) -> Landed {
        let fence = self.fence();
        let withdrawn = withdrawn.iter().map(|&key| key.to_owned()).collect();
        let generation = generation(name);
        self.ok(Land { generation, fence, segments, withdrawn, refresh: vec![] })
    }

    /// Renders as a request would, stamps, and records what broke.
    #[track_caller]
    pub fn stamp(&mut self, name: &str, active: Vec<std::sync::Arc<str>>) -> u64 {
        let verb = self.request(name, active, TailChoice::Guidance);
        let offset = self.ok(verb);
        let Some(Event { body: crate::event::Body::LlmRequestRequested(body), .. }) =
            self.log.last()
        else {
            panic!("a stamp was appended")
        };
        self.broken = body.broken;
        offset
    }

    #[track_caller]
    pub fn request(
        &mut self,
        name: &str,
        active_lore: Vec<std::sync::Arc<str>>,
        tail: TailChoice,
    ) -> StampRequest {
        let now = self.envelope.now.plus_ms(1_000);
        let slot = self.state.generation().and_then(|generation| generation.slot);
        let next = self.state.with_stamp(slot, now);
        let log = Log(&self.log);
        let guidance = self.state.generation().and_then(|generation| generation.guidance);
        let guidance = guidance.and_then(|at| log.text(at));
        let tail_text = match &tail {
            TailChoice::Guidance => guidance.map(Tail::Guidance),
            TailChoice::SummaryInstruction(text) => Some(Tail::SummaryInstruction(text)),
        };
        let rendered = journal::render(RenderVersion::V1, next.pieces(), tail_text, &log)
            .expect("every text is in the log");
        let marks = rendered.marks();
        let shared = shared_prefix(&self.marks, &marks);
        let differs = (!shared.complete).then(|| self.marks[shared.blocks as usize].clone());
        let sent = request_digest(&rendered.blocks);
        self.marks = marks;
        self.requests.push((self.state.head().offset + 1, rendered));
        let newest = Versions { render: RenderVersion::V1, adapter: 1 };
        StampRequest {
            generation: generation(name),
            fence: self.fence(),
            model: None,
            versions: self.state.versions_for_next(newest),
            sent,
            call_config: serde_json::json!({}),
            active_lore,
            tail,
            shared,
            differs,
            normalizations: vec![],
        }
    }

    #[track_caller]
    pub fn complete(&mut self, name: &str, reply: &str) -> Completed {
        let fence = self.fence();
        self.ok(Complete {
            generation: generation(name),
            fence,
            text: text(reply),
            usage: Usage::default(),
            finish: None,
            carry: None,
        })
    }

    /// Submit, land nothing, stamp, complete.
    #[track_caller]
    pub fn exchange(&mut self, name: &str, said: &str, reply: &str) -> AlternativeId {
        self.submit(name, said);
        self.stamp(name, vec![]);
        self.complete(name, reply).alternative
    }

    pub fn fence(&self) -> u64 {
        self.state.generation().map_or(0, |generation| generation.fence)
    }

    /// The context now, without the protocol text: one line per block.
    #[track_caller]
    pub fn shown(&self) -> String {
        let rendered =
            journal::render(RenderVersion::V1, self.state.pieces(), None, &Log(&self.log))
                .expect("every text is in the log");
        let blocks = rendered.blocks.iter().skip(1);
        let lines = blocks.map(|block| format!("{}: {}", block.role.name(), block.text));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Kinds of the last events.
    pub fn kinds(&self, from: usize) -> Vec<&'static str> {
        self.log[from..].iter().map(|event| event.meta.kind.name()).collect()
    }

    #[track_caller]
    pub fn broke(&self, cause: Option<Cause>) {
        assert_eq!(self.broken.map(|broken| broken.cause), cause);
    }
}
