//! Keys of a preset that are kept and exported, and what the report says of them.

use serde_json::Value;

use crate::format::{
    fields::{Fields, kind},
    report::{Code, Report},
};

/// Any of these makes a file a chat-completion preset even without prompts.
pub const CHAT_COMPLETION_KEYS: &[&str] = &[
    "main_prompt",
    "nsfw_prompt",
    "jailbreak_prompt",
    "impersonation_prompt",
    "new_chat_prompt",
    "wi_format",
    "openai_max_context",
    "openai_max_tokens",
    "openai_model",
    "chat_completion_source",
    "temperature",
    "temp_openai",
    "assistant_prefill",
    "reasoning_effort",
    "names_behavior",
    "squash_system_messages",
];

/// Old and foreign names, and what they are called now.
pub const RENAMED: &[(&str, &str)] = &[
    ("temp_openai", "temperature"),
    ("freq_pen_openai", "frequency_penalty"),
    ("pres_pen_openai", "presence_penalty"),
    ("top_p_openai", "top_p"),
    ("top_k_openai", "top_k"),
    ("top_a_openai", "top_a"),
    ("min_p_openai", "min_p"),
    ("repetition_penalty_openai", "repetition_penalty"),
    ("max_tokens", "openai_max_tokens"),
    ("max_context", "openai_max_context"),
    ("image_inlining", "media_inlining"),
    ("stop_strings", "stop"),
    ("stop_sequences", "stop"),
    ("custom_stopping_strings", "stop"),
    ("systemPromptMode", "system_prompt_mode"),
];

/// Where a model is reached: the caller's configuration rules that, never a file.
const CONNECTION: &[&str] = &[
    "chat_completion_source",
    "reverse_proxy",
    "proxy_password",
    "api_url_scale",
    "show_external_models",
    "bypass_status_check",
    "workers_ai_account_id",
];
const CONNECTION_PREFIXES: &[&str] = &["custom_", "vertexai_", "azure_", "openrouter_"];

/// Settings of the client, and abilities of providers that no request here uses.
const SETTINGS: &[&str] = &[
    "bias_preset_selected",
    "wrap_in_quotes",
    "max_context_unlocked",
    "stream_openai",
    "function_calling",
    "tool_call_recurse_limit",
    "show_thoughts",
    "enable_web_search",
    "request_images",
    "request_image_resolution",
    "request_image_aspect_ratio",
    "media_inlining",
    "inline_image_quality",
    "video_inlining",
    "audio_inlining",
    "legacy_streaming",
    "nsfw_toggle",
    "nsfw_first",
    "nsfw_avoidance_prompt",
    "enhance_definitions",
    "jailbreak_system",
];

/// Reports everything that reading left over; what is off or empty has nothing to miss.
pub fn report(root: &mut Fields, report: &mut Report) {
    if let Some(extensions) = root.object("extensions", report) {
        for (key, value) in extensions.left_over() {
            let key: String = key.chars().take(100).collect();
            let message = format!("{} travels with the file and is never run", describe(value));
            report.add(Code::ExtensionNotHonoured, extensions.path(&key), message);
        }
    }
    for (key, value) in root.left_over() {
        let (code, message) = if is_connection(key) {
            (Code::ConnectionNotHonoured, "is kept and never used: connections are configured")
        } else if SETTINGS.contains(&key) {
            (Code::SettingNotHonoured, "is kept and has no effect")
        } else {
            (Code::UnknownField, "is not known: kept in the original")
        };
        let switched_off = matches!(value, Value::Bool(false)) || value.as_str() == Some("");
        if code == Code::UnknownField || !switched_off {
            let key: String = key.chars().take(100).collect();
            report.add(code, key, message);
        }
    }
}

fn is_connection(key: &str) -> bool {
    CONNECTION.contains(&key)
        || key.ends_with("_model")
        || CONNECTION_PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

fn describe(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("a list of {}", items.len()),
        value => kind(value).to_owned(),
    }
}
