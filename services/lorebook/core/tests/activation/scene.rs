//! A chat and a world in few words, for tests of activation.

use std::sync::Arc;

use kernel::{EntryId, WorldId};
use lorebook_core::{
    Entry, EntryBody, Layer, SelectiveLogic, World, WorldSettings,
    activation::{
        Activation, CompiledWorld, MacroExpander, Message, Request, ScriptedRolls, Source,
        SourceKind, TimedState, Tools, Words, activate,
    },
};

/// A scan to be. Entry `n` of the world has the uid and the id `n`.
pub struct Scene {
    pub request: Request,
    pub entries: Vec<Entry>,
    pub world: WorldSettings,
    pub rolls: Vec<f64>,
    pub variables: macros::Variables,
    more: Vec<Source>,
}

pub fn entry(keys: &[&str], content: &str) -> EntryBody {
    EntryBody {
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        content: content.to_owned(),
        ..EntryBody::default()
    }
}

pub fn with(body: EntryBody, set: impl FnOnce(&mut EntryBody)) -> EntryBody {
    let mut body = body;
    set(&mut body);
    body
}

pub fn secondary(keys: &[&str], logic: SelectiveLogic, secondary: &[&str]) -> EntryBody {
    with(entry(keys, "x"), |body| {
        body.selective_logic = logic;
        body.secondary_keys = secondary.iter().map(|key| (*key).to_owned()).collect();
    })
}

pub fn grouped(keys: &[&str], group: &str) -> EntryBody {
    with(entry(keys, "x"), |body| body.group = group.to_owned())
}

pub fn constant(content: &str) -> EntryBody {
    EntryBody { constant: true, ..entry(&[], content) }
}

pub fn world_id(name: &str) -> WorldId {
    WorldId::new(name).expect("a well-formed id")
}

pub fn entry_id(uid: usize) -> EntryId {
    EntryId::new(uid.to_string()).expect("a well-formed id")
}

pub fn compiled(name: &str, settings: WorldSettings, entries: Vec<Entry>) -> Arc<CompiledWorld> {
    let world = World {
        id: world_id(name),
        name: name.to_owned(),
        enabled: true,
        dynamic_enabled: true,
        content_revision: 7,
        embedded: false,
        settings,
    };
    Arc::new(CompiledWorld::new(world, entries))
}

pub fn rows(bodies: impl IntoIterator<Item = EntryBody>) -> Vec<Entry> {
    let row = |(uid, body)| Entry::authored(entry_id(uid), uid as i64, uid as i64, body);
    bodies.into_iter().enumerate().map(row).collect()
}

/// The uids of what fired, in order.
pub fn uids(activation: &Activation) -> Vec<i64> {
    activation.entries.iter().map(|one| one.uid).collect()
}

/// The codes of the diagnostics.
pub fn codes(activation: &Activation) -> Vec<&'static str> {
    activation.diagnostics.iter().map(|said| said.code.as_str()).collect()
}

// === impl Scene ===

impl Scene {
    /// A world of these entries, and a chat of one message.
    pub fn new(entries: impl IntoIterator<Item = EntryBody>, text: &str) -> Self {
        let mut request = Request { context_tokens: 10_000, ..Request::default() };
        request.settings.include_names = false;
        let scene = Self {
            request,
            entries: rows(entries),
            world: WorldSettings::default(),
            rolls: Vec::new(),
            variables: macros::Variables::default(),
            more: Vec::new(),
        };
        scene.chat(&[text])
    }

    /// The whole chat, oldest first.
    pub fn chat(mut self, texts: &[&str]) -> Self {
        let message = |text: &&str| Message { name: "Bob".into(), text: (*text).to_owned() };
        self.request.messages = texts.iter().map(message).collect();
        self
    }

    pub fn rolls(mut self, rolls: &[f64]) -> Self {
        self.rolls = rolls.to_vec();
        self
    }

    pub fn set(mut self, set: impl FnOnce(&mut Request)) -> Self {
        set(&mut self.request);
        self
    }

    pub fn world(mut self, settings: WorldSettings) -> Self {
        self.world = settings;
        self
    }

    pub fn timed(mut self, timed: TimedState) -> Self {
        self.request.timed = timed;
        self
    }

    /// Another world beside the first, which is global.
    pub fn beside(mut self, name: &str, kind: SourceKind, entries: Vec<EntryBody>) -> Self {
        let world = compiled(name, WorldSettings::default(), rows(entries));
        self.more.push(Source { world, kind });
        self
    }

    pub fn dynamic(mut self, uid: usize) -> Self {
        self.entries[uid].layer = Layer::Dynamic;
        self
    }

    pub fn run(&mut self) -> Activation {
        let world = compiled("world", self.world.clone(), self.entries.clone());
        let mut sources = vec![Source { world, kind: SourceKind::Global }];
        sources.extend(self.more.iter().cloned());
        let environment =
            macros::Environment { user: "Bob", char: "Mira", ..macros::Environment::default() };
        activate(
            &self.request,
            &sources,
            &mut Tools {
                expander: &mut MacroExpander { environment, variables: &mut self.variables },
                rolls: &mut ScriptedRolls::new(self.rolls.iter().copied()),
                tokens: &Words,
                cache: None,
            },
        )
    }

    /// What fires.
    #[track_caller]
    pub fn fires(mut self, expected: &[i64]) -> Self {
        assert_eq!(uids(&self.run()), expected);
        self
    }

    /// That a code is among the diagnostics.
    #[track_caller]
    pub fn says(mut self, code: &str) -> Self {
        let codes = codes(&self.run());
        assert!(codes.contains(&code), "{code} is not in {codes:?}");
        self
    }
}
