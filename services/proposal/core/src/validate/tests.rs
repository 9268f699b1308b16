//! One line per rule of seed 004, section 3, and of 50-proposal, section 1.

use serde_json::json;

use super::*;
use crate::{
    catalogue,
    evaluation::Outcome,
    judge::{Exchange, Room},
    world::testing::*,
};

/// One world: 1 = authored King, 2 = authored Castle (constant), 3 = dynamic War, 4 = dynamic Plague,
/// 5 = a marker over the hidden Dragon, 6 = locked Throne.
fn rows() -> Vec<Row> {
    vec![
        authored("King"),
        Row { constant: true, keywords: vec![], ..authored("Castle") },
        authored("Dragon"),
        dynamic("War"),
        dynamic("Plague"),
        suppressing("Gone", Some("Dragon")),
        Row { locked: true, ..dynamic("Throne") },
    ]
}

fn judged(worlds: &[World], operations: Value) -> Judgement {
    let catalogue = catalogue(worlds, &Exchange::default(), &Room::default());
    let answer = json!({"operations": operations, "summary": "s"});
    validate(&answer, worlds, &catalogue).expect("usable")
}

/// `kind target name content constant keywords` of each accepted operation, `-` for what is inherited.
fn told(judgement: &Judgement) -> Vec<String> {
    let all = judgement.worlds.iter().flat_map(|(_, operations)| operations);
    all.map(|op| {
        let text = |part: &Option<String>| part.clone().unwrap_or("-".into());
        let target = op.target.as_ref().map_or("-", |target| target.as_str());
        let constant = op.constant.map_or("-".into(), |constant| constant.to_string());
        let keywords = op.keywords.as_ref().map_or("-".into(), |keywords| keywords.join("+"));
        let (name, content) = (text(&op.name), text(&op.content));
        format!("{} {target} {name} {content} {constant} {keywords}", op.kind.name())
    })
    .collect()
}

#[track_caller]
fn accepts(operations: Value, expected: &[&str]) {
    let judgement = judged(&[world("W", rows())], operations);
    assert_eq!(judgement.rejected, []);
    assert_eq!(told(&judgement), expected);
}

/// The last operation is refused, and for this reason; the ones before it hold.
#[track_caller]
fn rejects(operations: Value, reason: &str) {
    let judgement = judged(&[world("W", rows())], operations);
    let [rejected] = judgement.rejected.as_slice() else { panic!("{:?}", judgement.rejected) };
    assert!(rejected.reason.contains(reason), "{}", rejected.reason);
}

#[track_caller]
fn unusable(answer: Value, expected: Unusable) {
    let worlds = [world("W", rows())];
    let catalogue = catalogue(&worlds, &Exchange::default(), &Room::default());
    assert_eq!(validate(&answer, &worlds, &catalogue), Err(expected));
}

fn create(name: &str) -> Value {
    json!({"rationale": "r", "op": "create", "name": name, "content": "c", "keywords": ["k"]})
}

fn create_in(target_world: &str) -> Value {
    json!({"op": "create", "name": "N", "content": "c", "target_world": target_world})
}

// --- the form ---

#[test]
fn nothing_proposed_is_an_answer() {
    let judgement = judged(&[world("W", rows())], json!([]));
    assert_eq!((judgement.outcome(), judgement.summary.as_str()), (Outcome::Nothing, "s"));
}

#[test]
fn arguments_that_are_no_object_are_unusable() {
    unusable(json!([]), Unusable::NotAnObject);
}

#[test]
fn operations_that_are_no_list_are_unusable() {
    unusable(json!({"operations": {}}), Unusable::NotAList);
}

#[test]
fn an_operation_that_is_no_object_is_rejected() {
    rejects(json!(["create"]), "not an object");
}

#[test]
fn an_unknown_verb_is_rejected() {
    rejects(json!([{"op": "delete", "target_entry_id": 1}]), "op \"delete\"");
}

#[test]
fn a_missing_verb_is_rejected() {
    rejects(json!([{"rationale": "r"}]), "op is missing");
}

#[test]
fn a_verb_is_read_in_any_case() {
    accepts(json!([{"op": " Retract ", "target_entry_id": 3}]), &["archive War - - - -"]);
}

#[test]
fn the_stored_verbs_mean_the_same_and_the_row_decides() {
    accepts(json!([{"op": "suppress", "target_entry_id": 3}]), &["archive War - - - -"]);
    accepts(json!([{"op": "archive", "target_entry_id": 1}]), &["suppress King - - - -"]);
}

#[test]
fn a_rejected_operation_is_kept_as_written() {
    let judgement = judged(&[world("W", rows())], json!([{"op": "delete"}]));
    assert_eq!(judgement.rejected[0].operation, r#"{"op":"delete"}"#);
    assert_eq!(judgement.outcome(), Outcome::AllRejected);
}

// --- targets ---

#[test]
fn a_number_may_come_as_text() {
    accepts(json!([{"op": "retract", "target_entry_id": "[3]"}]), &["archive War - - - -"]);
}

#[test]
fn a_target_that_is_no_number_is_rejected() {
    for target in [json!(true), json!("War"), json!(-1), json!(1.5)] {
        rejects(json!([{"op": "retract", "target_entry_id": target}]), "not a number");
    }
}

#[test]
fn a_target_that_was_not_listed_is_rejected() {
    rejects(json!([{"op": "retract", "target_entry_id": 7}]), "entry 7 is not listed");
}

#[test]
fn a_revise_without_a_target_is_rejected() {
    rejects(json!([{"op": "revise", "name": "x"}]), "target_entry_id is missing");
}

#[test]
fn a_create_with_a_target_is_rejected() {
    rejects(json!([{"op": "create", "target_entry_id": 1, "name": "x"}]), "must not name a target");
}

#[test]
fn a_locked_target_is_rejected() {
    rejects(json!([{"op": "retract", "target_entry_id": 6}]), "locked");
}

#[test]
fn a_second_operation_on_one_target_is_rejected() {
    let twice =
        json!([{"op": "retract", "target_entry_id": 3}, {"op": "retract", "target_entry_id": 3}]);
    rejects(twice, "target of an earlier operation");
}

#[test]
fn a_rejected_operation_does_not_claim_its_target() {
    let judgement = judged(
        &[world("W", rows())],
        json!([{"op": "revise", "target_entry_id": 1}, {"op": "retract", "target_entry_id": 1}]),
    );
    assert_eq!(judgement.rejected.len(), 1);
    assert_eq!(told(&judgement), ["suppress King - - - -"]);
}

#[test]
fn a_marker_can_only_be_retracted() {
    accepts(json!([{"op": "retract", "target_entry_id": 5}]), &["archive Gone - - - -"]);
    rejects(json!([{"op": "revise", "target_entry_id": 5, "content": "x"}]), "only be retracted");
}

// --- bodies ---

#[test]
fn a_revise_of_an_authored_entry_replaces_it_and_inherits_its_activation() {
    accepts(
        json!([{"op": "revise", "target_entry_id": 1, "name": "The king", "content": "Dead."}]),
        &["replace King The king Dead. - -"],
    );
}

#[test]
fn a_revise_of_a_constant_entry_stays_constant() {
    accepts(
        json!([{"op": "revise", "target_entry_id": 2, "name": "Ruin", "content": "Burnt."}]),
        &["replace Castle Ruin Burnt. - -"],
    );
}

#[test]
fn a_revise_of_a_dynamic_entry_updates_what_it_states() {
    accepts(
        json!([{"op": "revise", "target_entry_id": 3, "content": "Over."}]),
        &["update War - Over. - -"],
    );
}

#[test]
fn a_replacement_needs_a_name_and_a_body() {
    rejects(json!([{"op": "revise", "target_entry_id": 1, "content": "x"}]), "name is empty");
    rejects(json!([{"op": "revise", "target_entry_id": 1, "name": "x"}]), "content is empty");
}

#[test]
fn a_create_needs_a_name_and_a_body() {
    rejects(json!([{"op": "create", "name": " ", "content": "x"}]), "name is empty");
    rejects(json!([{"op": "create", "name": "x", "content": "\n"}]), "content is empty");
}

#[test]
fn an_update_that_states_nothing_is_rejected() {
    rejects(json!([{"op": "revise", "target_entry_id": 3, "name": " "}]), "changes nothing");
}

#[test]
fn an_update_to_what_already_stands_is_rejected() {
    let same = json!([{"op": "revise", "target_entry_id": 3, "content": "About War.", "keywords": ["war"]}]);
    rejects(same, "changes nothing");
}

#[test]
fn a_create_without_keywords_takes_its_name() {
    accepts(
        json!([{"op": "create", "name": "Siege", "content": "c"}]),
        &["create - Siege c false Siege"],
    );
}

#[test]
fn keywords_are_cleaned_and_kept_once() {
    let keywords = json!([" Siege ", "siege", "", 3, "wall"]);
    accepts(
        json!([{"op": "create", "name": "S", "content": "c", "keywords": keywords}]),
        &["create - S c false Siege+wall"],
    );
}

#[test]
fn constant_clears_keywords() {
    accepts(
        json!([{"op": "create", "name": "S", "content": "c", "activation": "constant", "keywords": ["k"]}]),
        &["create - S c true "],
    );
    accepts(
        json!([{"op": "revise", "target_entry_id": 3, "activation": "constant"}]),
        &["update War - - true "],
    );
}

#[test]
fn a_constant_entry_turned_to_keywords_without_any_takes_its_name() {
    accepts(
        json!([{"op": "revise", "target_entry_id": 2, "name": "Ruin", "content": "c", "activation": "keywords"}]),
        &["replace Castle Ruin c false Ruin"],
    );
}

#[test]
fn an_unknown_activation_is_inherited() {
    accepts(
        json!([{"op": "revise", "target_entry_id": 3, "content": "x", "activation": "always"}]),
        &["update War - x - -"],
    );
}

// --- names ---

#[test]
fn a_name_of_another_dynamic_entry_is_rejected_in_any_case() {
    rejects(json!([create("wAR")]), "another dynamic entry");
    rejects(
        json!([{"op": "revise", "target_entry_id": 4, "name": "War"}]),
        "another dynamic entry",
    );
    rejects(
        json!([{"op": "revise", "target_entry_id": 1, "name": "War", "content": "x"}]),
        "another dynamic entry",
    );
}

#[test]
fn a_name_taken_by_an_earlier_operation_is_rejected() {
    rejects(json!([create("Siege"), create("siege")]), "another dynamic entry");
}

#[test]
fn names_of_authored_entries_and_of_markers_are_free() {
    accepts(json!([create("King")]), &["create - King c false k"]);
    accepts(json!([create("Gone")]), &["create - Gone c false k"]);
}

#[test]
fn an_update_may_keep_its_own_name() {
    accepts(
        json!([{"op": "revise", "target_entry_id": 3, "name": "war", "content": "x"}]),
        &["update War war x - -"],
    );
}

#[test]
fn an_update_or_retraction_frees_its_old_name_for_later_ones() {
    accepts(
        json!([{"op": "revise", "target_entry_id": 3, "name": "Peace"}, create("War")]),
        &["update War Peace - - -", "create - War c false k"],
    );
    accepts(
        json!([{"op": "retract", "target_entry_id": 3}, create("War")]),
        &["archive War - - - -", "create - War c false k"],
    );
}

#[test]
fn a_rejected_rename_frees_nothing() {
    rejects(json!([{"op": "revise", "target_entry_id": 3, "name": "Plague"}]), "another dynamic");
    let both = json!([{"op": "revise", "target_entry_id": 3, "name": "Plague"}, create("War")]);
    assert_eq!(judged(&[world("W", rows())], both).rejected.len(), 2);
}

// --- worlds ---

fn two(first: &str, second: &str) -> [World; 2] {
    [world(first, vec![authored("A")]), world(second, vec![dynamic("B")])]
}

#[track_caller]
fn lands_in(worlds: &[World], target_world: &str, expected: Result<&str, &str>) {
    let judgement = judged(worlds, json!([create_in(target_world)]));
    match expected {
        Ok(world) => assert_eq!(judgement.worlds[0].0.as_str(), world),
        Err(reason) => {
            let found = &judgement.rejected[0].reason;
            assert!(found.contains(reason), "{found}");
        }
    }
}

#[test]
fn with_one_world_a_wrong_target_world_does_not_matter() {
    lands_in(&[world("V", vec![])], "nonsense", Ok("v"));
}

#[test]
fn with_several_a_create_names_one_by_id_or_by_its_only_name() {
    lands_in(&two("Vale", "Wald"), "wald", Ok("wald"));
    lands_in(&two("Vale", "Wald"), " VALE ", Ok("vale"));
    lands_in(&two("Vale", "Wald"), "", Err("target_world is missing"));
    lands_in(&two("Vale", "Wald"), "elsewhere", Err("none of the listed"));
}

#[test]
fn a_name_that_two_worlds_share_means_neither() {
    let mut worlds = two("Vale", "Wald");
    worlds[1].name = "VALE".into();
    worlds[0].id = kernel::WorldId::new("x1").expect("an id");
    lands_in(&worlds, "vale", Err("several worlds"));
}

#[test]
fn operations_are_filed_per_world_in_the_order_of_first_touch() {
    let judgement = judged(
        &two("Vale", "Wald"),
        json!([
            {"op": "retract", "target_entry_id": 2},
            {"op": "retract", "target_entry_id": 1},
            create_in("wald"),
        ]),
    );
    let filed: Vec<_> =
        judgement.worlds.iter().map(|(id, operations)| (id.as_str(), operations.len())).collect();
    assert_eq!(filed, [("wald", 2), ("vale", 1)]);
}

#[test]
fn equal_names_in_two_worlds_do_not_clash() {
    let operation = json!({"op": "create", "name": "B", "content": "c", "target_world": "vale"});
    assert_eq!(judged(&two("Vale", "Wald"), json!([operation])).rejected, []);
}

// --- caps ---

#[test]
fn a_name_content_or_keyword_over_its_cap_is_rejected_with_the_cap() {
    rejects(json!([create(&"n".repeat(201))]), "at most 200");
    let content = "c".repeat(limits::CHANGE_CONTENT_BYTES_MAX + 1);
    rejects(json!([{"op": "create", "name": "n", "content": content}]), "at most 16384");
    let keywords: Vec<String> = (0..33).map(|n| format!("k{n}")).collect();
    rejects(
        json!([{"op": "create", "name": "n", "content": "c", "keywords": keywords}]),
        "at most 32",
    );
    rejects(
        json!([{"op": "create", "name": "n", "content": "c", "keywords": ["k".repeat(201)]}]),
        "at most 200",
    );
}

#[test]
fn operations_beyond_the_cap_are_rejected_together() {
    let many: Vec<Value> = (0..60).map(|n| create(&format!("N{n}"))).collect();
    let judgement = judged(&[world("W", rows())], json!(many));
    assert_eq!(judgement.worlds[0].1.len(), limits::CHANGE_OPERATIONS_MAX);
    assert_eq!(judgement.rejected[0].reason, "10 operations beyond the first 50");
}

#[test]
fn a_long_rationale_is_cut_not_refused() {
    let judgement = judged(
        &[world("W", rows())],
        json!([{"op": "retract", "target_entry_id": 3, "rationale": "r".repeat(9_000)}]),
    );
    assert_eq!(judgement.worlds[0].1[0].rationale.len(), limits::CHANGE_NOTE_CHARS_MAX);
}

mod laws {
    use proptest::prelude::*;

    use super::*;

    fn any_proposal() -> impl Strategy<Value = Value> {
        let op = prop::sample::select(vec!["create", "revise", "retract", "x"]);
        let name = prop::sample::select(vec!["", "War", "Plague", "King", "New", "new"]);
        (op, prop::option::of(0u64..8), name, prop::option::of("[a-c ]{0,3}"), any::<bool>())
            .prop_map(|(op, target, name, content, constant)| {
                let activation = if constant { "constant" } else { "keywords" };
                json!({"op": op, "target_entry_id": target, "name": name, "content": content,
                    "activation": activation})
            })
    }

    proptest! {
        #[test]
        fn every_operation_is_either_filed_or_rejected(
            proposals in prop::collection::vec(any_proposal(), 0..12),
        ) {
            let judgement = judged(&[world("W", rows())], json!(proposals));
            let filed: usize = judgement.worlds.iter().map(|(_, ops)| ops.len()).sum();
            prop_assert_eq!(filed + judgement.rejected.len(), proposals.len());
        }

        #[test]
        fn accepted_operations_keep_to_the_rules(
            proposals in prop::collection::vec(any_proposal(), 0..12),
        ) {
            let judgement = judged(&[world("W", rows())], json!(proposals));
            let operations: Vec<_> = judgement.worlds.into_iter().flat_map(|(_, ops)| ops).collect();
            let targets: Vec<_> = operations.iter().filter_map(|op| op.target.clone()).collect();
            let distinct: HashSet<_> = targets.iter().collect();
            prop_assert_eq!(distinct.len(), targets.len());
            for operation in operations {
                let is_new = matches!(operation.kind, Kind::Create | Kind::Replace);
                prop_assert!(!is_new || (operation.name.is_some() && operation.content.is_some()));
                prop_assert_eq!(operation.target.is_none(), operation.kind == Kind::Create);
            }
        }
    }
}
