//! Activation against the bare engines under it, as ratios of one run: `cargo bench -p lorebook-core`.
//!
//! Ends with failure if a ratio is above its bound. Times are the fastest of many rounds.

use std::{hint::black_box, process::ExitCode, sync::Arc, time::Instant};

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
const ROUNDS: usize = 60;

/// A small generator of numbers; the same run each time.
struct Numbers(u64);

struct Report {
    failed: bool,
}

fn main() -> ExitCode {
    let mut report = Report { failed: false };
    let mut numbers = Numbers(7);
    let keys: Vec<String> = (0..ENTRIES * KEYS_PER_ENTRY).map(|_| numbers.word(6, 12)).collect();
    let text = numbers.text(TEXT_BYTES, |numbers| numbers.word(3, 12));
    let scan = plain_keys(&mut report, &keys, &text);
    hits_and_recursion(&mut report, &keys, &text, scan, &mut numbers);
    everything_fires(&mut report);
    nested_keys(&mut report, &mut numbers);
    patterns(&mut report, &mut numbers);
    if report.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

// --- the rows ---

fn plain_keys(report: &mut Report, keys: &[String], text: &str) -> f64 {
    let started = Instant::now();
    let sources = [world(entries(keys, |_| "lore".to_owned()))];
    let request = request(text);
    run(&request, &sources, None);
    println!("compiling {} keys: {:.0} ms", keys.len(), started.elapsed().as_secs_f64() * 1e3);
    println!("compiled automata: {:.1} MB", sources[0].world.automata_bytes() as f64 / 1e6);
    let floor = bare_overlapping(keys, text);
    let ours = fastest(|| run(&request, &sources, None));
    report.row("10,000 entries, 30,000 keys, 64 KiB", ours, floor, 1.3);

    let cache = HitCache::new(64 << 20, [1, 2]);
    run(&request, &sources, Some(&cache));
    let mut turn = 0;
    let next_turn = fastest(|| {
        turn += 1;
        let mut request = request.clone();
        let text = format!("{turn:08} {}", &text[..490]);
        request.messages.remove(0);
        request.messages.push(Message { name: "Bob".into(), text });
        let started = Instant::now();
        run(&request, &sources, Some(&cache));
        started.elapsed().as_secs_f64()
    });
    report.row("next turn, one new message of 500 bytes", next_turn, ours, 0.2);
    floor
}

fn hits_and_recursion(
    report: &mut Report,
    keys: &[String],
    text: &str,
    floor: f64,
    numbers: &mut Numbers,
) {
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
    let ours = fastest(|| run(&request, &sources, None));
    report.row("the same with 100 hits and recursion", ours, floor, 2.5);
}

fn everything_fires(report: &mut Report) {
    let keys: Vec<String> = (0..ENTRIES).map(|at| format!("key{at:05}")).collect();
    let bodies = keys.iter().map(|key| body(vec![key.clone()], format!("lore of {key}")));
    let sources = [world(bodies.collect())];
    let text = keys.join(" ");
    let mut request = request(&text);
    request.settings.recursive = false;
    assert_eq!(run(&request, &sources, None), ENTRIES);
    let floor = bare_overlapping(&keys, &text);
    let compiled = sources[0].world.entries();
    let copying = fastest(|| {
        let mut copies: Vec<Entry> = compiled.iter().map(|one| one.entry.clone()).collect();
        copies.sort_by(|a, b| b.body.order.total_cmp(&a.body.order));
        copies.len()
    });
    let ours = fastest(|| run(&request, &sources, None));
    report.row("all 10,000 entries fire", ours, floor + 4.0 * copying, 1.0);
}

fn nested_keys(report: &mut Report, numbers: &mut Numbers) {
    let nested: Vec<String> = (1..=1_024).map(|length| "a".repeat(length)).collect();
    let ordinary: Vec<String> = (0..1_024).map(|_| numbers.word(6, 12)).collect();
    let text = numbers.text(TEXT_BYTES, |numbers| numbers.word(3, 12));
    let time = |keys: &[String], text: &str, whole_word: bool| {
        let needles: Vec<Needle<'_>> =
            keys.iter().map(|text| Needle { text, whole_word }).collect();
        let automaton = Automaton::new(&needles).expect("few keys");
        let mut scratch = Scratch::default();
        fastest(|| automaton.scan(text, WordBoundary::Ascii, &mut scratch).len())
    };
    let floor = time(&ordinary, &text, true);
    let of_a = "a".repeat(TEXT_BYTES);
    report.row("1,024 nested keys over 64 KiB of a", time(&nested, &of_a, false), floor, 2.0);
    report.row("the same as whole words", time(&nested, &of_a, true), floor, 2.0);
}

fn patterns(report: &mut Report, numbers: &mut Numbers) {
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
            format!(
                "[{0}{1}][{1}{2}][0-9]{{2,4}}[{2}{0}]",
                numbers.letter(),
                numbers.letter(),
                numbers.letter()
            )
        })
        .collect();
    for (name, patterns) in [("with literals", &literal), ("without literals", &free)] {
        let set = regex::RegexSet::new(patterns).expect("valid patterns");
        let joined = format!("\u{1}{text}");
        let floor = fastest(|| set.matches(&joined).iter().count());
        let keys = patterns.iter().map(|pattern| body(vec![format!("/{pattern}/")], "lore".into()));
        let sources = [world(keys.collect())];
        let mut request = request(&text);
        request.settings.recursive = false;
        run(&request, &sources, None);
        let ours = fastest(|| run(&request, &sources, None));
        report.row(&format!("2,000 patterns {name}, 64 KiB"), ours, floor, 2.0);
    }
}

// --- what they are made of ---

fn bare_overlapping(keys: &[String], text: &str) -> f64 {
    let lower = text.to_lowercase();
    [AhoCorasickKind::DFA, AhoCorasickKind::ContiguousNFA]
        .map(|kind| {
            let bare = AhoCorasick::builder()
                .kind(Some(kind))
                .match_kind(MatchKind::Standard)
                .build(keys)
                .expect("few keys");
            fastest(|| bare.find_overlapping_iter(&lower).count())
        })
        .into_iter()
        .fold(f64::INFINITY, f64::min)
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

/// What a measured call answers: a time of its own, or anything else to be timed from outside.
trait Timed {
    fn seconds(self) -> Option<f64>;
}

impl Timed for usize {
    fn seconds(self) -> Option<f64> {
        black_box(self);
        None
    }
}

impl Timed for f64 {
    fn seconds(self) -> Option<f64> {
        Some(self)
    }
}

fn fastest<T: Timed>(mut call: impl FnMut() -> T) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let own = call().seconds();
        best = best.min(own.unwrap_or_else(|| started.elapsed().as_secs_f64()));
    }
    best
}

// === impl Report ===

impl Report {
    fn row(&mut self, what: &str, ours: f64, floor: f64, bound: f64) {
        let ratio = ours / floor;
        self.failed |= ratio > bound;
        let mark = if ratio > bound { "OVER" } else { "ok" };
        let (ours, floor) = (ours * 1e6, floor * 1e6);
        println!("{mark:>4}  {ratio:>6.2} of {bound:<4}  {what}: {ours:.0} µs to {floor:.0} µs");
    }
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
