//! Chat-completion presets of every age (reference B1, B2): with and without the prompt manager,
//! under old key names, as SillyTavern's own prompt export, and as other programs write them.

use kernel::limits::PRESET_BYTES_MAX;
use macros::Template;
use serde_json::Value;

use super::{
    error::FormatError,
    fields::Fields,
    guard::read_json,
    report::{Code, Report},
};
use crate::preset::{ChatOptions, Formats, NamesBehavior, Preset, PresetMode, Sampling};

mod kept;
mod prompts;

/// A preset read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedPreset {
    pub preset: Preset,
    /// The name that the file itself gives; SillyTavern's presets have only their file's.
    pub name: Option<String>,
    pub report: Report,
}

/// Reads a preset. An absent key has its default.
pub fn read(bytes: &[u8]) -> Result<ImportedPreset, FormatError> {
    if bytes.len() > PRESET_BYTES_MAX {
        let what = format!("a preset of {} bytes", bytes.len());
        return Err(FormatError::limit("file", what, PRESET_BYTES_MAX));
    }
    let mut report = Report::default();
    let value = read_json(bytes, &mut report)?;
    let (preset, name) = read_document(value, &mut report)?;
    Ok(ImportedPreset { preset, name, report })
}

/// Reads a preset's document.
pub fn read_document(
    value: Value,
    report: &mut Report,
) -> Result<(Preset, Option<String>), FormatError> {
    let Value::Object(root) = value else {
        return Err(FormatError::unusable("root", "a preset is a JSON object"));
    };
    let mut root = unwrap_prompt_export(Fields::new(root, ""), report);
    check_kind(&root)?;
    migrate(&mut root, report);
    let mut named = |key| root.text(key, report).filter(|name| !name.trim().is_empty());
    let name = ["name", "presetName", "preset_name"].into_iter().find_map(&mut named);
    if name.as_deref().and_then(kernel::name::cleaned).is_some() {
        report.add(Code::NameCleaned, "", "the name has control characters, shown as U+FFFD");
    }
    let prompts = prompts::read(&mut root, report);
    let preset = Preset {
        prompts: prompts.prompts,
        order: prompts.order,
        order_source: prompts.source,
        formats: formats(&mut root, report),
        chat: chat(&mut root, report),
        sampling: sampling(&mut root, report),
        mode: mode(&mut root),
    };
    kept::report(&mut root, report);
    Ok((preset, name))
}

/// The prompt manager's own export wraps prompts and order in `data`.
fn unwrap_prompt_export(mut root: Fields, report: &mut Report) -> Fields {
    let wrapped =
        matches!(root.get("data"), Some(Value::Object(data)) if data.contains_key("prompts"));
    if !wrapped || root.has_any(&["prompts", "spec"]) {
        return root;
    }
    match root.object("data", report) {
        Some(data) => {
            report.add(Code::FormatRecognised, "", "an export of the prompt manager");
            data
        }
        None => root,
    }
}

/// Names the other kinds of file that people take for a preset.
fn check_kind(root: &Fields) -> Result<(), FormatError> {
    let no_preset = |reason| Err(FormatError::unusable("root", reason));
    if root.has_any(&["prompts", "prompt_order"]) {
        return Ok(());
    }
    if root.has_any(&["spec", "char_name", "first_mes"]) {
        return no_preset("is a character card, not a preset: import it as a character");
    }
    if root.has("entries") {
        return no_preset("is a world book, not a preset: import it as a world");
    }
    if root.has_any(&["personas", "persona_descriptions"]) {
        return no_preset("is an export of personas, not a preset: import it as users");
    }
    if root.has_any(&["input_sequence", "output_sequence"]) {
        return no_preset("is an instruct template, which chat completion does not use");
    }
    if root.has_any(kept::CHAT_COMPLETION_KEYS) {
        return Ok(());
    }
    if root.has_any(&["story_string", "chat_start"]) {
        return no_preset("is a context template, which chat completion does not use");
    }
    if root.has_any(&["temp", "rep_pen", "typical_p"]) {
        return no_preset("is a text-completion preset: only chat-completion presets are read");
    }
    no_preset("has neither prompts nor any setting of a chat-completion preset")
}

/// Old and foreign key names, as SillyTavern migrates them.
fn migrate(root: &mut Fields, report: &mut Report) {
    for (old, new) in kept::RENAMED {
        if root.has(old) && !root.has(new) {
            report.add(Code::OldKey, *old, format!("was read as {new}"));
            root.rename(old, new);
        }
    }
    if root.flag("names_in_completion", report) == Some(true) && !root.has("names_behavior") {
        report.add(Code::OldKey, "names_in_completion", "was read as names_behavior 1");
        root.put("names_behavior", Some(Value::from(1)));
    }
    for old in ["claude_use_sysprompt", "use_makersuite_sysprompt"] {
        if root.flag(old, report) == Some(true) && !root.has("use_sysprompt") {
            report.add(Code::OldKey, old, "was read as use_sysprompt");
            root.put("use_sysprompt", Some(Value::Bool(true)));
        }
    }
}

fn formats(root: &mut Fields, report: &mut Report) -> Formats {
    let default = Formats::default();
    let mut text = |key, default| root.text(key, report).map_or(default, Template::from);
    Formats {
        world_info: text("wi_format", default.world_info),
        scenario: text("scenario_format", default.scenario),
        personality: text("personality_format", default.personality),
        new_chat: text("new_chat_prompt", default.new_chat),
        new_group_chat: text("new_group_chat_prompt", default.new_group_chat),
        new_example_chat: text("new_example_chat_prompt", default.new_example_chat),
        continue_nudge: text("continue_nudge_prompt", default.continue_nudge),
        group_nudge: text("group_nudge_prompt", default.group_nudge),
        impersonation: text("impersonation_prompt", default.impersonation),
    }
}

fn chat(root: &mut Fields, report: &mut Report) -> ChatOptions {
    let default = ChatOptions::default();
    ChatOptions {
        names: names(root, report),
        squash_system_messages: root.flag("squash_system_messages", report).unwrap_or(false),
        send_if_empty: root.text("send_if_empty", report).unwrap_or_default().into(),
        continue_prefill: root.flag("continue_prefill", report).unwrap_or(false),
        continue_postfix: root.text("continue_postfix", report).unwrap_or(default.continue_postfix),
        assistant_prefill: root.text("assistant_prefill", report).unwrap_or_default(),
        assistant_impersonation: root.text("assistant_impersonation", report).unwrap_or_default(),
        use_system_prompt: root.flag("use_sysprompt", report).unwrap_or(false),
    }
}

fn names(root: &mut Fields, report: &mut Report) -> NamesBehavior {
    let Some(number) = root.integer("names_behavior", report) else {
        return NamesBehavior::default();
    };
    if !(-1..=2).contains(&number) {
        let message = format!("is {number}, which nobody defined: the default is taken");
        report.add(Code::ValueUnusable, "names_behavior", message);
    }
    NamesBehavior::from_number(number)
}

fn sampling(root: &mut Fields, report: &mut Report) -> Sampling {
    Sampling {
        temperature: root.number("temperature", report),
        top_p: root.number("top_p", report),
        top_k: root.positive("top_k", report),
        top_a: root.number("top_a", report),
        min_p: root.number("min_p", report),
        frequency_penalty: root.number("frequency_penalty", report),
        presence_penalty: root.number("presence_penalty", report),
        repetition_penalty: root.number("repetition_penalty", report),
        max_context: root.count("openai_max_context", report),
        max_tokens: root.count("openai_max_tokens", report),
        seed: root.integer("seed", report),
        n: root.count("n", report),
        stop: stops(root, report),
        reasoning_effort: root.text("reasoning_effort", report),
        verbosity: root.text("verbosity", report),
    }
}

/// An empty text would stop every reply before it begins.
fn stops(root: &mut Fields, report: &mut Report) -> Vec<String> {
    let stops = root.texts("stop", report);
    let path = root.path("stop");
    for (at, _) in stops.iter().enumerate().filter(|(_, stop)| stop.is_empty()) {
        report.add(Code::ValueUnusable, format_args!("{path}[{at}]"), "is empty: it was left out");
    }
    stops.into_iter().filter(|stop| !stop.is_empty()).collect()
}

fn mode(root: &mut Fields) -> PresetMode {
    match root.str("system_prompt_mode") {
        Some("replace") => {
            root.drop_all(&["system_prompt_mode"]);
            PresetMode::Replace
        }
        Some("append") => {
            root.drop_all(&["system_prompt_mode"]);
            PresetMode::Append
        }
        _ => PresetMode::Append,
    }
}
