//! What is true after every run, whoever was first.

use std::collections::{BTreeMap, BTreeSet};

use host::status::reason;
use wire::{common::v1::Reason, lorebook::v1 as pb};

use super::{
    asked::{Answer, Asked, Told},
    deed::{Deed, Verb},
    model,
    run::{Report, Said},
};

/// What a caller may be refused with; anything else is a fault.
const REFUSALS: [Reason; 7] = [
    Reason::StaleRevision,
    Reason::OperationsInvalid,
    Reason::ChangeClosed,
    Reason::EtagMismatch,
    Reason::NotFound,
    Reason::UndoConflict,
    Reason::NotRevertible,
];

/// A first success, and the revision that it says it led to.
struct Success<'r> {
    said: &'r Said,
    asked: &'r Asked,
    answer: &'r Answer,
    revision: u64,
}

/// Each law that a run breaks, in a sentence.
pub fn broken(run: &Report) -> Vec<String> {
    let mut broken = Vec::new();
    let laws: [fn(&Report, &mut Vec<String>); 7] = [
        refusals_are_of_a_rule,
        each_success_moves_the_revision_by_one,
        a_change_is_applied_to_the_revision_it_was_made_for,
        a_request_has_one_answer,
        of_apply_and_close_one_wins,
        history_is_what_was_answered,
        the_rows_are_what_the_answers_say,
    ];
    for law in laws {
        law(run, &mut broken);
    }
    broken
}

/// A deed with its answer, in a line.
pub fn heard(deed: &Deed, asked: Option<&Asked>, told: &Told) -> String {
    let base = match asked {
        Some(Asked::Apply(request)) => format!(" for revision {}", request.base_revision),
        _ => String::new(),
    };
    let answer = match told {
        Err(status) => format!("refused, {}", status.message()),
        Ok((answer, again)) => {
            let again = if *again { ", again" } else { "" };
            match answer {
                Answer::Change(change) => format!("revision {}{again}", change.applied_revision),
                Answer::Closed(None) => "closed".to_owned(),
                Answer::Closed(Some(_)) => "closed too late".to_owned(),
                Answer::Edited(world, _) => format!("revision {}{again}", world.content_revision),
                Answer::World(world) => format!("world {}{again}", world.world_id),
                Answer::Nothing => "nothing to do".to_owned(),
            }
        }
    };
    format!("deed {} {:?}{base}: {answer}", deed.id, deed.verb)
}

fn refusals_are_of_a_rule(run: &Report, broken: &mut Vec<String>) {
    for Said { deed, told } in &run.log.said {
        let Err(status) = told else { continue };
        if !reason(status).is_some_and(|reason| REFUSALS.contains(&reason)) {
            broken.push(format!("deed {} {:?} failed: {status}", deed.id, deed.verb));
        }
    }
}

/// Every revision has one success that led to it. A reorder moves it or not, as the rows stood.
fn each_success_moves_the_revision_by_one(run: &Report, broken: &mut Vec<String>) {
    let (first, last) = (run.before.world.content_revision, run.after.world.content_revision);
    let mut moved: BTreeMap<u64, usize> = (first + 1..=last).map(|to| (to, 0)).collect();
    let (may, must): (Vec<_>, Vec<_>) =
        successes(run).into_iter().partition(|one| one.said.deed.verb == Verb::Reorder);
    for one in must.iter().filter(|one| one.said.deed.verb.moves()) {
        *moved.entry(one.revision).or_default() += 1;
    }
    for one in may {
        let by_others = moved.get(&one.revision).copied();
        if by_others == Some(0) {
            moved.insert(one.revision, 1);
        }
    }
    for (revision, by) in moved.into_iter().filter(|(_, by)| *by != 1) {
        broken.push(format!("{by} successes led to revision {revision}"));
    }
}

fn a_change_is_applied_to_the_revision_it_was_made_for(run: &Report, broken: &mut Vec<String>) {
    for one in successes(run) {
        let Answer::Change(change) = one.answer else { continue };
        let asked = match one.asked {
            Asked::Apply(request) => request.base_revision,
            _ => change.base_revision,
        };
        if (change.base_revision, change.applied_revision) != (asked, asked + 1) {
            let (base, applied) = (change.base_revision, change.applied_revision);
            broken
                .push(format!("a change for revision {asked} was applied to {base} as {applied}"));
        }
    }
}

/// Of the same request one call writes; all others hear the same, and hear that it is a repetition.
fn a_request_has_one_answer(run: &Report, broken: &mut Vec<String>) {
    for (deed, asked) in &run.log.asked {
        let heard: Vec<(&Answer, bool)> = of_deed(run, *deed)
            .filter_map(|said| said.told.as_ref().ok())
            .map(|(answer, again)| (answer, *again))
            .collect();
        let writes = heard.iter().filter(|(_, again)| !again).count();
        if writes > 1 && !matches!(asked, Asked::Close(_) | Asked::Nothing) {
            broken.push(format!("deed {deed} was done {writes} times"));
        }
        // A repetition that comes after a deletion has no entry to tell of.
        let late = |answer: &&Answer| matches!(answer, Answer::Edited(_, ids) if ids.is_empty());
        let told = heard.iter().map(|(answer, _)| *answer).filter(|answer| !late(answer));
        let told: Vec<Answer> = told.map(lasting).collect();
        if told.windows(2).any(|pair| pair[0] != pair[1]) && !matches!(asked, Asked::Close(_)) {
            broken.push(format!("deed {deed} was answered in several ways"));
        }
    }
}

fn of_apply_and_close_one_wins(run: &Report, broken: &mut Vec<String>) {
    for close in &run.log.said {
        let (Verb::Close { of }, Ok((Answer::Closed(found), _))) = (close.deed.verb, &close.told)
        else {
            continue;
        };
        let applied = of_deed(run, of).find_map(|said| match &said.told {
            Ok((Answer::Change(change), _)) => Some(change),
            _ => None,
        });
        match (found, applied) {
            (None, Some(change)) => {
                broken.push(format!("{} was closed and applied", change.change_id));
            }
            (Some(found), Some(change)) if settled(found) != settled(change) => {
                broken.push(format!("{} was told in two ways", change.change_id));
            }
            _ => {}
        }
    }
}

fn history_is_what_was_answered(run: &Report, broken: &mut Vec<String>) {
    let kept: BTreeMap<&str, &pb::Change> =
        run.history.iter().map(|change| (change.change_id.as_str(), change)).collect();
    let mut told = BTreeSet::new();
    let mut reverted = BTreeSet::new();
    for one in successes(run) {
        let Answer::Change(change) = one.answer else { continue };
        told.insert(change.change_id.as_str());
        if kept.get(change.change_id.as_str()).map(|kept| settled(kept)) != Some(settled(change)) {
            broken.push(format!("History tells {} otherwise", change.change_id));
        }
        let of = change.reverts_change_id.as_str();
        let by = kept.get(of).map(|change| change.reverted_by_change_id.as_str());
        if !of.is_empty() && (by != Some(change.change_id.as_str()) || !reverted.insert(of)) {
            broken.push(format!("{of} was undone twice, or is not known as undone"));
        }
    }
    let deletions = successes(run)
        .into_iter()
        .filter(|one| one.said.deed.verb == Verb::Delete)
        .map(|one| one.revision);
    let deletions: BTreeSet<u64> = deletions.collect();
    let revisions: Vec<u64> = run.history.iter().map(|change| change.applied_revision).collect();
    if !revisions.is_sorted_by(|newer, older| newer > older) {
        broken.push(format!("History is out of order: {revisions:?}"));
    }
    for change in &run.history {
        let by_hand = change.origin() == pb::ChangeOrigin::Manual
            && deletions.contains(&change.applied_revision);
        let before = change.applied_revision <= run.before.world.content_revision;
        if !before && !by_hand && !told.contains(change.change_id.as_str()) {
            broken.push(format!("History knows {}, which nobody was told", change.change_id));
        }
    }
    for deletion in deletions.iter().filter(|at| revisions.iter().any(|older| older < *at)) {
        if !revisions.contains(deletion) {
            broken.push(format!("the deletion at revision {deletion} was not recorded"));
        }
    }
}

/// The user's rows are as their users left them, the dynamic ones as changes and users did.
fn the_rows_are_what_the_answers_say(run: &Report, broken: &mut Vec<String>) {
    let mut expected = model::rows(&run.before);
    let mut done = successes(run);
    done.sort_by_key(|one| one.revision);
    for one in done {
        model::follow(&mut expected, one.asked, one.answer);
    }
    let found = model::rows(&run.after);
    let ids: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
    for id in ids {
        let (expected, found) = (expected.get(id), found.get(id));
        if expected != found {
            broken.push(format!("entry {id} is {found:?}, not {expected:?}"));
        }
    }
}

fn of_deed(run: &Report, deed: usize) -> impl Iterator<Item = &Said> {
    run.log.said.iter().filter(move |said| said.deed.id == deed)
}

/// The calls that wrote something, by their own words.
fn successes(run: &Report) -> Vec<Success<'_>> {
    run.log.said.iter().filter_map(|said| success(run, said)).collect()
}

fn success<'r>(run: &'r Report, said: &'r Said) -> Option<Success<'r>> {
    let Ok((answer, false)) = &said.told else { return None };
    let revision = match answer {
        Answer::Change(change) => change.applied_revision,
        Answer::Edited(world, _) => world.content_revision,
        Answer::Closed(_) | Answer::World(_) | Answer::Nothing => return None,
    };
    let asked = run.log.asked.get(&said.deed.id)?;
    Some(Success { said, asked, answer, revision })
}

/// What of an answer does not depend on when it is given.
fn lasting(answer: &Answer) -> Answer {
    match answer {
        Answer::Change(change) => Answer::Change(settled(change)),
        Answer::Edited(_, ids) => Answer::Edited(pb::World::default(), ids.clone()),
        Answer::World(world) => {
            let world_id = world.world_id.clone();
            Answer::World(pb::World { world_id, ..Default::default() })
        }
        other => other.clone(),
    }
}

/// A change without what a later undo writes to it, nor what it is compared with.
fn settled(change: &pb::Change) -> pb::Change {
    let mut change =
        pb::Change { revertible: false, reverted_by_change_id: String::new(), ..change.clone() };
    for row in &mut change.rows {
        row.content_diff.clear();
        row.fields.clear();
    }
    change
}
