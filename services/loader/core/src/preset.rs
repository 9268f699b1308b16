//! A SillyTavern chat-completion preset, typed: what `compile` reads (reference B1, B2).
//!
//! The original document stays beside this model in the store, untouched; keys that no field here
//! names are carried there and exported again. An absent key has its default: nothing is left over
//! from another preset (reference E49).

use std::{collections::HashMap, sync::LazyLock};

use macros::Template;
use prompt::Role;
pub use prompt::in_chat::NamesBehavior;
use serde::{Deserialize, Serialize};

pub mod builtin;

/// A preset with its defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preset {
    /// In file order, built-in prompts that the file lacks appended. On lookup the first one of an
    /// identifier wins.
    pub prompts: Vec<Prompt>,
    /// The order in force, as written: duplicates and unknown identifiers included.
    pub order: Vec<OrderEntry>,
    pub order_source: OrderSource,
    pub formats: Formats,
    pub chat: ChatOptions,
    pub sampling: Sampling,
    /// Whether sections that callers added stay beside the profile.
    #[serde(default)]
    pub mode: PresetMode,
}

/// One prompt of the prompt manager.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    pub identifier: String,
    pub name: String,
    /// Absent means system for a prompt, and "leave the field's role" for a marker.
    pub role: Option<Role>,
    pub content: Template,
    /// As written; SillyTavern sends a relative custom prompt only for `false` (reference B3.4).
    pub system_prompt: Option<bool>,
    pub marker: bool,
    pub injection: Injection,
    /// Generation types it takes part in; empty means all.
    pub triggers: Vec<String>,
    pub forbid_overrides: bool,
}

/// Where a prompt goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Injection {
    /// At its place in the order.
    #[default]
    Relative,
    /// Inside the history. A depth that is absent or no number never matches in SillyTavern.
    Absolute { depth: Option<u32>, order: i64 },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderEntry {
    pub identifier: String,
    /// Absent in the file means off.
    pub enabled: bool,
}

/// What a line of the order means.
#[derive(Debug, Clone, Copy)]
pub enum Ordered<'p> {
    Prompt(&'p Prompt),
    /// An earlier line has named it.
    Again,
    /// There is no such prompt.
    Unknown,
}

/// Which `prompt_order` list is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderSource {
    /// `character_id` 100001.
    Global,
    /// `character_id` 100000, used because 100001 is missing: kinder than SillyTavern, diagnosed.
    Legacy,
    /// The file has neither.
    #[default]
    BuiltIn,
}

/// Texts wrapped around pieces, and the fixed lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Formats {
    pub world_info: Template,
    pub scenario: Template,
    pub personality: Template,
    pub new_chat: Template,
    pub new_group_chat: Template,
    pub new_example_chat: Template,
    pub continue_nudge: Template,
    pub group_nudge: Template,
    pub impersonation: Template,
}

/// How the history is turned into messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatOptions {
    pub names: NamesBehavior,
    pub squash_system_messages: bool,
    pub send_if_empty: Template,
    pub continue_prefill: bool,
    pub continue_postfix: String,
    pub assistant_prefill: String,
    pub assistant_impersonation: String,
    pub use_system_prompt: bool,
}

/// What is asked of the model, beside the text. `None`: not named by the preset, not sent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sampling {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub top_k: Option<f64>,
    pub top_a: Option<f64>,
    pub min_p: Option<f64>,
    pub frequency_penalty: Option<f64>,
    pub presence_penalty: Option<f64>,
    pub repetition_penalty: Option<f64>,
    /// Tokens of the context (`openai_max_context`); the model's window rules where it is smaller.
    pub max_context: Option<u32>,
    /// Tokens of the reply (`openai_max_tokens`).
    pub max_tokens: Option<u32>,
    /// Sent only when not negative.
    pub seed: Option<i64>,
    pub n: Option<u32>,
    /// Foreign presets carry these; SillyTavern keeps them elsewhere.
    pub stop: Vec<String>,
    /// As written; `auto` is not sent.
    pub reasoning_effort: Option<String>,
    /// As written; `auto` is not sent.
    pub verbosity: Option<String>,
}

/// What happens to sections that callers added (30-loader, section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PresetMode {
    #[default]
    Append,
    Replace,
}

// === impl Preset ===

impl Preset {
    /// SillyTavern's shipped preset, made once.
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<Preset> = LazyLock::new(Preset::default);
        &SHIPPED
    }

    /// The order with the prompt that each line means, the first of its identifier.
    pub fn ordered(&self) -> impl Iterator<Item = (&OrderEntry, Ordered<'_>)> {
        let mut prompts: HashMap<&str, Ordered<'_>> = HashMap::with_capacity(self.prompts.len());
        for prompt in &self.prompts {
            prompts.entry(&prompt.identifier).or_insert(Ordered::Prompt(prompt));
        }
        self.order.iter().map(move |entry| {
            let found = prompts.get_mut(entry.identifier.as_str());
            let found = found.map(|prompt| std::mem::replace(prompt, Ordered::Again));
            (entry, found.unwrap_or(Ordered::Unknown))
        })
    }

    /// The prompt that an identifier means: the first of that name.
    pub fn prompt(&self, identifier: &str) -> Option<&Prompt> {
        self.prompts.iter().find(|prompt| prompt.identifier == identifier)
    }
}

/// SillyTavern's shipped preset: what IN_CHAT sends when a session has selected none.
impl Default for Preset {
    fn default() -> Self {
        Self {
            prompts: builtin::prompts(),
            order: builtin::order(),
            order_source: OrderSource::BuiltIn,
            formats: Formats::default(),
            chat: ChatOptions::default(),
            sampling: Sampling::default(),
            mode: PresetMode::Append,
        }
    }
}

// === impl Prompt ===

impl Prompt {
    /// A relative system prompt with a text and nothing else set.
    pub fn new(identifier: impl Into<String>, content: impl Into<Template>) -> Self {
        let identifier = identifier.into();
        Self {
            name: identifier.clone(),
            identifier,
            role: None,
            content: content.into(),
            system_prompt: None,
            marker: false,
            injection: Injection::Relative,
            triggers: Vec::new(),
            forbid_overrides: false,
        }
    }

    /// Whether it takes part in a generation of this type.
    pub fn triggered_by(&self, generation_type: &str) -> bool {
        self.triggers.is_empty() || self.triggers.iter().any(|t| t == generation_type)
    }
}

// === impl Injection ===

impl Injection {
    /// The depth that SillyTavern's editor writes.
    pub const DEPTH_DEFAULT: u32 = 4;
    pub const ORDER_DEFAULT: i64 = 100;
}

// === impl Formats ===

impl Default for Formats {
    fn default() -> Self {
        Self {
            world_info: "{0}".into(),
            scenario: "{{scenario}}".into(),
            personality: "{{personality}}".into(),
            new_chat: "[Start a new Chat]".into(),
            new_group_chat: "[Start a new group chat. Group members: {{group}}]".into(),
            new_example_chat: "[Example Chat]".into(),
            continue_nudge: "[Continue your last message without repeating its original content.]"
                .into(),
            group_nudge: "[Write the next reply only as {{char}}.]".into(),
            impersonation: "[Write the next message as {{user}}, in the first person.]".into(),
        }
    }
}

// === impl ChatOptions ===

impl Default for ChatOptions {
    fn default() -> Self {
        Self {
            names: NamesBehavior::Default,
            squash_system_messages: false,
            send_if_empty: Template::default(),
            continue_prefill: false,
            continue_postfix: " ".into(),
            assistant_prefill: String::new(),
            assistant_impersonation: String::new(),
            use_system_prompt: false,
        }
    }
}
