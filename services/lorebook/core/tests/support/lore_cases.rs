//! Reads golden activations and runs them: `input` as SillyTavern's settings and files have it,
//! `expected` as its code answered.

use std::{collections::BTreeMap, sync::Arc};

use kernel::{EntryId, WorldId};
use lorebook_core::{
    Entry, GenerationType, World, WorldSettings,
    activation::{
        Activated, Activation, CandidateOrder, CharacterContext, CompiledWorld, Defects, Effect,
        MacroExpander, Message, Place, Request, ScriptedRolls, Settings, Source, SourceKind,
        TextSources, TimedState, Tools, Words, activate, blocks, by_order,
    },
    import::import_value,
    matcher::HitCache,
};
use serde_json::{Map, Value, json};

/// How a case came out.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Passed,
    /// The expected answer comes out with this one defect of SillyTavern's switched on.
    Divergence(&'static str),
    /// The first difference.
    Failed(String),
}

/// What a case says of its worlds: the name of each, in the order of their ids.
struct Names<'c>(Vec<&'c str>);

/// A case's name and outcome.
pub fn run(case: &Value) -> (String, Outcome) {
    let id = case["input"]["id"].as_str().unwrap_or("?").to_owned();
    let expected = &case["expected"];
    let Some(difference) = difference(expected, &answer(&case["input"], Defects::default())) else {
        return (id, Outcome::Passed);
    };
    let explains =
        |defects: &Defects| self::difference(expected, &answer(&case["input"], *defects)).is_none();
    match Defects::each().into_iter().find(|(_, defects)| explains(defects)) {
        Some((name, _)) => (id, Outcome::Divergence(name)),
        None => (id, Outcome::Failed(difference)),
    }
}

/// The first key whose values differ, and how.
pub fn difference(expected: &Value, found: &Value) -> Option<String> {
    let keys =
        ["activated", "before", "after", "em", "depth", "anTop", "anBottom", "outlets", "timed"];
    keys.into_iter()
        .find(|key| normal(key, &expected[*key]) != found[*key])
        .map(|key| format!("{key}: expected {} found {}", normal(key, &expected[key]), found[key]))
}

// Of timed effects only keys and spans count, not hashes.
fn normal(key: &str, value: &Value) -> Value {
    let mut value = value.clone();
    if key == "timed" {
        for kind in ["sticky", "cooldown"] {
            for effect in value[kind].as_object_mut().into_iter().flat_map(Map::values_mut) {
                if let Some(effect) = effect.as_object_mut() {
                    effect.remove("hash");
                }
            }
        }
    }
    value
}

/// What the core answers. Beyond the golden form an input may have `timed` (effects that come in, of
/// an entry as it is now unless `edited`), `forced` ([book, uid]), `tags` and `extraTexts`.
pub fn answer(input: &Value, defects: Defects) -> Value {
    let mut names = Names(Vec::new());
    for book in list(&input["books"]) {
        names.id(text(&book["name"]));
    }
    let sources: Vec<Source> =
        list(&input["books"]).map(|book| source(book, &mut names, defects)).collect();
    let mut request = request(input, defects);
    request.timed = timed(&input["timed"], &sources, &mut names);
    request.forced = list(&input["forced"])
        .map(|one| (names.id(text(&one[0])), entry_id(one[1].as_i64().unwrap_or(0))))
        .collect();
    let cache = HitCache::new(1 << 20, [1, 2]);
    let mut variables = macros::Variables::default();
    let environment = macros::Environment {
        user: text(&input["user"]),
        char: text(&input["char"]),
        ..macros::Environment::default()
    };
    let rolls = list(&input["random"]).filter_map(Value::as_f64);
    let activation = activate(
        &request,
        &sources,
        &mut Tools {
            expander: &mut MacroExpander { environment, variables: &mut variables },
            rolls: &mut ScriptedRolls::new(rolls),
            tokens: &Words,
            cache: Some(&cache),
        },
    );
    render(&activation, &names)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn whole(value: &Value) -> Option<u32> {
    value.as_f64().map(|number| number as u32)
}

fn strings(value: &Value) -> Vec<String> {
    list(value).map(|item| text(item).to_owned()).collect()
}

fn entry_id(uid: i64) -> EntryId {
    EntryId::new(format!("entry-{uid}")).expect("a well-formed id")
}

fn source<'c>(book: &'c Value, names: &mut Names<'c>, defects: Defects) -> Source {
    let world = World {
        id: names.id(text(&book["name"])),
        name: text(&book["name"]).to_owned(),
        enabled: true,
        dynamic_enabled: false,
        content_revision: 1,
        embedded: false,
        settings: WorldSettings::default(),
    };
    let kind = match text(&book["source"]) {
        "chat" => SourceKind::Session,
        "persona" => SourceKind::User,
        "character" => SourceKind::Character,
        _ => SourceKind::Global,
    };
    Source { world: Arc::new(CompiledWorld::with_defects(world, entries(book), defects)), kind }
}

fn timed<'c>(file: &'c Value, sources: &[Source], names: &mut Names<'c>) -> TimedState {
    let mut effects = |kind: &str| -> Vec<Effect> {
        let effects = file[kind].as_object().into_iter().flatten();
        effects.map(|(key, effect)| effect_of(key, effect, sources, names)).collect()
    };
    TimedState::new(effects("sticky"), effects("cooldown"))
}

fn effect_of<'c>(
    key: &'c str,
    effect: &Value,
    sources: &[Source],
    names: &mut Names<'c>,
) -> Effect {
    let (book, uid) = key.rsplit_once('.').expect("book.uid");
    let (world, entry) = (names.id(book), entry_id(uid.parse().expect("a number")));
    let compiled = sources
        .iter()
        .filter(|source| source.world.world.id == world)
        .flat_map(|source| source.world.entries())
        .find(|one| one.entry.id == entry && effect["edited"] != true);
    Effect {
        hash: compiled.map_or_else(|| kernel::digest(b"another entry"), |one| one.hash),
        start: whole(&effect["start"]).unwrap_or(0),
        end: whole(&effect["end"]).unwrap_or(0),
        protected: effect["protected"] == true,
        world,
        entry,
    }
}

// The entries of a book as an import reads them: absent fields as in a newly created one.
fn entries(book: &Value) -> Vec<Entry> {
    let numbered = list(&book["entries"]).enumerate();
    let numbered: Map<String, Value> =
        numbered.map(|(at, entry)| (at.to_string(), entry.clone())).collect();
    let imported = import_value(json!({ "entries": numbered })).expect("a book of the format");
    let rows = imported.rows.into_iter();
    let mut entries: Vec<Entry> =
        rows.map(|row| Entry::authored(entry_id(row.uid), row.uid, row.uid, row.body)).collect();
    entries.sort_by_key(|entry| entry.uid);
    entries
}

fn request(input: &Value, defects: Defects) -> Request {
    let data = &input["scanData"];
    let of = |name: &str| text(&data[name]).to_owned();
    let message = |line: &Value| Message {
        name: text(&line["name"]).to_owned(),
        text: text(&line["mes"]).to_owned(),
    };
    Request {
        messages: list(&input["chat"]).map(message).collect(),
        sources: TextSources {
            persona_description: of("personaDescription"),
            character_description: of("characterDescription"),
            character_personality: of("characterPersonality"),
            character_depth_prompt: of("characterDepthPrompt"),
            scenario: of("scenario"),
            creator_notes: of("creatorNotes"),
        },
        settings: settings(&input["settings"]),
        context_tokens: whole(&input["maxContext"]).unwrap_or(0),
        generation: GenerationType::from_name(text(&input["trigger"])).unwrap_or_default(),
        extra_texts: strings(&input["extraTexts"]),
        character: CharacterContext {
            avatar: text(&input["avatar"]).to_owned(),
            tags: input["tags"].is_array().then(|| strings(&input["tags"])),
        },
        defects,
        ..Request::default()
    }
}

fn settings(file: &Value) -> Settings {
    let shipped = Settings::default();
    let get = |name: &str| &file[&format!("world_info_{name}")];
    let flag = |name: &str, default: bool| get(name).as_bool().unwrap_or(default);
    let number = |name: &str, default: u32| whole(get(name)).unwrap_or(default);
    Settings {
        scan_depth: number("depth", shipped.scan_depth),
        min_activations: number("min_activations", 0),
        min_activations_depth_max: number("min_activations_depth_max", 0),
        budget_percent: number("budget", shipped.budget_percent),
        budget_cap: number("budget_cap", 0),
        include_names: flag("include_names", shipped.include_names),
        recursive: flag("recursive", shipped.recursive),
        case_sensitive: flag("case_sensitive", false),
        match_whole_words: flag("match_whole_words", shipped.match_whole_words),
        use_group_scoring: flag("use_group_scoring", false),
        order: match number("character_strategy", 1) {
            0 => CandidateOrder::Evenly,
            2 => CandidateOrder::GlobalFirst,
            _ => CandidateOrder::CharacterFirst,
        },
        max_recursion_steps: number("max_recursion_steps", 0),
        ..shipped
    }
}

fn render(activation: &Activation, names: &Names<'_>) -> Value {
    let activated: Vec<Value> =
        activation.entries.iter().map(|one| json!([names.of(&one.world), one.uid])).collect();
    let blocks = blocks(&activation.entries);
    let texts = |place: &Place| -> Vec<&str> {
        let found = blocks.iter().filter(|block| block.place == *place);
        found.flat_map(|block| &block.entries).map(|one| one.text.as_str()).collect()
    };
    let depth: Vec<Value> = blocks
        .iter()
        .filter_map(|block| match &block.place {
            Place::AtDepth { depth, role } => {
                Some(json!({"depth": depth, "entries": texts(&block.place), "role": role.number()}))
            }
            _ => None,
        })
        .collect();
    let outlets: Map<String, Value> = blocks
        .iter()
        .filter_map(|block| match &block.place {
            Place::Outlet(name) => Some((name.clone(), json!(texts(&block.place)))),
            _ => None,
        })
        .collect();
    json!({
        "activated": activated,
        "before": texts(&Place::BeforeChar).join("\n"),
        "after": texts(&Place::AfterChar).join("\n"),
        "em": examples(&activation.entries),
        "depth": depth,
        "anTop": texts(&Place::AnTop),
        "anBottom": texts(&Place::AnBottom),
        "outlets": outlets,
        "timed": {
            "sticky": effects(activation.timed.sticky(), names),
            "cooldown": effects(activation.timed.cooldown(), names),
        },
    })
}

// Both kinds in one list, ascending in order.
fn examples(entries: &[Activated]) -> Vec<Value> {
    let number = |one: &Activated| match Place::of(one) {
        Some(Place::EmTop) => Some(0),
        Some(Place::EmBottom) => Some(1),
        _ => None,
    };
    by_order(entries)
        .into_iter()
        .rev()
        .filter(|one| !one.text.is_empty())
        .filter_map(|one| Some(json!({"position": number(one)?, "content": one.text})))
        .collect()
}

fn effects(effects: Vec<Effect>, names: &Names<'_>) -> BTreeMap<String, Value> {
    let one = |effect: Effect| {
        let uid = effect.entry.as_str().trim_start_matches("entry-");
        let span = json!({"start": effect.start, "end": effect.end, "protected": effect.protected});
        (format!("{}.{uid}", names.of(&effect.world)), span)
    };
    effects.into_iter().map(one).collect()
}

// === impl Names ===

impl<'c> Names<'c> {
    // A name is a book's identity, as a file's is.
    fn id(&mut self, name: &'c str) -> WorldId {
        let at = self.0.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.0.push(name);
            self.0.len() - 1
        });
        WorldId::new(format!("book-{at}")).expect("a well-formed id")
    }

    fn of(&self, world: &WorldId) -> &'c str {
        let at: usize = world.as_str().trim_start_matches("book-").parse().expect("a known world");
        self.0[at]
    }
}
