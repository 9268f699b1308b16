//! Keys, secondary keys, and the texts they are looked for in.

use lorebook_core::{EntryBody, SelectiveLogic, WorldSettings, matcher::WordBoundary};

use crate::scene::{Scene, compiled, constant, entry, rows, secondary, with};

#[test]
fn a_short_key_does_not_fire_inside_words_unless_whole_words_are_off() {
    let ai = |whole| with(entry(&["AI"], "x"), |body| body.match_whole_words = Some(whole));
    Scene::new([ai(true), ai(false)], "Ain't it? Maine is a state.").fires(&[1]);
}

#[test]
fn keys_of_scripts_without_spaces_fire_beside_other_characters() {
    Scene::new([entry(&["龙"], "x")], "远处有一条红龙。").fires(&[0]);
    Scene::new([entry(&["魔法", "เวทมนตร์"], "x")], "彼女は魔法を使った").fires(&[0]);
}

#[test]
fn a_key_may_begin_and_end_with_punctuation() {
    Scene::new([entry(&["#hello"], "x")], "say #hello now").fires(&[0]);
    Scene::new([entry(&["c++"], "x"), entry(&[".net"], "x")], "c++ or .net?").fires(&[0, 1]);
}

#[test]
fn several_words_are_a_substring() {
    Scene::new([entry(&["red cat"], "x")], "a hundred cats").fires(&[0]);
}

#[test]
fn unicode_word_boundaries_are_an_option() {
    let dom = || Scene::new([entry(&["дом"], "x")], "пора домой");
    dom().fires(&[0]);
    dom().set(|request| request.settings.word_boundary = WordBoundary::Unicode).fires(&[]);
}

#[test]
fn case_is_folded_as_javascript_folds_it() {
    Scene::new([with(entry(&["i"], "x"), |body| body.match_whole_words = Some(false))], "İ")
        .fires(&[0]);
    let sensitive = |key| with(entry(&[key], "x"), |body| body.case_sensitive = Some(true));
    Scene::new([sensitive("Elf"), sensitive("elf")], "an elf").fires(&[1]);
}

#[test]
fn a_pattern_key_is_a_pattern_and_a_path_is_plain_text() {
    let keys = ["/(?:^|[^а-я])Кент(?:а|ой)/gi", "/home/user", "AC/DC"];
    Scene::new([entry(&keys, "x")], "вижу Кента").fires(&[0]);
    Scene::new([entry(&["/home/user"], "x")], "look in /home/user").fires(&[0]);
    Scene::new([entry(&["AC/DC"], "x")], "I hear AC/DC").fires(&[0]);
    Scene::new([entry(&["/(/"], "x")], "odd /(/ text").fires(&[0]).says("LORE_REGEX_INVALID");
}

#[test]
fn a_pattern_reaches_from_message_to_message_and_its_start_is_before_the_first() {
    let named = |key: &str| {
        Scene::new([entry(&[key], "x")], "")
            .chat(&["first", "hi"])
            .set(|r| r.settings.include_names = true)
    };
    named(r"/^Bob: hi/").fires(&[]);
    named(r"/\x01Bob: hi/").fires(&[0]);
    named(r"/hi\n\x01Bob: first/").fires(&[0]);
    named("hi\n\u{1}Bob").fires(&[]);
}

#[test]
fn speakers_are_heard_only_with_their_names() {
    let bob = |names| {
        Scene::new([entry(&["Bob"], "x")], "hi")
            .set(|request| request.settings.include_names = names)
    };
    bob(true).fires(&[0]);
    bob(false).fires(&[]);
}

#[test]
fn a_blank_key_matches_nothing_and_is_said() {
    let blank = || Scene::new([entry(&[" "], "x"), entry(&[""], "x")], "text");
    blank().fires(&[]).says("LORE_KEY_BLANK");
    blank().set(|request| request.defects.blank_keys_match = true).fires(&[0]);
}

#[test]
fn keys_with_macros_are_expanded_for_the_request() {
    let keys = entry(&["{{user}}'s sword", "/{{char}} sings/i"], "x");
    Scene::new([keys.clone()], "here is Bob's sword").fires(&[0]);
    Scene::new([keys.clone()], "then MIRA SINGS").fires(&[0]);
    Scene::new([keys], "here is {{user}}'s sword").fires(&[]);
}

#[test]
fn keys_with_macros_read_what_lore_of_an_earlier_pass_wrote() {
    let writes = constant("{{setvar::place::castle}}to go");
    let reads = |key: &str| entry(&[key], "x");
    let keys = ["{{getvar::place}}", "/the {{getvar::place}}$/m"];
    Scene::new([writes, reads(keys[0]), reads(keys[1])], "in the castle").fires(&[0, 1, 2]);
    Scene::new([constant("to go"), reads(keys[0])], "in the castle").fires(&[0]);
}

#[test]
fn a_chain_that_writes_without_end_is_read_as_often_as_the_limit_allows() {
    let link = |at: usize| {
        let key = if at == 0 { "go".to_owned() } else { format!("step{at}") };
        entry(&[&key], &format!("{{{{setvar::at::n{at}}}}}step{}", at + 1))
    };
    let chain: Vec<_> = (0..80).map(link).chain([entry(&["{{getvar::at}}"], "x")]).collect();
    Scene::new(chain, "go").says("LORE_KEY_EXPANSIONS_LIMIT");
}

#[test]
fn a_macro_in_a_key_that_nobody_knows_is_said() {
    Scene::new([entry(&["{{nonsense}}"], "x")], "{{nonsense}}").fires(&[0]).says("LORE_MACRO");
}

#[test]
fn patterns_that_explode_end_within_the_budget_and_are_named() {
    let evil = entry(&[r"/^(a+)+\1$/", r"/(?=(x+x+)+y)z/"], "x");
    let text = format!("{}!", "a".repeat(5_000));
    Scene::new([evil, entry(&["tail"], "x")], &format!("{text} tail")).fires(&[1]);
    Scene::new([entry(&[r"/(a+)+\1(?!!)$/"], "x")], &text)
        .fires(&[])
        .says("LORE_REGEX_STEPS_EXHAUSTED");
}

// --- secondary keys ---

#[test]
fn not_any_stays_out_while_an_excluded_word_is_there() {
    let debug = || secondary(&["我", "你"], SelectiveLogic::NotAny, &["进入调试", "rare"]);
    Scene::new([debug()], "我要进入调试").fires(&[]);
    Scene::new([debug()], "我来了").fires(&[0]);
}

#[test]
fn the_four_logics_follow_their_table() {
    let all = [
        SelectiveLogic::AndAny,
        SelectiveLogic::NotAll,
        SelectiveLogic::NotAny,
        SelectiveLogic::AndAll,
        SelectiveLogic::Unknown(9),
    ];
    let entries = |keys: &[&str]| all.map(|logic| secondary(&["p"], logic, keys));
    Scene::new(entries(&["a", "b"]), "p").fires(&[1, 2]);
    Scene::new(entries(&["a", "b"]), "p a").fires(&[0, 1]);
    Scene::new(entries(&["a", "b"]), "p a b").fires(&[0, 3]);
    Scene::new(entries(&["a", "b"]), "a b").fires(&[]);
    Scene::new(entries(&[]), "p").fires(&[0, 1, 2, 3, 4]);
    Scene::new(entries(&[""]), "p").fires(&[1, 2]);
}

#[test]
fn without_selective_the_secondary_keys_do_not_count() {
    let body = secondary(&["p"], SelectiveLogic::AndAll, &["never"]);
    Scene::new([with(body, |body| body.selective = false)], "p").fires(&[0]);
}

// --- what is scanned ---

#[test]
fn depth_counts_messages_from_the_newest_and_nought_scans_nothing() {
    let deep = |depth| with(entry(&["old"], "x"), |body| body.scan_depth = depth);
    let chat = ["old", "mid", "new"];
    Scene::new([deep(None), deep(Some(3)), deep(Some(0))], "").chat(&chat).fires(&[1]);
}

#[test]
fn a_thousand_messages_are_the_most_that_an_entry_sees() {
    let deep = || with(entry(&["oldest"], "x"), |body| body.scan_depth = Some(5_000));
    let chat = |count: usize| {
        let mut texts = vec!["oldest"];
        texts.resize(count, "-");
        Scene::new([deep()], "").chat(&texts)
    };
    chat(1_000).fires(&[0]);
    chat(1_001).fires(&[]);
}

#[test]
fn a_comment_in_lore_is_gone_before_it_is_scanned() {
    Scene::new([constant("{{// secret }}x"), entry(&["secret"], "y")], "").fires(&[0]);
}

#[test]
fn a_comma_inside_a_key_is_literal() {
    Scene::new([entry(&["wolf, bear"], "x")], "a wolf, bear and elk").fires(&[0]);
    Scene::new([entry(&["wolf, bear"], "x")], "a wolf and a bear").fires(&[]);
}

#[test]
fn an_empty_message_still_takes_a_place() {
    Scene::new([entry(&["old"], "x")], "").chat(&["old", "", "new"]).fires(&[]);
}

#[test]
fn a_source_is_scanned_for_entries_that_ask_for_it() {
    let asks = with(entry(&["scar"], "x"), |body| body.match_persona_description = true);
    let scene = |depth| {
        Scene::new([asks.clone(), entry(&["scar"], "x")], "hello").set(|request| {
            request.sources.persona_description = "a scar of {{user}}".into();
            request.settings.scan_depth = depth;
        })
    };
    scene(2).fires(&[0]);
    scene(0).fires(&[]);
}

#[test]
fn extra_texts_are_scanned_for_all() {
    let scene = Scene::new([entry(&["note"], "x")], "hello");
    scene.set(|request| request.extra_texts.push("author's note".into())).fires(&[0]);
}

#[test]
fn min_activations_reach_deeper_even_from_depth_nought() {
    let scene = |depth_max| {
        Scene::new([entry(&["old"], "x")], "").chat(&["old", "mid", "new"]).set(|request| {
            request.settings.scan_depth = 0;
            request.settings.min_activations = 1;
            request.settings.min_activations_depth_max = depth_max;
        })
    };
    scene(0).fires(&[0]);
    scene(1).fires(&[]);
    scene(2).fires(&[0]);
    scene(0).set(|request| request.settings.max_recursion_steps = 2).fires(&[]);
}

#[test]
fn a_worlds_own_settings_stand_between_the_entrys_and_the_requests() {
    let scene = || Scene::new([entry(&["old"], "x")], "").chat(&["old", "mid", "new"]);
    scene().world(WorldSettings { scan_depth: Some(3), ..WorldSettings::default() }).fires(&[0]);
    let chain = [entry(&["a"], "b"), entry(&["b"], "c")];
    let silent = WorldSettings { recursive_scanning: Some(false), ..WorldSettings::default() };
    Scene::new(chain.clone(), "a").fires(&[0, 1]);
    Scene::new(chain.clone(), "a").world(silent).fires(&[0]);
    let loud = WorldSettings { recursive_scanning: Some(true), ..WorldSettings::default() };
    let quiet_request = |scene: Scene| scene.set(|request| request.settings.recursive = false);
    quiet_request(Scene::new(chain.clone(), "a")).fires(&[0]);
    quiet_request(Scene::new(chain, "a")).world(loud).fires(&[0, 1]);
    let small = WorldSettings { token_budget: Some(2), ..WorldSettings::default() };
    Scene::new([constant("one two three"), constant("one"), constant("two")], "")
        .world(small)
        .fires(&[1, 2])
        .says("LORE_WORLD_BUDGET_EXCEEDED");
}

#[test]
fn an_entry_over_its_worlds_budget_is_expanded_once_in_all_passes() {
    let small = WorldSettings { token_budget: Some(3), ..WorldSettings::default() };
    let counted = constant("{{incvar::n}} one two three four five");
    let mut scene = Scene::new([counted, entry(&["go"], "zap"), entry(&["zap"], "x")], "go");
    scene = scene.world(small).fires(&[1, 2]);
    assert_eq!(scene.variables.get(macros::Scope::Local, "n"), Some("1"));
}

#[test]
fn a_hash_is_of_what_moves_the_revision() {
    let hash =
        |body: EntryBody| compiled("w", WorldSettings::default(), rows([body])).entries()[0].hash;
    let plain = entry(&["a"], "x");
    let shown = with(plain.clone(), |body| body.display_index = Some(7));
    assert_eq!(hash(shown), hash(plain.clone()));
    assert_ne!(hash(with(plain.clone(), |body| body.order = 7.0)), hash(plain));
}
