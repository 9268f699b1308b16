//! Filters, forced entries, the order of candidates, and where texts go.

use lorebook_core::{
    CharacterFilter, Entry, EntryRole, GenerationType, Layer, OverlayAction, Position,
    SelectiveLogic,
    activation::{CandidateOrder, CharacterContext, Place, Reason, SourceKind, blocks},
};

use crate::scene::{
    Scene, codes, constant, entry, entry_id, grouped, secondary, uids, with, world_id,
};

#[test]
fn triggers_and_character_filters_keep_entries_out() {
    let swipes = with(constant("x"), |body| body.triggers = vec!["swipe".into()]);
    Scene::new([swipes.clone()], "").fires(&[]);
    Scene::new([swipes], "").set(|r| r.generation = GenerationType::Swipe).fires(&[0]);
    let filter = |is_exclude, tags: &[&str]| {
        with(constant("x"), |body| {
            body.character_filter = Some(CharacterFilter {
                is_exclude,
                names: if tags.is_empty() { vec!["mira".into()] } else { Vec::new() },
                tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            });
        })
    };
    let mira = |tags: Option<&[&str]>| CharacterContext {
        avatar: "mira.png".into(),
        tags: tags.map(|tags| tags.iter().map(|tag| (*tag).to_owned()).collect()),
    };
    let entries =
        || [filter(false, &[]), filter(true, &[]), filter(false, &["elf"]), filter(true, &["elf"])];
    Scene::new(entries(), "").set(|r| r.character = mira(Some(&["elf"]))).fires(&[0, 2]);
    Scene::new(entries(), "").set(|r| r.character = mira(Some(&[]))).fires(&[0, 3]);
    Scene::new(entries(), "").set(|r| r.character = mira(None)).fires(&[0, 2, 3]);
}

#[test]
fn a_forced_entry_needs_no_key_but_obeys_its_switches() {
    let off = with(entry(&[], "x"), |body| body.enabled = false);
    let mut scene = Scene::new([constant("c"), entry(&["never"], "x"), off], "").set(|request| {
        request.forced = [1, 2, 9].map(|uid| (world_id("world"), entry_id(uid))).into();
    });
    let activation = scene.run();
    assert_eq!(uids(&activation), [1, 0]);
    assert_eq!(activation.entries[0].reason, Reason::Forced);
    assert_eq!(codes(&activation), ["LORE_FORCED_UNKNOWN"]);
}

#[test]
fn decorators_fire_and_keep_from_firing() {
    let entries = [
        entry(&[], "@@activate\nx"),
        constant("@@dont_activate\nx"),
        entry(&[], "@@dont_activate\n@@activate\nx"),
        with(entry(&[], "@@activate\nx"), |body| body.enabled = false),
    ];
    Scene::new(entries, "").fires(&[0, 2]);
}

#[test]
fn decorators_of_the_specification_place_an_entry_and_add_keys() {
    let mut scene = Scene::new(
        [entry(&["k"], "@@depth 2\n@@role assistant\n@@additional_keys also, too\nx")],
        "k too",
    );
    let activation = scene.run();
    let one = &activation.entries[0];
    assert_eq!((one.position, one.depth, one.role), (Position::AtDepth, 2, EntryRole::Assistant));
    assert_eq!(one.matched_keys, ["k", "too"]);
    scene.chat(&["k"]).fires(&[]);
    let excludes = || Scene::new([entry(&["k"], "@@exclude_keys foe, /fie+nd/\nx")], "k");
    excludes().fires(&[0]);
    excludes().chat(&["k fieend"]).fires(&[]);
    let far = || entry(&["old"], "@@scan_depth 3\n@@position after_desc\nx");
    let mut scene = Scene::new([far(), entry(&["old"], "x")], "").chat(&["old", "mid", "new"]);
    let activation = scene.run();
    assert_eq!((uids(&activation), activation.entries[0].position), (vec![0], Position::AfterChar));
    Scene::new([entry(&["k"], "@@reverse_depth 3\nx")], "k").says("LORE_DECORATOR_IGNORED");
}

// --- order and output ---

#[test]
fn candidates_follow_their_sources_and_orders() {
    let body = |order: f64| with(constant("x"), |body| body.order = order);
    let scene = |order| {
        Scene::new([body(1.0)], "")
            .beside("session", SourceKind::Session, vec![body(0.0)])
            .beside("character", SourceKind::Character, vec![body(1.0)])
            .beside("user", SourceKind::User, vec![body(0.0)])
            .set(move |request| request.settings.order = order)
    };
    let check = |order, expected: [&str; 4]| {
        let activation = scene(order).run();
        let worlds: Vec<&str> = activation.entries.iter().map(|one| one.world.as_str()).collect();
        assert_eq!(worlds, expected);
    };
    check(CandidateOrder::CharacterFirst, ["session", "user", "character", "world"]);
    check(CandidateOrder::GlobalFirst, ["session", "user", "world", "character"]);
    check(CandidateOrder::Evenly, ["session", "user", "world", "character"]);
    check(CandidateOrder::PerWorld, ["world", "session", "character", "user"]);
}

#[test]
fn a_world_named_twice_counts_once() {
    let scene = Scene::new([constant("x")], "");
    scene.beside("world", SourceKind::Character, vec![constant("y")]).fires(&[0]);
}

#[test]
fn equal_orders_come_out_reversed_and_outlets_do_not() {
    let at = |position, order| {
        with(constant(&format!("{position} {order}")), |body| {
            body.position = position;
            body.order = order;
            body.outlet_name = "o".into();
        })
    };
    let before = |content: &str| constant(content);
    let mut scene = Scene::new(
        [
            before("e0"),
            before("e1"),
            before("e2"),
            at(Position::Outlet, 1.0),
            at(Position::Outlet, 2.0),
            at(Position::EmTop, 1.0),
            at(Position::EmTop, 2.0),
        ],
        "",
    );
    let activation = scene.run();
    let text = |place| {
        let blocks = blocks(&activation.entries);
        blocks
            .iter()
            .find(|block| block.place == place)
            .map(|block| block.text())
            .unwrap_or_default()
    };
    assert_eq!(text(Place::BeforeChar), "e2\ne1\ne0");
    assert_eq!(text(Place::Outlet("o".into())), "outlet 2\noutlet 1");
    assert_eq!(text(Place::EmTop), "em_top 2\nem_top 1");
}

#[test]
fn dynamic_lore_stands_behind_authored_under_its_heading() {
    let low = with(constant("dynamic"), |body| body.order = 1.0);
    let mut scene = Scene::new([low.clone(), constant("authored")], "").dynamic(0);
    let activation = scene.run();
    assert_eq!(blocks(&activation.entries)[0].text(), "authored\nDynamic World State\ndynamic");
    let activation = Scene::new([low], "").run();
    assert_eq!(blocks(&activation.entries)[0].text(), "dynamic");
}

#[test]
fn text_without_a_place_is_said() {
    let nowhere = with(constant("x"), |body| body.position = Position::Unknown(12));
    let unnamed = with(constant("x"), |body| body.position = Position::Outlet);
    Scene::new([nowhere, unnamed], "").says("LORE_POSITION_UNKNOWN").says("LORE_OUTLET_UNNAMED");
}

#[test]
fn depth_nought_and_empty_texts_are_valid() {
    let bottom = with(constant("x"), |body| {
        body.position = Position::AtDepth;
        body.depth = 0;
    });
    let mut scene = Scene::new([bottom, constant("{{noop}}")], "");
    let activation = scene.run();
    assert_eq!(uids(&activation), [0, 1]);
    let places: Vec<Place> = blocks(&activation.entries).into_iter().map(|b| b.place).collect();
    assert_eq!(places, [Place::AtDepth { depth: 0, role: EntryRole::System }]);
}

#[test]
fn macros_of_contents_run_in_the_order_of_activation() {
    let writes = with(constant("{{setvar::v::7}}first"), |body| body.order = 200.0);
    let mut scene = Scene::new([constant("{{getvar::v}} {{user}}"), writes], "");
    let texts: Vec<String> = scene.run().entries.into_iter().map(|one| one.text).collect();
    assert_eq!(texts, ["first", "7 Bob"]);
}

#[test]
fn skipped_entries_are_answered_with_reasons_on_request() {
    let entries = [
        entry(&[], "x"),
        entry(&["never"], "x"),
        secondary(&["k"], SelectiveLogic::AndAny, &["never"]),
        with(entry(&["k"], "x"), |body| body.enabled = false),
        with(entry(&["k"], "x"), |body| body.delay = Some(5)),
        with(entry(&["k"], "x"), |body| body.probability = 0.0),
        with(grouped(&["k"], "g"), |body| body.group_override = true),
        grouped(&["k"], "g"),
    ];
    let mut scene = Scene::new(entries, "k").set(|request| request.explain = true);
    let skipped = scene.run().skipped;
    let reasons: Vec<&str> = skipped.iter().map(|one| one.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "NO_KEYS",
            "PRIMARY_MISS",
            "SECONDARY_MISS",
            "DELAY",
            "PROBABILITY",
            "GROUP_LOST",
            "DISABLED"
        ]
    );
}

#[test]
fn rows_that_are_not_in_effect_are_no_candidates_and_have_their_reason() {
    let of = |uid, action, over: Option<usize>| {
        let mut row = Entry::authored(entry_id(uid), 0, 0, constant("overlay"));
        row.layer = Layer::Dynamic;
        row.overlay_action = Some(action);
        row.supersedes_entry_id = over.map(entry_id);
        row
    };
    let mut scene =
        Scene::new([constant("a"), constant("b"), constant("c")], "").set(|r| r.explain = true);
    scene.entries.push(of(7, OverlayAction::Replace, Some(0)));
    scene.entries.push(of(8, OverlayAction::Suppress, Some(1)));
    scene.entries.push(Entry { archived: true, ..of(9, OverlayAction::Replace, Some(2)) });
    scene.request.forced = [0, 9].map(|uid| (world_id("world"), entry_id(uid))).into();
    let activation = scene.run();
    let fired: Vec<&str> = activation.entries.iter().map(|one| one.entry.as_str()).collect();
    assert_eq!(fired, ["2", "7"]);
    let skipped = activation.skipped.iter();
    let reasons: Vec<(&str, &str)> =
        skipped.map(|one| (one.entry.as_str(), one.reason.as_str())).collect();
    assert_eq!(reasons, [("0", "HIDDEN"), ("1", "HIDDEN"), ("8", "MARKER"), ("9", "ARCHIVED")]);
    assert_eq!(codes(&activation), [""; 0]);
}

#[test]
fn a_world_by_two_sources_counts_by_the_global_one_or_in_contract_by_the_first() {
    let scene = |order| {
        let body = with(constant("x"), |body| body.order = 1.0);
        let mut scene = Scene::new([body], "");
        scene.request.settings.order = order;
        let twice =
            |scene: Scene| scene.beside("other", SourceKind::Character, vec![constant("y")]);
        twice(scene).beside("other", SourceKind::Global, vec![constant("y")])
    };
    let worlds = |order| -> Vec<String> {
        let entries = scene(order).run().entries;
        entries.iter().map(|one| one.world.as_str().to_owned()).collect()
    };
    assert_eq!(worlds(CandidateOrder::CharacterFirst), ["other", "world"]);
    assert_eq!(worlds(CandidateOrder::PerWorld), ["world", "other"]);
}

#[test]
fn a_book_that_does_not_fit_is_left_out_whole_and_a_smaller_one_still_fits() {
    let many = |count: usize| vec![entry(&["k"], "x"); count];
    let mut scene = Scene::new(many(6_000), "")
        .beside("big", SourceKind::Global, many(4_001))
        .beside("small", SourceKind::Global, vec![constant("x")]);
    let activation = scene.run();
    assert_eq!(activation.worlds.len(), 2);
    assert_eq!(uids(&activation), [0]);
    assert_eq!(codes(&activation), ["WORLD_BOOK_RUNTIME_TOTAL_LIMIT"]);
}
