//! The profile's safety budget: whole entries by rank, nothing cut in the middle (seed 001).

use kernel::limits;

use super::{
    CompileError,
    input::{Input, LoreEntry},
    lore,
    profile::Composed,
};
use crate::diagnostic::{Code, Diagnostic};

/// A composition within its budget, and the lore that it kept.
pub(super) struct Fitted<'i> {
    pub composed: Composed,
    pub kept: Vec<&'i LoreEntry>,
}

/// Composes with the longest ranked prefix of the lore that fits. One composition when everything
/// fits; otherwise about log2(entries) more.
pub(super) fn fit<'i>(
    input: &'i Input,
    compose: impl Fn(&[&'i LoreEntry]) -> Composed,
) -> Result<Fitted<'i>, CompileError> {
    let max = input
        .profile_bytes_max
        .filter(|&bytes| bytes > 0)
        .map_or(limits::PROFILE_BYTES_DEFAULT, |bytes| bytes.min(limits::PROFILE_BYTES_MAX));
    let all: Vec<&LoreEntry> = input.lore.iter().collect();
    let ranked = lore::ranked(&all, input.mode);
    let considered = considered(&ranked, max);
    let compose_prefix = |count: usize| compose(&prefix(&all, &ranked, count));

    let full = compose_prefix(considered);
    let measured = full.bytes();
    let (count, mut composed) = if measured <= max {
        (considered, full)
    } else {
        longest_fitting(max, considered, compose_prefix)?
    };
    if count < all.len() {
        composed.diagnostics.push(
            Diagnostic::new(Code::TavernProfileLoreLimited, "")
                .with("max_profile_bytes", max)
                .with("measured_candidate_bytes", measured)
                .with("max_lore_input_bytes", 2 * max)
                .with("retained_lore_entries", count)
                .with("omitted_lore_entries", all.len() - count),
        );
    }
    Ok(Fitted { composed, kept: prefix(&all, &ranked, count) })
}

/// How many entries by rank are looked at: their number and their raw text are bounded.
fn considered(ranked: &[&LoreEntry], max: usize) -> usize {
    let mut bytes = 0;
    let within = ranked.iter().take(limits::LORE_CANDIDATES_MAX).take_while(|entry| {
        bytes += entry.content.len();
        bytes <= 2 * max
    });
    within.count()
}

/// The highest ranked entries, back in activation order.
fn prefix<'i>(all: &[&'i LoreEntry], ranked: &[&'i LoreEntry], count: usize) -> Vec<&'i LoreEntry> {
    if count == all.len() {
        return all.to_vec();
    }
    let kept: std::collections::HashSet<*const LoreEntry> =
        ranked[..count].iter().map(|&entry| std::ptr::from_ref(entry)).collect();
    all.iter().copied().filter(|&entry| kept.contains(&std::ptr::from_ref(entry))).collect()
}

fn longest_fitting(
    max: usize,
    too_many: usize,
    compose_prefix: impl Fn(usize) -> Composed,
) -> Result<(usize, Composed), CompileError> {
    let mut best = (0, compose_prefix(0));
    let bytes = best.1.bytes();
    if bytes > max {
        return Err(CompileError::ProfileTooLarge { bytes, max });
    }
    let (mut fits, mut fails) = (0, too_many);
    while fails - fits > 1 {
        let middle = fits + (fails - fits) / 2;
        let tried = compose_prefix(middle);
        if tried.bytes() <= max {
            best = (middle, tried);
            fits = middle;
        } else {
            fails = middle;
        }
    }
    Ok(best)
}
