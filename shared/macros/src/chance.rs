//! `random`, `roll` and `pick`: everything is drawn from the caller's seeds.
//!
//! A ChaCha8 stream is keyed with SHA-256 over (use, seed, scope, whole text, and for `pick` the
//! macro's offset). SillyTavern's own picks cannot be reproduced without its hash and generator;
//! what is kept is their law: the same text in the same place of the same conversation picks the same.

use std::borrow::Cow;

use kernel::digest_parts;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::expand::{Evaluator, Value};
use crate::expansion::Code;
use crate::parse::Macro;
use crate::table::Id;
use crate::text::trim;

/// Dice of one `roll`; more are refused.
const DICE_MAX: u64 = 10_000;

pub(crate) fn evaluate<'e>(
    evaluator: &mut Evaluator<'_, 'e>,
    id: Id,
    arguments: &[&str],
    one: &Macro,
) -> Result<Value<'e>, Code> {
    match id {
        Id::Roll => roll(evaluator, arguments.first().copied().unwrap_or_default(), one),
        Id::Random => {
            let items = items(arguments);
            let place = below(evaluator.stream(), items.len() as u64);
            Ok(item(&items, place))
        }
        _ => {
            let items = items(arguments);
            let mut stream = evaluator.stream_at(one.range.start);
            Ok(item(&items, below(&mut stream, items.len() as u64)))
        }
    }
}

fn item<'e>(items: &[Cow<'_, str>], place: u64) -> Value<'e> {
    let found = usize::try_from(place).ok().and_then(|place| items.get(place));
    found.map_or(Cow::Borrowed(""), |text| Cow::Owned(text.clone().into_owned()))
}

/// The choices: the arguments, or the parts of a single one, split at `::`, else at commas.
fn items<'a>(arguments: &[&'a str]) -> Vec<Cow<'a, str>> {
    match arguments {
        [single] if single.contains("::") => {
            single.split("::").map(|part| Cow::Borrowed(trim(part))).collect()
        }
        [single] => split_at_commas(single),
        several => several.iter().map(|part| Cow::Borrowed(*part)).collect(),
    }
}

/// `\,` is a comma that does not split.
fn split_at_commas<'a>(text: &str) -> Vec<Cow<'a, str>> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.next_if_eq(&',').is_some() => part.push(','),
            ',' => parts.push(std::mem::take(&mut part)),
            _ => part.push(character),
        }
    }
    parts.push(part);
    parts.iter().map(|part| Cow::Owned(trim(part).to_owned())).collect()
}

/// The sum of `NdS±K`; a bare number n is `1dn`. Anything else is empty.
fn roll<'e>(
    evaluator: &mut Evaluator<'_, 'e>,
    formula: &str,
    one: &Macro,
) -> Result<Value<'e>, Code> {
    let Some((dice, sides, modifier)) = read_formula(formula) else {
        evaluator.diagnose(Code::MacroValueInvalid, one);
        return Ok(Cow::Borrowed(""));
    };
    if dice > DICE_MAX {
        return Err(Code::MacroArgumentInvalid);
    }
    evaluator.charge(usize::try_from(dice).unwrap_or(usize::MAX))?;
    let stream = evaluator.stream();
    let sum: i128 = (0..dice).map(|_| i128::from(below(stream, sides)) + 1).sum();
    Ok(Cow::Owned((sum + i128::from(modifier)).to_string()))
}

fn read_formula(formula: &str) -> Option<(u64, u64, i64)> {
    if !formula.is_empty() && formula.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some((1, positive(formula)?, 0));
    }
    let (dice, rest) = formula.split_once(['d', 'D'])?;
    let dice = if dice.is_empty() { 1 } else { positive(dice)? };
    let sign = rest.find(['+', '-']);
    let (sides, modifier) = rest.split_at(sign.unwrap_or(rest.len()));
    Some((dice, positive(sides)?, read_modifier(modifier)?))
}

/// Digits that do not begin with 0; saturates.
fn positive(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !digits.starts_with('0')).then(|| digits.parse().unwrap_or(u64::MAX))
}

fn read_modifier(text: &str) -> Option<i64> {
    let Some(digits) = text.strip_prefix(['+', '-']) else { return text.is_empty().then_some(0) };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// A number below `bound`, which is taken as at least 1.
fn below(stream: &mut ChaCha8Rng, bound: u64) -> u64 {
    let product = u128::from(stream.next_u64()) * u128::from(bound.max(1));
    u64::try_from(product >> 64).unwrap_or(0)
}

// === impl Evaluator ===

impl Evaluator<'_, '_> {
    /// The stream that all `random` and `roll` of a text share, in order.
    fn stream(&mut self) -> &mut ChaCha8Rng {
        let (seed, scope) = (self.environment.seed, self.environment.seed_scope);
        let text = self.text;
        self.chance.get_or_insert_with(|| {
            let parts: [&[u8]; 4] =
                [b"random", &seed.to_be_bytes(), scope.as_bytes(), text.as_bytes()];
            ChaCha8Rng::from_seed(*digest_parts(&parts).as_bytes())
        })
    }

    /// The stream of one `pick`.
    fn stream_at(&mut self, offset: usize) -> ChaCha8Rng {
        let (seed, scope) = (self.environment.pick_seed, self.environment.seed_scope);
        let text = *self.text_digest.get_or_insert_with(|| kernel::digest(self.text.as_bytes()));
        let parts: [&[u8]; 5] = [
            b"pick",
            &seed.to_be_bytes(),
            scope.as_bytes(),
            text.as_bytes(),
            &(offset as u64).to_be_bytes(),
        ];
        ChaCha8Rng::from_seed(*digest_parts(&parts).as_bytes())
    }
}
