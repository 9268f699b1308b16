//! What is compiled for the figures: a preset of 300 prompts, a card with a book of 150 entries, 64 KiB of
//! chat, and all that the services keep between two turns.

use std::{collections::HashMap, sync::Arc};

use kernel::{CharacterId, Digest, EntryId, PresetId, WorldId, digest};
use loader_core::{
    compile::{self, Input, Loaded, LoreEntry, LorePosition, Message, Prepared, Profile},
    format::{card, preset},
};
use lorebook_core::{
    Position, World, WorldSettings,
    activation::{
        self, Activated, CompiledWorld, MacroExpander, O200k, Request, SeededRolls, Settings,
        Source, SourceKind, Tools,
    },
    import::import_book,
    matcher::HitCache,
};
use macros::{Environment, Variables};
use prompt::ProfileMode;
use serde_json::{Value, json};

pub const PROMPTS: usize = 300;
pub const ENTRIES: usize = 150;
/// Of a prompt.
const SENTENCES: usize = 4;
const CHAT_BYTES: usize = 64 * 1024;
/// One sentence of a prompt, an entry, or a message.
const PROSE: &str =
    "The keeper of Grey Skerry counts the ships that pass, and writes each into the ledger. ";

/// Each mode with its figure's name.
pub const MODES: [(&str, ProfileMode); 3] = [
    ("compile_warm_journal", ProfileMode::Journal),
    ("compile_warm_in_chat", ProfileMode::InChat),
    ("compile_warm_contract", ProfileMode::Contract),
];

/// Everything that is at hand once a session has compiled before.
pub struct Warm {
    pub input: Input,
    pub sources: Vec<Source>,
    /// The keys that the messages before held, as the lorebook remembers them.
    hits: HitCache,
    turns: usize,
}

/// UTF-8 bytes of a profile's texts.
pub fn output_bytes(profile: &Profile) -> usize {
    profile.segments.iter().map(|one| one.text.len()).sum()
}

// === impl Warm ===

impl Warm {
    pub fn read(preset: &[u8], card: &[u8], mode: ProfileMode) -> Self {
        let preset = preset::read(preset).expect("is a preset").preset;
        let card = card::read(card, None).expect("is a card").character;
        let book = card.book.as_deref().cloned().expect("has a book");
        let loaded = |model| Loaded {
            id: CharacterId::new("card").expect("an id"),
            name: "Mira".to_owned(),
            revision: "1".to_owned(),
            model: Arc::new(model),
        };
        let input = Input {
            mode,
            preset: Some(Loaded {
                id: PresetId::new("preset").expect("an id"),
                name: "Large".to_owned(),
                revision: "1".to_owned(),
                model: Arc::new(preset),
            }),
            character: Some(loaded(card)),
            messages: chat(),
            user_message_count: 64,
            ..Input::default()
        };
        let hits = HitCache::new(64 * 1024 * 1024, [1, 2]);
        Self { input, sources: vec![source(book)], hits, turns: 0 }
    }

    /// As the loader does it for a new turn: fields, lore, profile.
    pub fn compile(&mut self) -> Profile {
        self.next_turn();
        let prepared = compile::prepare(&self.input);
        let mut variables = prepared.variables().clone();
        let fired = self.activate(&mut variables);
        self.compose(prepared, variables, fired)
    }

    /// Two messages that nobody has seen before take the place of the oldest two.
    pub fn next_turn(&mut self) {
        self.turns += 1;
        self.input.messages.rotate_left(2);
        let newest = self.input.messages.iter_mut().rev().take(2);
        newest.for_each(|message| {
            let kept = message.text.find('!').map_or(0, |at| at + 1);
            let text = format!("{} {} {PROSE}", &message.text[..kept], self.turns);
            message.text.replace_range(..text.len(), &text);
        });
    }

    pub fn compose(
        &mut self,
        prepared: Prepared,
        variables: Variables,
        fired: Vec<Activated>,
    ) -> Profile {
        let hashes = self.sources[0].world.entries().iter().map(|one| (&one.entry.id, one.hash));
        let hashes: HashMap<&EntryId, Digest> = hashes.collect();
        self.input.lore = fired.into_iter().map(|entry| lore(entry, &hashes)).collect();
        self.input.variables = variables;
        self.input.prepared = Some(prepared);
        let profile = compile::compile(&self.input).expect("compiles");
        self.input.lore.clear();
        self.input.variables = Variables::default();
        self.input.prepared = None;
        profile
    }

    pub fn activate(&self, variables: &mut Variables) -> Vec<Activated> {
        let message = |message: &Message| activation::Message {
            name: message.name.clone(),
            text: message.text.clone(),
        };
        let settings = Settings { scan_depth: 1_000, budget_percent: 100, ..Settings::default() };
        let request = Request {
            messages: self.input.messages.iter().map(message).collect(),
            context_tokens: 1_000_000,
            settings,
            ..Request::default()
        };
        let environment = Environment { user: "Bob", char: "Mira", ..Environment::default() };
        let mut tools = Tools {
            expander: &mut MacroExpander { environment, variables },
            rolls: &mut SeededRolls::new(1),
            tokens: &O200k,
            cache: Some(&self.hits),
        };
        activation::activate(&request, &self.sources, &mut tools).entries
    }
}

fn source(book: Value) -> Source {
    let id = WorldId::new("book").expect("an id");
    let imported = import_book(book, "$").expect("is a book");
    let world = World {
        id: id.clone(),
        name: "Grey Skerry".to_owned(),
        enabled: true,
        dynamic_enabled: false,
        content_revision: 1,
        embedded: true,
        settings: WorldSettings::default(),
    };
    let world = CompiledWorld::new(world, imported.entries(&id));
    Source { world: Arc::new(world), kind: SourceKind::Character }
}

fn lore(fired: Activated, hashes: &HashMap<&EntryId, Digest>) -> LoreEntry {
    LoreEntry {
        source_hash: hashes[&fired.entry],
        world: fired.world,
        entry: fired.entry,
        content: fired.text,
        position: match fired.position {
            Position::BeforeChar => LorePosition::BeforeCharacter,
            _ => LorePosition::AfterCharacter,
        },
        order: fired.order,
        text_rank: None,
        dynamic: false,
        volatile: fired.volatile,
        quotes: fired.quotes,
        reason: "key".to_owned(),
    }
}

// --- the files ---

/// Every third prompt is switched off, every seventh stands in the chat, every tenth sets a variable.
pub fn preset_file() -> Vec<u8> {
    preset_of(PROMPTS, SENTENCES)
}

/// The same with so many prompts of so many sentences.
pub fn preset_of(prompts: usize, sentences: usize) -> Vec<u8> {
    let prompt = |at: usize| {
        let setting = match at % 10 {
            0 => format!("{{{{setvar::style_{at}::dry}}}}"),
            5 => format!("{{{{getvar::style_{}}}}} ", at - 5),
            _ => String::new(),
        };
        json!({
            "identifier": format!("prompt-{at}"),
            "name": format!("Prompt {at}"),
            "role": "system",
            "content": format!("{setting}{{{{char}}}} minds rule {at}. {}", PROSE.repeat(sentences)),
            "system_prompt": false,
            "injection_position": usize::from(at.is_multiple_of(7)),
            "injection_depth": at % 5,
            "injection_order": 100,
        })
    };
    let order = |at: usize| json!({"identifier": format!("prompt-{at}"), "enabled": at % 3 != 2});
    let built_in = ["main", "worldInfoBefore", "charDescription", "worldInfoAfter", "chatHistory"];
    let built_in = built_in.map(|identifier| json!({"identifier": identifier, "enabled": true}));
    let order: Vec<Value> = (0..prompts).map(order).chain(built_in).collect();
    let preset = json!({
        "prompts": (0..prompts).map(prompt).collect::<Vec<_>>(),
        "prompt_order": [{"character_id": 100001, "order": order}],
    });
    preset.to_string().into_bytes()
}

/// Every fifth entry of the book holds a macro; two of five are spoken of in the chat.
pub fn card_file() -> Vec<u8> {
    let entry = |at: usize| {
        let content = match at % 5 {
            0 => format!("{{{{char}}}} knows place {at}. {}", PROSE.repeat(3)),
            _ => format!("Place {at}. {}", PROSE.repeat(3)),
        };
        json!({
            "id": at,
            "keys": [place(at), format!("{} bay", place(at))],
            "content": content,
            "enabled": true,
            "insertion_order": at,
            "position": if at.is_multiple_of(2) { "before_char" } else { "after_char" },
            "extensions": {},
        })
    };
    let card = json!({
        "spec": "chara_card_v2",
        "spec_version": "2.0",
        "data": {
            "name": "Mira",
            "description": format!("{{{{char}}}} is the keeper. {}", PROSE.repeat(40)),
            "character_book": {
                "entries": (0..ENTRIES).map(entry).collect::<Vec<_>>(),
                "extensions": {},
            },
            "extensions": {},
        },
    });
    card.to_string().into_bytes()
}

/// A name that no other text holds, of letters by chance.
fn place(at: usize) -> String {
    let letter = |byte: &u8| char::from(b'a' + byte % 26);
    digest(&at.to_be_bytes()).as_bytes()[..6 + at % 4].iter().map(letter).collect()
}

fn chat() -> Vec<Message> {
    const MESSAGES: usize = 128;
    let message = |at: usize| {
        let named = if at < ENTRIES * 2 / 5 { place(at * 5 / 2) } else { String::new() };
        let mut text = format!("{named}! {}", PROSE.repeat(10));
        text.truncate(CHAT_BYTES / MESSAGES);
        let is_user = at.is_multiple_of(2);
        let name = if is_user { "Bob" } else { "Mira" }.to_owned();
        Message { id: format!("m{at}"), name, is_user, text, at: None }
    };
    (0..MESSAGES).map(message).collect()
}
