//! The lorebook's figures, each against its floor in the same run: `cargo bench -p lorebook-core --bench ratios`.
//!
//! Floors are bare engines over the same keys and the same text; ours is the whole activation. "Bare scan"
//! is the faster of aho-corasick's overlapping scans (DFA, contiguous NFA).
//!
//! - `plain_keys`: 10,000 entries, 30,000 keys, 64 KiB, over the bare scan; `hits_and_recursion`: the same
//!   with 100 entries that fire, half of them by recursion.
//! - `everything_fires`: all 10,000 of the same fire, without recursion, over the bare scan plus four times copying and sorting them.
//! - `nested_keys*`: 1,024 keys a, aa, … over 64 KiB of a, over our scan of 1,024 ordinary keys.
//! - `patterns_*`: 2,000 regex keys, over a bare `regex::RegexSet` of them.
//! - `next_turn`: one new message of 500 bytes on a window of 64 KiB, over the full warm scan.
//! - `compiled_world_mb`: what the compiled world of the first figure adds to the process's memory.
//!
//! Printed beside them: compiling the 30,000 keys after an edit of one entry while another thread scans
//! the previous revision, and 10,000 entries that fire and whose texts are scanned in turn.

use std::{
    fs,
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use kernel::{EntryId, WorldId};
use lorebook_core::{
    Entry, EntryBody, World, WorldSettings,
    activation::{
        CompiledWorld, MacroExpander, Message, Request, SeededRolls, Source, SourceKind, Tools,
        Words, activate,
    },
    matcher::{Automaton, HitCache, Needle, Scratch, WordBoundary},
};

const ENTRIES: usize = 10_000;
const KEYS_PER_ENTRY: usize = 3;
const TEXT_BYTES: usize = 64 << 10;
const MESSAGE_BYTES: usize = 512;
/// Alternating rounds; the median of their ratios is the figure.
const ROUNDS: usize = 31;

/// A small generator of numbers; the same run each time.
struct Numbers(u64);

fn main() {
    let mut numbers = Numbers(7);
    let keys: Vec<String> = (0..ENTRIES * KEYS_PER_ENTRY).map(|_| numbers.word(6, 12)).collect();
    let text = numbers.text(TEXT_BYTES, |numbers| numbers.word(3, 12));
    plain_keys(&keys, &text);
    compiling_after_an_edit(&keys, &text);
    hits_and_recursion(&keys, &text, &mut numbers);
    everything_fires();
    nested_keys(&mut numbers);
    patterns(&mut numbers);
}

// --- the figures ---

fn plain_keys(keys: &[String], text: &str) {
    let before = memory_kb();
    let started = Instant::now();
    let sources = [world(entries(keys, |_| "lore".to_owned()))];
    let request = request(text);
    run(&request, &sources, None);
    println!("compiling {} keys: {:?}", keys.len(), started.elapsed());
    match before.zip(memory_kb()) {
        Some((before, after)) => {
            let megabytes = after.saturating_sub(before) / 1024;
            println!("ratio compiled_world_mb {megabytes} bound <= 64");
        }
        None => println!("not measured: a process's memory is read in /proc"),
    }
    let ours = || run(&request, &sources, None);
    figure("plain_keys", 1.3, timed(bare_scan(keys, text)), timed(ours));

    let cache = HitCache::new(64 << 20, [1, 2]);
    run(&request, &sources, Some(&cache));
    let mut turn = 0;
    let next_turn = || {
        turn += 1;
        let mut request = request.clone();
        let text = format!("{turn:08} {}", &text[..490]);
        request.messages.remove(0);
        request.messages.push(Message { name: "Bob".into(), text });
        time(|| run(&request, &sources, Some(&cache)))
    };
    figure("next_turn", 0.2, timed(ours), next_turn);
}

// Readers hold the revision that they began with, so that a compilation can only take their processor.
fn compiling_after_an_edit(keys: &[String], text: &str) {
    let bodies = entries(keys, |_| "lore".to_owned());
    let request = request(text);
    let previous = [world(bodies.clone())];
    run(&request, &previous, None);
    let alone = (0..ROUNDS).map(|_| time(|| run(&request, &previous, None))).max();
    let is_compiled = AtomicBool::new(false);
    let (compiling, (scans, slowest)) = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut scans, mut slowest) = (0, Duration::ZERO);
            while scans == 0 || !is_compiled.load(Ordering::Relaxed) {
                slowest = slowest.max(time(|| run(&request, &previous, None)));
                scans += 1;
            }
            (scans, slowest)
        });
        let mut edited = bodies.clone();
        edited[0].content.push_str(", edited");
        let compiling = time(|| {
            let next = world(edited);
            next.world.prepare(request.settings.match_mode());
            next
        });
        is_compiled.store(true, Ordering::Relaxed);
        (compiling, reader.join().expect("the reader scans"))
    });
    println!("compiling {} keys after an edit of one entry: {compiling:?}", keys.len());
    println!(
        "  {scans} scans of the previous revision meanwhile, the slowest {slowest:?} (alone {:?})",
        alone.unwrap_or_default()
    );
}

fn hits_and_recursion(keys: &[String], text: &str, numbers: &mut Numbers) {
    // Half of the hundred are in the text; each says the key of one of the other half.
    let chosen: Vec<usize> = (0..100).map(|at| at * (ENTRIES / 100)).collect();
    let of = |entry: usize| keys[entry * KEYS_PER_ENTRY].clone();
    let said = |entry: usize| match chosen.iter().position(|&one| one == entry) {
        Some(at) if at < 50 => format!("lore {}", of(chosen[at + 50])),
        _ => "lore".to_owned(),
    };
    let mut text = text.to_owned();
    for &entry in &chosen[..50] {
        let at = text.floor_char_boundary(numbers.below(text.len() as u64) as usize);
        text.insert_str(at, &format!(" {} ", of(entry)));
    }
    let sources = [world(entries(keys, said))];
    let request = request(&text);
    assert_eq!(run(&request, &sources, None), 100);
    let ours = || run(&request, &sources, None);
    figure("hits_and_recursion", 2.5, timed(bare_scan(keys, &text)), timed(ours));
}

fn everything_fires() {
    // One key of each entry is in the text, which is thereby longer than 64 KiB; the others are not.
    let key = |at: usize, which: usize| format!("key{at:05}{}", ["", "b", "c"][which]);
    let of = |at: usize| (0..KEYS_PER_ENTRY).map(move |which| key(at, which)).collect::<Vec<_>>();
    let keys: Vec<String> = (0..ENTRIES).flat_map(of).collect();
    let bodies = (0..ENTRIES).map(|at| body(of(at), format!("lore of {at}")));
    let sources = [world(bodies.collect())];
    let text = (0..ENTRIES).map(|at| key(at, 0)).collect::<Vec<_>>().join(" ");
    let mut request = request(&text);
    request.settings.recursive = false;
    assert_eq!(run(&request, &sources, None), ENTRIES);
    let scan = bare_scan(&keys, &text);
    let compiled = sources[0].world.entries();
    let copying = || {
        let mut copies: Vec<Entry> = compiled.iter().map(|one| one.entry.clone()).collect();
        copies.sort_by(|a, b| b.body.order.total_cmp(&a.body.order));
        copies.len()
    };
    let ours = || run(&request, &sources, None);
    figure("everything_fires", 1.0, || time(&scan) + 4 * time(copying), timed(ours));
    request.settings.recursive = true;
    let recursing = (0..ROUNDS).map(|_| time(|| run(&request, &sources, None))).min();
    println!("{ENTRIES} entries fire and are scanned in turn: {:?}", recursing.unwrap_or_default());
    let small = [world(compiled[..ENTRIES / 2].iter().map(|one| one.entry.body.clone()).collect())];
    let recursing = (0..ROUNDS).map(|_| time(|| run(&request, &small, None))).min();
    println!("{} of them: {:?}", ENTRIES / 2, recursing.unwrap_or_default());
}

fn nested_keys(numbers: &mut Numbers) {
    let nested: Vec<String> = (1..=1_024).map(|length| "a".repeat(length)).collect();
    let ordinary: Vec<String> = (0..1_024).map(|_| numbers.word(6, 12)).collect();
    let text = numbers.text(TEXT_BYTES, |numbers| numbers.word(3, 12));
    let of_a = "a".repeat(TEXT_BYTES);
    let floor = our_scan(&ordinary, &text, true);
    figure("nested_keys", 2.0, timed(floor), timed(our_scan(&nested, &of_a, false)));
    let floor = our_scan(&ordinary, &text, true);
    figure("nested_keys_as_whole_words", 2.0, timed(floor), timed(our_scan(&nested, &of_a, true)));
}

fn patterns(numbers: &mut Numbers) {
    let text = numbers.text(TEXT_BYTES, |numbers| numbers.word(3, 12));
    let literal: Vec<String> = (0..2_000)
        .map(|at| match at % 4 {
            0 => format!(r"\b{}(s|es)?\b", numbers.word(6, 10)),
            1 => format!("{}|{}", numbers.word(6, 10), numbers.word(6, 10)),
            2 => format!(r"{}\s+{}", numbers.word(5, 8), numbers.word(5, 8)),
            _ => format!("{}[aeiou]{}", numbers.word(3, 5), numbers.word(3, 5)),
        })
        .collect();
    let free: Vec<String> = (0..2_000)
        .map(|_| {
            let [a, b, c] = std::array::from_fn(|_| numbers.letter());
            format!("[{a}{b}][{b}{c}][0-9]{{2,4}}[{c}{a}]")
        })
        .collect();
    for (name, patterns) in
        [("patterns_with_literals", &literal), ("patterns_without_literals", &free)]
    {
        let set = regex::RegexSet::new(patterns).expect("valid patterns");
        let joined = format!("\u{1}{text}");
        let keys = patterns.iter().map(|pattern| body(vec![format!("/{pattern}/")], "lore".into()));
        let sources = [world(keys.collect())];
        let mut request = request(&text);
        request.settings.recursive = false;
        run(&request, &sources, None);
        let floor = || set.matches(&joined).iter().count();
        figure(name, 2.0, timed(floor), timed(|| run(&request, &sources, None)));
    }
}

// --- what they are made of ---

/// The faster of the two engines.
fn bare_scan(keys: &[String], text: &str) -> impl Fn() -> usize + use<> {
    let lower = text.to_lowercase();
    let engines = [AhoCorasickKind::DFA, AhoCorasickKind::ContiguousNFA].map(|kind| {
        let builder =
            AhoCorasick::builder().kind(Some(kind)).match_kind(MatchKind::Standard).build(keys);
        let engine = builder.expect("few keys");
        let scan = || engine.find_overlapping_iter(&lower).count();
        let fastest = (0..ROUNDS).map(|_| time(scan)).min();
        (fastest, engine)
    });
    let (_, engine) = engines.into_iter().min_by_key(|(fastest, _)| *fastest).expect("two");
    move || engine.find_overlapping_iter(&lower).count()
}

fn our_scan(keys: &[String], text: &str, whole_word: bool) -> impl FnMut() -> usize {
    let needles: Vec<Needle<'_>> = keys.iter().map(|text| Needle { text, whole_word }).collect();
    let automaton = Automaton::new(&needles).expect("few keys");
    let mut scratch = Scratch::default();
    move || automaton.scan(text, WordBoundary::Ascii, &mut scratch).len()
}

fn body(keys: Vec<String>, content: String) -> EntryBody {
    EntryBody { keys, content, ignore_budget: true, ..EntryBody::default() }
}

fn entries(keys: &[String], said: impl Fn(usize) -> String) -> Vec<EntryBody> {
    let entries = keys.chunks(KEYS_PER_ENTRY).enumerate();
    entries.map(|(at, keys)| body(keys.to_vec(), said(at))).collect()
}

fn world(bodies: Vec<EntryBody>) -> Source {
    let world = World {
        id: WorldId::new("world").expect("a well-formed id"),
        name: "world".into(),
        enabled: true,
        dynamic_enabled: false,
        content_revision: 1,
        embedded: false,
        settings: WorldSettings::default(),
    };
    let row = |(uid, body): (usize, EntryBody)| {
        let id = EntryId::new(format!("entry-{uid}")).expect("a well-formed id");
        Entry::authored(id, uid as i64, uid as i64, body)
    };
    let entries = bodies.into_iter().enumerate().map(row).collect();
    Source { world: Arc::new(CompiledWorld::new(world, entries)), kind: SourceKind::Global }
}

fn request(text: &str) -> Request {
    let mut request = Request { context_tokens: 100_000_000, ..Request::default() };
    let mut rest = text;
    while !rest.is_empty() {
        let cut =
            rest[..rest.len().min(MESSAGE_BYTES)].rfind(' ').filter(|_| rest.len() > MESSAGE_BYTES);
        let (message, after) =
            rest.split_at(cut.map_or(rest.len().min(MESSAGE_BYTES), |at| at + 1));
        request.messages.push(Message { name: "Bob".into(), text: message.trim().to_owned() });
        rest = after;
    }
    request.settings.scan_depth = 1_000;
    request.settings.include_names = false;
    request
}

fn run(request: &Request, sources: &[Source], cache: Option<&HitCache>) -> usize {
    let mut variables = macros::Variables::default();
    let environment = macros::Environment::default();
    let mut tools = Tools {
        expander: &mut MacroExpander { environment, variables: &mut variables },
        rolls: &mut SeededRolls::new(1),
        tokens: &Words,
        cache,
    };
    activate(request, sources, &mut tools).entries.len()
}

// --- measuring ---

/// Prints the median ratio of alternating rounds.
fn figure(
    name: &str,
    bound: f64,
    mut floor: impl FnMut() -> Duration,
    mut ours: impl FnMut() -> Duration,
) {
    let mut rounds: Vec<(f64, Duration, Duration)> = (0..ROUNDS)
        .map(|_| {
            let (floor, ours) = (floor(), ours());
            (ours.as_secs_f64() / floor.as_secs_f64(), floor, ours)
        })
        .collect();
    rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (ratio, floor, ours) = rounds[ROUNDS / 2];
    println!("  floor {floor:?}, ours {ours:?}");
    println!("ratio {name} {ratio:.2} bound <= {bound}");
}

fn time<T>(call: impl FnOnce() -> T) -> Duration {
    let started = Instant::now();
    black_box(call());
    started.elapsed()
}

fn timed<T>(mut call: impl FnMut() -> T) -> impl FnMut() -> Duration {
    move || time(&mut call)
}

fn memory_kb() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

// === impl Numbers ===

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn letter(&mut self) -> char {
        // About as frequent as in English.
        const LETTERS: &[u8] = b"eeeeeettttaaaaoooiiinnnsssrrrhhhllddccuummffppggwwyybvk";
        LETTERS[self.below(LETTERS.len() as u64) as usize] as char
    }

    fn word(&mut self, shortest: u64, longest: u64) -> String {
        let length = shortest + self.below(longest - shortest + 1);
        (0..length).map(|_| self.letter()).collect()
    }

    fn text(&mut self, bytes: usize, word: impl Fn(&mut Self) -> String) -> String {
        let mut text = String::new();
        while text.len() < bytes {
            text.push_str(&word(self));
            text.push(' ');
        }
        text.truncate(bytes);
        text
    }
}
