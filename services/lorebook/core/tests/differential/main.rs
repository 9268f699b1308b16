//! The scan against a slow reading of reference A4 to A11 that shares no code with it: SillyTavern's
//! own answers hold the reading to the truth, and generated worlds hold the scan to the reading.
//!
//! `SKALD_DIFFERENTIAL` multiplies the generated cases for a long run.

mod chains;
mod generator;
mod golden;
#[path = "../support/lore_cases.rs"]
mod lore_cases;
mod reference;

use std::{env, ops::Range};

use generator::Dice;
use lorebook_core::activation::Defects;

/// SillyTavern's semantics, none of its defects left out.
fn all_defects() -> Defects {
    Defects {
        double_group_removal: true,
        losers_win_again: true,
        exclusivity_by_whole_list: true,
        dropped_text_leaks: true,
        zero_percent_fires: true,
        blank_keys_match: true,
        decorators_dropped: true,
    }
}

fn seeds(count: u64) -> Range<u64> {
    let times = env::var("SKALD_DIFFERENTIAL").ok().and_then(|times| times.parse().ok());
    0..count * times.unwrap_or(1)
}

// What differs, if anything does.
fn differs(seed: u64, defects: Defects) -> Option<String> {
    let case = Dice::new(seed).case();
    let (slow, fast) = (reference::answer(&case, &defects), lore_cases::answer(&case, defects));
    let difference = lore_cases::difference(&slow, &fast)?;
    Some(format!("seed {seed}, {defects:?}: {difference}"))
}

#[track_caller]
fn none(differences: impl Iterator<Item = String>) {
    let differences: Vec<String> = differences.collect();
    let first = &differences[..differences.len().min(10)];
    assert!(first.is_empty(), "{} differ: {first:#?}", differences.len());
}

#[test]
fn generated_worlds_come_out_as_the_reference_says() {
    none(seeds(2_000).filter_map(|seed| differs(seed, Defects::default())));
}

#[test]
fn each_defect_does_what_the_reference_says_of_it() {
    let defects: Vec<Defects> =
        Defects::each().into_iter().map(|(_, defects)| defects).chain([all_defects()]).collect();
    let cases = seeds(200).flat_map(|seed| defects.iter().map(move |one| (seed, *one)));
    none(cases.filter_map(|(seed, defects)| differs(!seed, defects)));
}

#[test]
fn chats_that_go_on_come_out_as_the_reference_says() {
    none(seeds(60).filter_map(chains::differs));
}
