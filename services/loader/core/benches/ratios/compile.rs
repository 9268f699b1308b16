//! Compiling a large profile, the activation of its lore included.

use std::{collections::HashMap, hint::black_box, sync::Arc};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
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
};
use macros::{Environment, Variables};
use prompt::ProfileMode;
use serde_json::{Value, json};

use crate::{ROUNDS, figure, time};

const PROMPTS: usize = 300;
const ENTRIES: usize = 150;
const CHAT_BYTES: usize = 64 * 1024;
/// One sentence of a prompt, an entry, or a message.
const PROSE: &str =
    "The keeper of Grey Skerry counts the ships that pass, and writes each into the ledger. ";

/// Everything that is at hand once a session has compiled before.
struct Warm {
    input: Input,
    sources: Vec<Source>,
}

pub fn measure() {
    let (preset, card) = (preset_file(), card_file());
    println!("a preset of {PROMPTS} prompts, a book of {ENTRIES} entries, 64 KiB of chat");
    for (name, mode) in [
        ("compile_warm_journal", ProfileMode::Journal),
        ("compile_warm_in_chat", ProfileMode::InChat),
        ("compile_warm_contract", ProfileMode::Contract),
    ] {
        let warm = Warm::read(&preset, &card, mode);
        let profile = warm.compile();
        let texts: Vec<&str> = profile.segments.iter().map(|one| one.text.as_str()).collect();
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        println!("{} segments, {bytes} bytes, {} entries", texts.len(), profile.audit.lore.len());
        warm.explain();
        let scan = bare_scan(&warm);
        let floor = || {
            black_box(scan());
            for text in &texts {
                black_box(digest(black_box((*text).to_owned()).as_bytes()));
            }
        };
        figure(name, 3.0, floor, || drop(black_box(warm.compile())));
    }
    cold(&preset, &card);
}

fn cold(preset: &[u8], card: &[u8]) {
    let mut times: Vec<_> = (0..ROUNDS)
        .map(|_| {
            time(&mut || {
                black_box(Warm::read(preset, card, ProfileMode::Journal).compile());
            })
        })
        .collect();
    times.sort_unstable();
    println!(
        "compile_cold, with its documents read and its book compiled: {:?}",
        times[ROUNDS / 2]
    );
}

/// The faster of the two engines that can do it.
fn bare_scan(warm: &Warm) -> impl Fn() -> usize {
    let entries = warm.sources[0].world.entries();
    let keys: Vec<&String> = entries.iter().flat_map(|one| &one.entry.body.keys).collect();
    let texts = warm.input.messages.iter().map(|message| message.text.to_lowercase());
    let text = texts.collect::<Vec<_>>().join("\n");
    let engines = [AhoCorasickKind::DFA, AhoCorasickKind::ContiguousNFA].map(|kind| {
        let engine = AhoCorasick::builder().kind(Some(kind)).build(&keys).expect("few keys");
        let taken = time(&mut || {
            for _ in 0..ROUNDS {
                black_box(engine.find_overlapping_iter(&text).count());
            }
        });
        (taken, engine)
    });
    let fastest = engines.into_iter().min_by_key(|(taken, _)| *taken);
    let (_, engine) = fastest.expect("two engines");
    move || engine.find_overlapping_iter(&text).count()
}

// === impl Warm ===

impl Warm {
    fn read(preset: &[u8], card: &[u8], mode: ProfileMode) -> Self {
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
        Self { input, sources: vec![source(book)] }
    }

    /// As the loader does it: fields, lore, profile.
    fn compile(&self) -> Profile {
        let prepared = compile::prepare(&self.input);
        let mut variables = prepared.variables().clone();
        let fired = self.activate(&mut variables);
        self.compose(prepared, variables, fired)
    }

    fn compose(&self, prepared: Prepared, variables: Variables, fired: Vec<Activated>) -> Profile {
        let hashes = self.sources[0].world.entries().iter().map(|one| (&one.entry.id, one.hash));
        let hashes: HashMap<&EntryId, Digest> = hashes.collect();
        let lore = fired.into_iter().map(|entry| lore(entry, &hashes)).collect();
        let prepared = Some(prepared);
        let input = Input { lore, variables, prepared, ..self.input.clone() };
        compile::compile(&input).expect("compiles")
    }

    /// What each step takes.
    fn explain(&self) {
        let (mut prepared, mut fired) = (Prepared::default(), Vec::new());
        let fields = time(&mut || prepared = compile::prepare(&self.input));
        let mut variables = prepared.variables().clone();
        let lore = time(&mut || fired = self.activate(&mut variables));
        let profile = time(&mut || {
            let (prepared, fired) = (std::mem::take(&mut prepared), std::mem::take(&mut fired));
            black_box(self.compose(prepared, variables.clone(), fired));
        });
        println!("fields {fields:?}, activation {lore:?}, profile {profile:?}");
    }

    fn activate(&self, variables: &mut Variables) -> Vec<Activated> {
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
            cache: None,
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
fn preset_file() -> Vec<u8> {
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
            "content": format!("{setting}{{{{char}}}} minds rule {at}. {}", PROSE.repeat(4)),
            "system_prompt": false,
            "injection_position": usize::from(at.is_multiple_of(7)),
            "injection_depth": at % 5,
            "injection_order": 100,
        })
    };
    let order = |at: usize| json!({"identifier": format!("prompt-{at}"), "enabled": at % 3 != 2});
    let built_in = ["main", "worldInfoBefore", "charDescription", "worldInfoAfter", "chatHistory"];
    let built_in = built_in.map(|identifier| json!({"identifier": identifier, "enabled": true}));
    let order: Vec<Value> = (0..PROMPTS).map(order).chain(built_in).collect();
    let preset = json!({
        "prompts": (0..PROMPTS).map(prompt).collect::<Vec<_>>(),
        "prompt_order": [{"character_id": 100001, "order": order}],
    });
    preset.to_string().into_bytes()
}

/// Every fifth entry of the book holds a macro; two of five are spoken of in the chat.
fn card_file() -> Vec<u8> {
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

/// A name that no other text holds.
fn place(at: usize) -> String {
    let letter = |at: usize| char::from(b"abcdefghijklmnopqrstuvwxyz"[at % 26]);
    format!("skerr{}{}{}", letter(at), letter(at / 26), letter(at / 3))
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
