//! Books to test with: a few by hand, many by chance.

use kernel::{ChangeId, EntryId, Timestamp, WorldId};
use lorebook_core::{
    Book, CharacterFilter, Entry, EntryBody, EntryRole, Position, SelectiveLogic, World,
    WorldSettings,
    change::{Operation, Origin, Pair, Patch, Planned, Record},
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

pub fn world(name: &str) -> World {
    World {
        id: WorldId::new("w1").expect("an id"),
        name: name.to_owned(),
        enabled: true,
        dynamic_enabled: true,
        content_revision: 1,
        embedded: false,
        settings: WorldSettings::default(),
    }
}

pub fn id(text: &str) -> EntryId {
    EntryId::new(text).expect("an id")
}

/// An authored row `a<uid>` that bears its number in name, key and content.
pub fn authored(uid: i64) -> Entry {
    let body = EntryBody {
        comment: format!("name {uid}"),
        content: format!("content {uid}"),
        keys: vec![format!("key{uid}")],
        ..EntryBody::default()
    };
    Entry::authored(id(&format!("a{uid}")), uid, uid, body)
}

pub fn book(rows: Vec<Entry>) -> Book {
    Book { world: world("Test"), entries: rows }
}

pub fn patch(fields: Value) -> Patch {
    let Value::Object(fields) = fields else { panic!("an object") };
    Patch::new(fields).expect("a patch")
}

/// Writes a planned change into the book, as a store does.
pub fn write(book: &mut Book, planned: &Planned) {
    for Pair { after, .. } in &planned.pairs {
        let after = after.clone().expect("changes delete nothing");
        match book.entries.iter_mut().find(|row| row.id == after.id) {
            Some(row) => *row = after,
            None => book.entries.push(after),
        }
    }
    book.world.content_revision += 1;
}

pub fn record(name: &str, operations: Vec<Operation>, planned: Planned) -> Record {
    Record {
        id: ChangeId::new(name).expect("an id"),
        origin: Origin::Agent,
        operations,
        pairs: planned.pairs,
        rationales: Vec::new(),
        base_revision: 1,
        applied_revision: 2,
        summary: String::new(),
        labels: Default::default(),
        reverts: None,
        reverted_by: None,
        applied_at: Timestamp::default(),
    }
}

pub fn arbitrary_body() -> impl Strategy<Value = EntryBody> {
    (words(), placement(), filters(), timing(), kept()).prop_map(
        |(words, placement, filters, timing, kept)| {
            let mut body = EntryBody::default();
            let parts = [words, placement, filters, timing, kept];
            parts.into_iter().for_each(|Apply(set)| set(&mut body));
            body
        },
    )
}

/// One to eight authored rows with numbers of their own.
pub fn arbitrary_book() -> impl Strategy<Value = Book> {
    let rows = prop::collection::btree_map(0i64..40, arbitrary_body(), 1..8);
    (rows, "[a-zA-Z ]{0,12}", any::<Option<u32>>(), any::<Option<bool>>()).prop_map(
        |(rows, name, scan_depth, recursive_scanning)| {
            let entries = rows
                .into_iter()
                .map(|(uid, body)| Entry::authored(id(&format!("a{uid}")), uid, uid, body))
                .collect();
            let mut book = book(entries);
            book.world.name = name;
            book.world.settings.scan_depth = scan_depth;
            book.world.settings.recursive_scanning = recursive_scanning;
            book
        },
    )
}

/// An operation by its shape; targets are places among the rows of a book.
#[derive(Debug, Clone)]
pub enum Move {
    Create(String, String),
    Update(usize, String),
    Replace(usize, String),
    Suppress(usize),
    Archive(usize),
}

pub fn arbitrary_moves() -> impl Strategy<Value = Vec<Move>> {
    let word = "[a-z]{1,6}";
    let one = prop_oneof![
        (word, word).prop_map(|(name, text)| Move::Create(name, text)),
        (any::<usize>(), word).prop_map(|(at, text)| Move::Update(at, text)),
        (any::<usize>(), word).prop_map(|(at, text)| Move::Replace(at, text)),
        any::<usize>().prop_map(Move::Suppress),
        any::<usize>().prop_map(Move::Archive),
    ];
    prop::collection::vec(one, 1..4)
}

pub fn operation(book: &Book, shape: &Move) -> Operation {
    let target = |at: usize| book.entries[at % book.entries.len()].id.clone();
    let content = |text: &str| patch(json!({ "content": text }));
    match shape {
        Move::Create(name, text) => {
            Operation::Create { fields: patch(json!({ "comment": name, "content": text })) }
        }
        Move::Update(at, text) => Operation::Update { target: target(*at), fields: content(text) },
        Move::Replace(at, text) => {
            Operation::Replace { target: target(*at), fields: content(text) }
        }
        Move::Suppress(at) => Operation::Suppress { target: target(*at) },
        Move::Archive(at) => Operation::Archive { target: target(*at) },
    }
}

/// Sets some fields of a body.
struct Apply(Box<dyn Fn(&mut EntryBody)>);

impl std::fmt::Debug for Apply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Apply")
    }
}

fn words() -> impl Strategy<Value = Apply> {
    let keys = || prop::collection::vec("[a-z,/ {}]{0,8}", 0..3);
    (".{0,20}", ".{0,30}", keys(), keys(), any::<[bool; 5]>()).prop_map(
        |(comment, content, keys, secondary_keys, flags)| {
            Apply(Box::new(move |body: &mut EntryBody| {
                body.comment.clone_from(&comment);
                body.content.clone_from(&content);
                body.keys.clone_from(&keys);
                body.secondary_keys.clone_from(&secondary_keys);
                body.constant = flags[0];
                body.selective = flags[1];
                body.vectorized = flags[2];
                body.enabled = flags[3];
                body.add_memo = flags[4];
            }))
        },
    )
}

fn placement() -> impl Strategy<Value = Apply> {
    (-500i64..500, 0u8..4, 0i64..9, 0u32..1_200, 0i64..3, "[a-z]{0,4}", 0i64..5).prop_map(
        |(order, quarter, position, depth, role, outlet, logic)| {
            Apply(Box::new(move |body: &mut EntryBody| {
                #[expect(clippy::cast_precision_loss, reason = "small numbers")]
                let order = order as f64 + f64::from(quarter) / 4.0;
                body.order = order;
                body.position = Position::from_number(position);
                body.depth = depth;
                body.role = EntryRole::from_number(role).unwrap_or_default();
                body.outlet_name.clone_from(&outlet);
                body.selective_logic = SelectiveLogic::from_number(logic);
            }))
        },
    )
}

fn filters() -> impl Strategy<Value = Apply> {
    let filter = prop::option::of((any::<bool>(), prop::collection::vec("[a-z]{1,5}", 0..2)));
    let triggers = prop::collection::vec(prop_oneof!["normal", "swipe", "[a-z]{1,4}"], 0..2);
    (filter, triggers, any::<[bool; 9]>(), "[a-z,]{0,5}").prop_map(
        |(filter, triggers, flags, group)| {
            Apply(Box::new(move |body: &mut EntryBody| {
                body.character_filter = filter.clone().map(|(is_exclude, names)| CharacterFilter {
                    is_exclude,
                    tags: names.clone(),
                    names,
                });
                body.triggers.clone_from(&triggers);
                body.match_persona_description = flags[0];
                body.match_character_description = flags[1];
                body.match_character_personality = flags[2];
                body.match_character_depth_prompt = flags[3];
                body.match_scenario = flags[4];
                body.match_creator_notes = flags[5];
                body.ignore_budget = flags[6];
                body.exclude_recursion = flags[7];
                body.prevent_recursion = flags[8];
                body.group.clone_from(&group);
                body.group_override = flags[0] ^ flags[8];
            }))
        },
    )
}

fn timing() -> impl Strategy<Value = Apply> {
    let maybe = || prop::option::of(0u32..9);
    let tri = any::<[Option<bool>; 3]>();
    (maybe(), maybe(), maybe(), maybe(), tri, 0u32..4, 0u8..=100, any::<bool>()).prop_map(
        |(sticky, cooldown, delay, scan_depth, tri, level, percent, rolls)| {
            Apply(Box::new(move |body: &mut EntryBody| {
                body.sticky = sticky;
                body.cooldown = cooldown;
                body.delay = delay;
                body.scan_depth = scan_depth;
                body.case_sensitive = tri[0];
                body.match_whole_words = tri[1];
                body.use_group_scoring = tri[2];
                body.delay_until_recursion = level;
                body.probability = f64::from(percent) + 0.5;
                body.group_weight = f64::from(percent);
                body.use_probability = rolls;
                body.display_index = sticky.map(i64::from);
            }))
        },
    )
}

fn kept() -> impl Strategy<Value = Apply> {
    let member = ("x_[a-z]{1,4}", prop_oneof![Just(json!(1.5)), Just(json!([null, {"a": "ü"}]))]);
    let members = || prop::collection::vec(member.clone(), 0..2);
    (members(), members()).prop_map(|(extensions, extra)| {
        Apply(Box::new(move |body: &mut EntryBody| {
            body.extensions = extensions.iter().cloned().collect::<Map<_, _>>();
            body.extra = extra.iter().cloned().collect::<Map<_, _>>();
        }))
    })
}
