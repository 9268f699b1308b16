//! Activation: worlds compiled once per revision, scanned for one request.

mod compiled;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use kernel::{Digest, EntryId, Owner, Timestamp, WorldId, digest};
use lorebook_core::{
    activation::{
        Activation, Code, CompiledWorld, MacroExpander, O200k, Request, SeededRolls, Source,
        SourceKind, Tools, activate,
    },
    matcher::HitCache,
};
use macros::{Card, ChatLine, Environment, Variables};

pub use compiled::Compiled;

use self::compiled::{Key, seeds};
use crate::{
    Lorebook,
    error::Error,
    store::{Listed, Stored},
};

/// What a caller asks, checked.
pub struct Ask {
    pub sources: Vec<(WorldId, SourceKind)>,
    pub request: Request,
    /// Ids of the messages and whether the user wrote them, in the messages' order.
    pub speakers: Vec<Speaker>,
    pub forced: Vec<EntryId>,
    pub macros: MacroInputs,
    pub variables: Variables,
    pub seed: Vec<u8>,
    pub pick_seed: u64,
    pub live: Vec<(WorldId, EntryId)>,
}

pub struct Speaker {
    pub id: String,
    pub is_user: bool,
}

/// What the macros of lore may read, beside messages and variables.
#[derive(Debug, Clone, Default)]
pub struct MacroInputs {
    pub user: String,
    pub character: String,
    /// Card fields by macro name.
    pub fields: HashMap<String, String>,
    pub now: Timestamp,
    pub model: String,
    pub context_tokens: u32,
    pub reply_tokens: u32,
}

/// What fired, with what the caller needs to know of the worlds.
pub struct Answer {
    pub activation: Activation,
    pub variables: Variables,
    /// The worlds that took part, as they are listed.
    pub worlds: Vec<Listed>,
    /// By entry: what a section's source hash is made from.
    pub hashes: HashMap<(WorldId, EntryId), Digest>,
    pub notes: Vec<Note>,
    /// For each asked entry, its present hash if it is in effect.
    pub live: Vec<((WorldId, EntryId), Option<Digest>)>,
}

/// A source that took no part, or an id that nobody knows.
pub struct Note {
    pub code: &'static str,
    pub place: String,
    pub message: &'static str,
}

// === impl Lorebook ===

impl Lorebook {
    /// Scans the request's texts; reads nothing but the worlds, changes nothing.
    pub async fn activate(self: &Arc<Self>, owner: &Owner, ask: Ask) -> Result<Answer, Error> {
        let ids: Vec<WorldId> = ask.sources.iter().map(|(id, _)| id.clone()).collect();
        let listed = self.store.worlds(owner, &ids).await?;
        let mut notes = Vec::new();
        let mut sources = Vec::new();
        for (id, kind) in &ask.sources {
            match listed.iter().find(|listed| listed.world.id == *id) {
                None => {
                    notes.push(Note::of(id, "WORLD_BOOK_NOT_FOUND", "the world does not exist"))
                }
                Some(listed) if !listed.world.enabled => {
                    notes.push(Note::of(
                        id,
                        Code::WorldDisabled.as_str(),
                        "the world is switched off",
                    ));
                }
                Some(listed) => {
                    if let Some(world) = self.compiled(owner, listed).await? {
                        sources.push(Source { world, kind: *kind });
                    }
                }
            }
        }
        let lorebook = self.clone();
        let scan = move || scan(&lorebook.compiled.hits, ask, sources, listed, notes);
        Ok(tokio::task::spawn_blocking(scan).await?)
    }

    /// The world as of now, from memory or compiled; None if it is gone by now.
    async fn compiled(
        self: &Arc<Self>,
        owner: &Owner,
        listed: &Listed,
    ) -> Result<Option<Arc<CompiledWorld>>, Error> {
        let key = Key::of(owner, listed);
        if let Some(world) = self.compiled.get(&key) {
            return Ok(Some(world));
        }
        let Some(Stored { listed, entries }) = self.store.book(owner, &listed.world.id).await?
        else {
            return Ok(None);
        };
        // It may have moved since it was listed; what was read is kept under its own key.
        let key = Key::of(owner, &listed);
        let lorebook = self.clone();
        let compile = move || CompiledWorld::new(listed.world, entries);
        let compiled = move || lorebook.compiled.get_or(key, compile);
        Ok(Some(tokio::task::spawn_blocking(compiled).await?))
    }
}

fn scan(
    hits: &HitCache,
    ask: Ask,
    sources: Vec<Source>,
    mut listed: Vec<Listed>,
    mut notes: Vec<Note>,
) -> Answer {
    let Ask { mut request, speakers, forced, macros, mut variables, seed, pick_seed, live, .. } =
        ask;
    request.forced = force(&forced, &sources, &mut notes);
    let lines = chat(&request, &speakers, &macros);
    let seed = seeds(digest(&seed).as_bytes());
    let environment = environment(&macros, &lines, &request, (seed[0], pick_seed));
    let mut expander = MacroExpander { environment, variables: &mut variables };
    let mut rolls = SeededRolls::new(seed[1]);
    let mut tools =
        Tools { expander: &mut expander, rolls: &mut rolls, tokens: &O200k, cache: Some(hits) };
    let activation = activate(&request, &sources, &mut tools);
    let hash = |world: &WorldId, entry: &EntryId| {
        let source = sources.iter().find(|source| source.world.world.id == *world)?;
        Some(source.world.entry(entry)?.hash)
    };
    let hashes = activation.entries.iter().filter_map(|fired| {
        let hash = hash(&fired.world, &fired.entry)?;
        Some(((fired.world.clone(), fired.entry.clone()), hash))
    });
    let hashes = hashes.collect();
    let live = live.into_iter().map(|(world, entry)| {
        let hash = hash(&world, &entry);
        ((world, entry), hash)
    });
    let live = live.collect();
    listed.retain(|one| activation.worlds.iter().any(|(id, _)| *id == one.world.id));
    Answer { worlds: listed, hashes, notes, live, variables, activation }
}

/// Forced ids name entries alone; the worlds in use say which world each is of.
fn force(
    ids: &[EntryId],
    sources: &[Source],
    notes: &mut Vec<Note>,
) -> BTreeSet<(WorldId, EntryId)> {
    let mut forced = BTreeSet::new();
    for id in ids {
        // One that is switched off is known, and the scan says why it does not fire.
        let holds = |source: &&Source| {
            let mut left_out = source.world.left_out().iter();
            source.world.entry(id).is_some() || left_out.any(|(_, row)| row == id)
        };
        let holder = sources.iter().find(holds);
        match holder {
            Some(source) => {
                forced.insert((source.world.world.id.clone(), id.clone()));
            }
            None => notes.push(Note {
                code: Code::ForcedUnknown.as_str(),
                place: id.to_string(),
                message: "no world in use has this entry",
            }),
        }
    }
    forced
}

fn chat<'a>(
    request: &'a Request,
    speakers: &'a [Speaker],
    macros: &'a MacroInputs,
) -> Vec<ChatLine<'a>> {
    let line =
        |(message, speaker): (&'a lorebook_core::activation::Message, &'a Speaker)| ChatLine {
            id: &speaker.id,
            name: match (message.name.as_str(), speaker.is_user) {
                ("", true) => &macros.user,
                ("", false) => &macros.character,
                (name, _) => name,
            },
            is_user: speaker.is_user,
            text: &message.text,
            ..ChatLine::default()
        };
    request.messages.iter().zip(speakers).map(line).collect()
}

fn environment<'a>(
    macros: &'a MacroInputs,
    chat: &'a [ChatLine<'a>],
    request: &'a Request,
    (seed, pick_seed): (u64, u64),
) -> Environment<'a> {
    let field = |name: &str| macros.fields.get(name).map_or("", String::as_str);
    let count = request.message_count.map_or(chat.len(), |count| count as usize);
    Environment {
        user: &macros.user,
        char: &macros.character,
        persona: field("persona"),
        card: Card {
            description: field("description"),
            personality: field("personality"),
            scenario: field("scenario"),
            system_prompt: field("charPrompt"),
            post_history: field("charInstruction"),
            depth_prompt: field("charDepthPrompt"),
            creator_notes: field("creatorNotes"),
            version: field("charVersion"),
            mes_examples: field("mesExamples"),
            first_message: field("charFirstMessage"),
            alternate_greetings: &[],
        },
        chat,
        chat_offset: count.saturating_sub(chat.len()),
        now: macros.now,
        model: &macros.model,
        max_context: macros.context_tokens.into(),
        max_response: macros.reply_tokens.into(),
        generation_type: request.generation.name(),
        seed,
        pick_seed,
        ..Environment::default()
    }
}

// === impl Note ===

impl Note {
    fn of(world: &WorldId, code: &'static str, message: &'static str) -> Self {
        Self { code, place: format!("world/{world}"), message }
    }
}
