//! Nothing is dropped silently: what is skipped, moved, cut or approximated is a diagnostic with a stable code.

use serde_json::{Value, json};
use tests::{cards, prelude::*, script};

use common::ProfileMode;

/// Changes one thing; the turn must say `code`, and so must the request's record and the preview.
async fn check(code: &str, change: impl FnOnce(&mut Stage)) {
    let world = Plan::new().script(script::ECHO).near().await;
    let clients = world.clients();
    let mut stage = Stage::new();
    let plain = said(&clients, &stage).await;
    assert!(!plain.0.contains(&code.to_owned()), "{code} is not said without cause");
    change(&mut stage);

    let world = Plan::new().script(script::ECHO).near().await;
    let clients = world.clients();
    let (turn, record, preview) = said(&clients, &stage).await;
    assert!(turn.contains(&code.to_owned()), "{code} is not among {turn:?}");
    assert_eq!(turn, record, "the record says what the turn said");
    assert!(preview.contains(&code.to_owned()), "{code} is not among the preview's {preview:?}");
}

/// Codes of a turn on that stage, of its request's record, and of a preview.
async fn said(clients: &Clients, stage: &Stage) -> (Vec<String>, Vec<String>, Vec<String>) {
    const MESSAGE: &str = "The bell, the lamp, the wreckers at night.";
    let staged = stage.set(clients).await.expect("everything is usable");
    let told = clients.say(&staged.session, "turn-1", MESSAGE).await.expect("a turn");
    let sent = clients.sent(&staged.session, told.request().offset).await.expect("kept");
    let request = loader::PreviewProfileRequest {
        session_id: staged.session,
        profile_mode: stage.mode.into(),
        messages: vec![loader::PreviewMessage {
            author: common::Author::User.into(),
            text: MESSAGE.to_owned(),
        }],
    };
    let preview = clients.profiles.clone().preview_profile(request).await.expect("a preview");
    let codes = |list: Vec<common::Diagnostic>| list.into_iter().map(|d| d.code).collect();
    let turn = told.diagnostics().into_iter().map(str::to_owned).collect();
    (turn, codes(sent.record.diagnostics), codes(preview.into_inner().diagnostics))
}

fn entry<'a>(stage: &'a mut Stage, uid: &str) -> &'a mut Value {
    &mut stage.world["entries"][uid]
}

#[tokio::test]
async fn a_reply_that_was_cut_at_the_token_limit() {
    let script = "[[reply]]\ntext = \"So it\"\nfinish = \"length\"\n";
    let world = Plan::new().script(script).near().await;
    let clients = world.clients();
    let session = clients.create("cut", None).await.expect("a session");
    let told = clients.say(&session, "turn-1", "Is it so?").await.expect("a turn");
    let later = clients.history(&session).await.expect("turns");
    for turn in [told.reply(), later.last().expect("the reply")] {
        let reply = &turn.alternatives[0];
        assert_eq!((reply.content.as_str(), reply.finish_reason.as_str()), ("So it", "length"));
    }
}

#[tokio::test]
async fn a_macro_that_nobody_knows() {
    check("MACRO_UNKNOWN", |stage| {
        stage.card["data"]["description"] = json!("{{nosuchmacro}} keeps the light.");
    })
    .await;
}

#[tokio::test]
async fn time_that_freezes_in_a_section() {
    check("VOLATILE_MACRO_FROZEN", |stage| {
        stage.card["data"]["scenario"] = json!("It is {{time}}.");
    })
    .await;
}

#[tokio::test]
async fn a_pattern_that_is_none() {
    check("LORE_REGEX_INVALID", |stage| entry(stage, "1")["key"] = json!(["/(bell/", "bell"]))
        .await;
}

#[tokio::test]
async fn lore_beyond_its_budget() {
    check("LORE_BUDGET_EXCEEDED", |stage| {
        let activation = loader::ActivationSettings {
            budget_cap: Some(40),
            ..loader::ActivationSettings::default()
        };
        stage.options.activation = Some(activation);
    })
    .await;
}

#[tokio::test]
async fn an_entry_that_fired_and_says_nothing() {
    check("WORLD_BOOK_ENTRY_EMPTY", |stage| entry(stage, "1")["content"] = json!("")).await;
}

#[tokio::test]
async fn an_entry_at_an_outlet_that_nobody_reads() {
    check("WORLD_BOOK_OUTLET_SKIPPED", |stage| {
        entry(stage, "1")["position"] = json!(7);
        entry(stage, "1")["outletName"] = json!("somewhere");
    })
    .await;
}

fn order(stage: &mut Stage) -> &mut Vec<Value> {
    stage.preset["prompt_order"][0]["order"].as_array_mut().expect("an order")
}

#[tokio::test]
async fn a_prompt_that_the_order_names_and_the_preset_has_not() {
    check("PROMPT_UNKNOWN", |stage| {
        order(stage).push(json!({ "identifier": "ghost", "enabled": true }));
    })
    .await;
}

#[tokio::test]
async fn a_text_whose_place_is_switched_off() {
    check("MARKER_DISABLED", |stage| {
        let place = order(stage).iter_mut().find(|p| p["identifier"] == "scenario");
        place.expect("in the order")["enabled"] = json!(false);
    })
    .await;
}

#[tokio::test]
async fn a_greeting_that_the_card_has_not() {
    check("GREETING_OUT_OF_RANGE", |stage| stage.options.greeting_index = 7).await;
}

#[tokio::test]
async fn a_prefill_that_is_not_sent() {
    check("ASSISTANT_PREFILL_NOT_SENT", |stage| {
        stage.preset["assistant_prefill"] = json!("Sure:");
        stage.preset["chat_completion_source"] = json!("claude");
    })
    .await;
}

#[tokio::test]
async fn a_cards_system_prompt_that_the_selection_switches_off() {
    check("CHARACTER_SYSTEM_SUPPRESSED", |stage| {
        stage.card["data"]["system_prompt"] = json!("You are Maren.");
        stage.options.ignore_character_system_prompt = true;
    })
    .await;
}

/// What IN_CHAT places exactly, CONTRACT approximates and says so.
#[tokio::test]
async fn each_approximation_of_contract() {
    for code in [
        "CHARACTER_DEPTH_PROMPT_POSITION_APPROXIMATED",
        "CHARACTER_POST_HISTORY_POSITION_APPROXIMATED",
        "DIALOGUE_EXAMPLES_POSITION_APPROXIMATED",
        "WORLD_BOOK_POSITION_APPROXIMATED",
    ] {
        check(code, |stage| {
            stage.mode = ProfileMode::Contract;
            let data = &mut stage.card["data"];
            data["post_history_instructions"] = json!("Stay in the scene.");
            data["mes_example"] = json!("<START>\n{{user}}: Quiet?\n{{char}}: Never.");
            data["extensions"] = json!({
                "depth_prompt": { "prompt": "Tend the lamp.", "depth": 4, "role": "system" }
            });
            entry(stage, "1")["position"] = json!(4);
        })
        .await;
    }
}

/// Findings of an import, as `code place`.
fn findings(report: Option<common::ImportReport>) -> Vec<String> {
    let findings = report.expect("always").findings;
    findings.into_iter().map(|finding| format!("{} {}", finding.code, finding.place)).collect()
}

#[tokio::test]
async fn what_an_import_repairs_ignores_or_keeps_without_effect() {
    let world = World::near().await;
    let clients = world.clients();
    let mut preset = cards::preset();
    preset["function_calling"] = json!(true);
    preset["temperature"] = json!("0.8");
    let bytes = serde_json::to_vec(&preset).expect("JSON");
    let report = clients.import_preset("p", "p.json", &bytes).await.expect("imported").report;
    let found = findings(report);
    assert!(found.iter().any(|f| f.ends_with("temperature")), "{found:?}");
    assert!(found.iter().any(|f| f.ends_with("function_calling")), "{found:?}");

    let mut book = cards::world();
    book["entries"]["1"]["order"] = json!("100");
    book["entries"]["1"]["position"] = json!(99);
    let bytes = serde_json::to_vec(&book).expect("JSON");
    let report = clients.import_world("w", "w.json", &bytes).await.expect("imported").report;
    let found = findings(report);
    assert!(found.iter().any(|f| f.contains("entries") && f.ends_with("order")), "{found:?}");
    assert!(found.iter().any(|f| f.contains("entries") && f.ends_with("position")), "{found:?}");
}

#[tokio::test]
async fn without_a_provider_generation_says_so_and_everything_else_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = Plan::new().without_models().in_folder(folder.path()).near().await;
    let clients = world.clients();
    let cast = clients.cast().await.expect("imported");
    let plain = clients.create("plain", Some(cast.selection())).await.expect("created");
    let opened = clients.opened(&cast, ProfileMode::Journal).await.expect("opened");
    for session in [&plain, &opened] {
        let (turn, write) = (format!("turn-{session}"), format!("write-{session}"));
        let before = clients.log(session).await.expect("a log");
        let refused = clients.say(session, &turn, job::FIRST).await.refused();
        let why = (Code::FailedPrecondition, common::Reason::ProviderNotConfigured);
        assert_eq!(reason(&refused), why);
        assert!(refused.message().contains("scripted"), "{}", refused.message());
        assert_eq!(clients.log(session).await.expect("a log"), before, "nothing was written");
        clients.write(session, &write, job::authored("Still here.")).await.expect("written");
        assert_eq!(clients.verified(session).await.expect("verified").first_bad_offset, 0);
    }
    drop(clients);
    world.end().await;

    // Nor was the refusal kept: once there is a provider, the same call is a turn.
    let world = Plan::new().in_folder(folder.path()).near().await;
    for session in [&plain, &opened] {
        let turn = format!("turn-{session}");
        let told = world.clients().say(session, &turn, job::FIRST).await.expect("a turn");
        assert_eq!(told.reply().phase(), ledger::Phase::Completed);
    }
}
