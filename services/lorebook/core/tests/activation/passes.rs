//! Recursion, groups, probability and the budget.

use lorebook_core::{
    SelectiveLogic,
    activation::{Defects, Request},
};

use crate::scene::{Scene, codes, constant, entry, entry_id, grouped, secondary, uids, with};

#[test]
fn entries_of_one_pass_do_not_see_each_other_and_stay() {
    let excludes = secondary(&["2"], SelectiveLogic::NotAny, &["a"]);
    Scene::new([entry(&["1"], "a"), excludes], "1 2").fires(&[0, 1]);
}

#[test]
fn recursion_flags_keep_texts_from_being_heard_or_hearing() {
    let chain = [entry(&["a"], "b"), entry(&["b"], "c"), entry(&["c"], "d")];
    Scene::new(chain.clone(), "a").fires(&[0, 1, 2]);
    let mute = with(chain[1].clone(), |body| body.prevent_recursion = true);
    Scene::new([chain[0].clone(), mute, chain[2].clone()], "a").fires(&[0, 1]);
    let deaf = with(chain[1].clone(), |body| body.exclude_recursion = true);
    Scene::new([chain[0].clone(), deaf, chain[2].clone()], "a").fires(&[0]);
    Scene::new(chain, "a").set(|request| request.settings.max_recursion_steps = 2).fires(&[0, 1]);
}

#[test]
fn delayed_entries_wait_for_their_level() {
    let level = |level| with(entry(&["a"], "x"), |body| body.delay_until_recursion = level);
    let entries = [level(2), level(1), entry(&["a"], "b")];
    Scene::new(entries.clone(), "a").fires(&[2, 1, 0]);
    let off = |request: &mut Request| request.settings.recursive = false;
    Scene::new(entries, "a").set(off).fires(&[2, 0, 1]);
    Scene::new([level(1), entry(&["a"], "b")], "a").set(off).fires(&[1]);
}

// --- groups ---

#[test]
fn one_member_of_a_group_stays_by_weight() {
    let group = || [grouped(&["k"], "g"), grouped(&["k"], "g")];
    Scene::new(group(), "k").rolls(&[0.5]).fires(&[0]);
    Scene::new(group(), "k").rolls(&[0.51]).fires(&[1]);
    let heavy = with(grouped(&["k"], "g"), |body| body.group_weight = 300.0);
    Scene::new([grouped(&["k"], "g"), heavy], "k").rolls(&[0.26]).fires(&[1]);
    let weightless = || with(grouped(&["k"], "g"), |body| body.group_weight = 0.0);
    Scene::new([weightless(), weightless()], "k").rolls(&[0.9]).fires(&[0]);
}

#[test]
fn an_override_of_the_highest_order_wins_without_a_roll() {
    let over = |order| {
        with(grouped(&["k"], "g"), |body| {
            body.group_override = true;
            body.order = order;
        })
    };
    Scene::new([grouped(&["k"], "g"), over(5.0), over(6.0)], "k").rolls(&[0.0]).fires(&[2]);
}

#[test]
fn the_best_score_wins_before_an_override() {
    let over = with(grouped(&["k"], "g"), |body| body.group_override = true);
    let scored = grouped(&["k", "l"], "g");
    Scene::new([over, scored], "k l").set(|r| r.settings.use_group_scoring = true).fires(&[1]);
}

#[test]
fn a_group_taken_in_an_earlier_pass_stays_taken_and_is_said() {
    let short = with(constant("full"), |body| body.group = "profile".into());
    let full = grouped(&["full"], "profile");
    Scene::new([short, full], "").fires(&[0]).says("LORE_GROUP_TAKEN");
}

#[test]
fn losers_that_come_back_in_later_passes_are_no_news() {
    let mut scene = Scene::new([grouped(&["k"], "g"), grouped(&["k"], "g")], "k");
    let activation = scene.run();
    assert_eq!((uids(&activation), activation.stats.passes), (vec![0], 2));
    assert_eq!(codes(&activation), [""; 0]);
}

#[test]
fn groups_are_compared_by_membership() {
    let first = with(constant("next"), |body| body.group = "a, b".into());
    let scene = || Scene::new([first.clone(), grouped(&["next"], "b")], "");
    scene().fires(&[0]);
    scene().set(|request| request.defects.exclusivity_by_whole_list = true).fires(&[0, 1]);
}

#[test]
fn an_entry_that_two_groups_remove_takes_nobody_along() {
    let over = |group| with(grouped(&["k"], group), |body| body.group_override = true);
    let entries = [over("a"), over("b"), grouped(&["k"], "a,b"), entry(&["k"], "innocent")];
    Scene::new(entries.clone(), "k").fires(&[0, 1, 3]);
    let defects =
        Defects { losers_win_again: true, double_group_removal: true, ..Defects::default() };
    Scene::new(entries, "k").set(|request| request.defects = defects).fires(&[0, 1]);
}

#[test]
fn a_loser_of_one_group_cannot_win_another() {
    let winner = with(grouped(&["k"], "a"), |body| body.group_override = true);
    let both = with(grouped(&["k"], "a,b"), |body| body.group_weight = 1_000.0);
    let entries = [winner, both, grouped(&["k"], "b")];
    Scene::new(entries.clone(), "k").rolls(&[0.1]).fires(&[0, 2]);
    let scene = Scene::new(entries, "k").rolls(&[0.1]);
    scene.set(|request| request.defects.losers_win_again = true).fires(&[0]);
}

#[test]
fn a_group_may_be_called_like_a_property_of_every_object() {
    let group = || grouped(&["k"], "constructor");
    Scene::new([group(), group()], "k").fires(&[0]);
}

// --- probability and budget ---

#[test]
fn nought_percent_never_fires() {
    let never = with(constant("x"), |body| body.probability = 0.0);
    Scene::new([never.clone()], "").rolls(&[0.0]).fires(&[]);
    Scene::new([never], "").set(|request| request.defects.zero_percent_fires = true).fires(&[0]);
}

#[test]
fn a_roll_of_exactly_the_probability_passes_and_a_failure_is_final() {
    let half = with(entry(&["k"], "x"), |body| body.probability = 50.0);
    Scene::new([half.clone()], "k").rolls(&[0.5]).fires(&[0]);
    Scene::new([half.clone(), entry(&["k"], "k")], "k").rolls(&[0.51, 0.0]).fires(&[1]);
    let unused = with(half, |body| body.use_probability = false);
    Scene::new([unused], "k").rolls(&[0.99]).fires(&[0]);
}

#[test]
fn constants_are_not_exempt_from_the_budget_and_the_dropped_are_named() {
    let exempt = with(constant("five six"), |body| body.ignore_budget = true);
    let mut scene =
        Scene::new([constant("one two"), constant("three four"), exempt], "").set(|request| {
            request.settings.budget_cap = 4;
            request.explain = true;
        });
    let activation = scene.run();
    assert_eq!(uids(&activation), [0, 2]);
    assert_eq!(codes(&activation), ["LORE_BUDGET_EXCEEDED"]);
    assert_eq!(activation.skipped[0].entry, entry_id(1));
    assert_eq!(activation.skipped[0].reason.as_str(), "BUDGET");
    assert_eq!(activation.stats.used_tokens, 4);
}

#[test]
fn a_dropped_text_is_not_scanned_later() {
    let late = with(entry(&["secret"], "x"), |body| body.delay_until_recursion = 1);
    let later = with(entry(&["nothing"], "x"), |body| body.delay_until_recursion = 2);
    let free = with(late, |body| body.ignore_budget = true);
    let entries = [constant("a secret of five words"), free, later];
    let scene = || Scene::new(entries.clone(), "").set(|request| request.settings.budget_cap = 4);
    scene().fires(&[]);
    scene().set(|request| request.defects.dropped_text_leaks = true).fires(&[1]);
}

#[test]
fn order_decides_who_gets_the_budget_not_constancy() {
    let high = with(entry(&["k"], "one two"), |body| body.order = 200.0);
    Scene::new([constant("three four"), high], "k").set(|r| r.settings.budget_cap = 4).fires(&[1]);
}

#[test]
fn ten_thousand_members_chains_and_drops_stay_cheap() {
    // Each of these would be quadratic if it compared entries with entries; the stats bound the work.
    let members = vec![grouped(&["k"], "g"); 5_000];
    let activation = Scene::new(members, "k").set(|r| r.settings.use_group_scoring = true).run();
    assert_eq!((activation.entries.len(), activation.stats.passes), (1, 2));
    let alone = (0..5_000).map(|at| grouped(&["k"], &format!("g{at}")));
    let wide = |request: &mut Request| request.context_tokens = 1_000_000;
    assert_eq!(Scene::new(alone, "k").set(wide).run().entries.len(), 5_000);
    let chain = (0..2_000).map(|at| entry(&[&format!("key{at}")], &format!("key{}", at + 1)));
    let activation =
        Scene::new(chain, "key0").set(|request| request.explain = true).set(wide).run();
    assert_eq!((activation.entries.len(), activation.stats.passes), (2_000, 2_001));
    let dropped = vec![constant("one two three"); 5_000];
    let activation = Scene::new(dropped, "").set(|r| r.settings.budget_cap = 5).run();
    assert_eq!((activation.entries.len(), activation.diagnostics.len()), (1, 4_999));
}
