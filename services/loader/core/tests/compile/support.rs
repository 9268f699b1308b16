//! A scene to compile, built in one expression.

use std::sync::Arc;

use kernel::{CharacterId, EntryId, PresetId, UserId, WorldId, digest};
use loader_core::{
    Character, Preset, User,
    compile::{Input, Loaded, LoreEntry, LorePosition, Message, Profile, compile},
    diagnostic::Diagnostic,
    preset::{Injection, OrderEntry, Prompt},
};
use prompt::{ProfileMode, Role, in_chat::HistoryItem};

#[derive(Debug, Clone)]
pub struct Scene {
    pub input: Input,
    pub preset: Option<Preset>,
    pub character: Option<Character>,
    pub user: Option<User>,
}

pub fn contract() -> Scene {
    scene(ProfileMode::Contract)
}

pub fn journal() -> Scene {
    scene(ProfileMode::Journal)
}

/// With an empty preset that has a history and says nothing by itself.
pub fn in_chat() -> Scene {
    let mut scene = scene(ProfileMode::InChat).order(&["chatHistory"]);
    let preset = scene.preset.as_mut().expect("has a preset");
    preset.formats.new_chat = "".into();
    preset.formats.new_example_chat = "".into();
    scene
}

fn scene(mode: ProfileMode) -> Scene {
    let input = Input { mode, user_message_count: 1, ..Input::default() };
    Scene { input, preset: None, character: None, user: None }
}

pub fn lore(number: u32, content: &str, position: LorePosition) -> LoreEntry {
    LoreEntry {
        world: WorldId::new("w").expect("is an id"),
        entry: EntryId::new(format!("e{number}")).expect("is an id"),
        content: content.to_owned(),
        source_hash: digest(content.as_bytes()),
        position,
        order: 100.0,
        text_rank: None,
        dynamic: false,
        volatile: false,
        quotes: Vec::new(),
        reason: "key".to_owned(),
    }
}

// === impl Scene ===

impl Scene {
    /// Adds a custom prompt, or gives a built-in one its text, and appends it to the order.
    pub fn prompt(self, identifier: &str, content: &str) -> Self {
        self.prompt_with(identifier, content, |_| {})
    }

    pub fn prompt_with(
        mut self,
        identifier: &str,
        content: &str,
        change: impl Fn(&mut Prompt),
    ) -> Self {
        let mut prompt = Prompt { system_prompt: Some(false), ..Prompt::new(identifier, content) };
        change(&mut prompt);
        self.preset_mut().prompts.insert(0, prompt);
        self.order(&[identifier])
    }

    pub fn at_depth(
        self,
        identifier: &str,
        content: &str,
        depth: u32,
        order: i64,
        role: Role,
    ) -> Self {
        self.prompt_with(identifier, content, |prompt| {
            prompt.injection = Injection::Absolute { depth: Some(depth), order };
            prompt.role = Some(role);
        })
    }

    /// Appends to the order; a leading `-` means switched off.
    pub fn order(mut self, identifiers: &[&str]) -> Self {
        for &identifier in identifiers {
            let enabled = !identifier.starts_with('-');
            let identifier = identifier.trim_start_matches('-').to_owned();
            self.preset_mut().order.push(OrderEntry { identifier, enabled });
        }
        self
    }

    pub fn preset(mut self, change: impl Fn(&mut Preset)) -> Self {
        change(self.preset_mut());
        self
    }

    fn preset_mut(&mut self) -> &mut Preset {
        self.preset.get_or_insert_with(|| Preset { order: Vec::new(), ..Preset::default() })
    }

    pub fn card(mut self, change: impl Fn(&mut Character)) -> Self {
        change(self.character.get_or_insert_with(|| Character::new("Mira")));
        self
    }

    pub fn user(mut self, name: &str, description: &str) -> Self {
        self.user = Some(User::new(name.to_owned(), description.to_owned()).expect("is a user"));
        self
    }

    pub fn lore(mut self, content: &str, position: LorePosition) -> Self {
        let number = u32::try_from(self.input.lore.len()).expect("few entries");
        self.input.lore.push(lore(number, content, position));
        self
    }

    /// Bob and Mira take turns, Bob first.
    pub fn chat(mut self, texts: &[&str]) -> Self {
        self.input.names.user.get_or_insert_with(|| "Bob".to_owned());
        self.input.names.character.get_or_insert_with(|| "Mira".to_owned());
        for (at, text) in texts.iter().enumerate() {
            let is_user = at % 2 == 0;
            self.input.messages.push(Message {
                id: format!("m{at}"),
                name: if is_user { "Bob" } else { "Mira" }.to_owned(),
                is_user,
                text: (*text).to_owned(),
                at: None,
            });
        }
        self
    }

    pub fn with(mut self, change: impl Fn(&mut Input)) -> Self {
        change(&mut self.input);
        self
    }

    pub fn input(&self) -> Input {
        let mut input = self.input.clone();
        input.preset =
            self.preset.clone().map(|preset| loaded(id::<PresetId>("p1"), "Pre", preset));
        input.character =
            self.character.clone().map(|card| loaded(id::<CharacterId>("c1"), "Mira", card));
        input.user = self.user.clone().map(|user| loaded(id::<UserId>("u1"), "Bob", user));
        input
    }

    #[track_caller]
    pub fn profile(&self) -> Profile {
        compile(&self.input()).expect("compiles")
    }

    /// CONTRACT's profile without its heading.
    #[track_caller]
    pub fn body(&self) -> String {
        let profile = self.profile();
        let text = profile.system_text().unwrap_or("").to_owned();
        text.split_once("\n\n").map_or(String::new(), |(_, body)| body.to_owned())
    }

    /// The texts of all segments.
    #[track_caller]
    pub fn texts(&self) -> Vec<String> {
        self.profile().segments.into_iter().map(|segment| segment.text).collect()
    }

    /// What IN_CHAT sends, as `role: text`.
    #[track_caller]
    pub fn sent(&self) -> Vec<String> {
        let profile = self.profile();
        let role = |is_user| if is_user { Role::User } else { Role::Assistant };
        let history: Vec<HistoryItem> = self
            .input
            .messages
            .iter()
            .map(|m| HistoryItem { role: role(m.is_user), name: Some(&m.name), text: &m.text })
            .collect();
        prompt::in_chat::assemble(&profile.segments, &history, &profile.chat)
            .into_iter()
            .map(|block| match block.name {
                Some(name) => format!("{}({name}): {}", block.role.name(), block.text),
                None => format!("{}: {}", block.role.name(), block.text),
            })
            .collect()
    }

    #[track_caller]
    pub fn codes(&self) -> Vec<&'static str> {
        self.profile().diagnostics.iter().map(|said| said.code.name()).collect()
    }

    #[track_caller]
    pub fn says(&self, code: &str) {
        let codes = self.codes();
        assert!(codes.contains(&code), "{code} is not among {codes:?}");
    }

    /// What is said under one code.
    pub fn diagnostics(&self, code: &str) -> Vec<Diagnostic> {
        let all = self.profile().diagnostics;
        all.into_iter().filter(|said| said.code.name() == code).collect()
    }

    #[track_caller]
    pub fn says_not(&self, code: &str) {
        let codes = self.codes();
        assert!(!codes.contains(&code), "{code} is among {codes:?}");
    }
}

fn loaded<Id, T>(id: Id, name: &str, model: T) -> Loaded<Id, T> {
    Loaded { id, name: name.to_owned(), revision: "r1".to_owned(), model: Arc::new(model) }
}

fn id<Id: TryFrom<String>>(text: &str) -> Id
where
    Id::Error: std::fmt::Debug,
{
    Id::try_from(text.to_owned()).expect("is an id")
}
