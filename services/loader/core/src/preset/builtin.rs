//! The prompts and the order that every preset has unless it says otherwise (reference B2).

use super::{OrderEntry, Prompt};

/// Card, persona and lore texts take the place of these.
pub const MARKERS: [&str; 8] = [
    "dialogueExamples",
    "chatHistory",
    "worldInfoBefore",
    "worldInfoAfter",
    "charDescription",
    "charPersonality",
    "scenario",
    "personaDescription",
];

const MAIN: &str =
    "Write {{char}}'s next reply in a fictional chat between {{charIfNotGroup}} and {{user}}.";

const ENHANCE_DEFINITIONS: &str = "Where the definition above is silent, use what you know about \
     {{char}}, as long as it does not contradict it.";

const ORDER: [(&str, bool); 12] = [
    ("main", true),
    ("worldInfoBefore", true),
    ("personaDescription", true),
    ("charDescription", true),
    ("charPersonality", true),
    ("scenario", true),
    ("enhanceDefinitions", false),
    ("nsfw", true),
    ("worldInfoAfter", true),
    ("dialogueExamples", true),
    ("chatHistory", true),
    ("jailbreak", true),
];

/// Every built-in prompt.
pub fn prompts() -> Vec<Prompt> {
    let texts = [
        ("main", MAIN),
        ("nsfw", ""),
        ("jailbreak", ""),
        ("enhanceDefinitions", ENHANCE_DEFINITIONS),
    ];
    let texts = texts.map(|(identifier, content)| Prompt {
        system_prompt: Some(true),
        ..Prompt::new(identifier, content)
    });
    let markers = MARKERS.map(|identifier| Prompt {
        system_prompt: Some(true),
        marker: true,
        ..Prompt::new(identifier, "")
    });
    texts.into_iter().chain(markers).collect()
}

/// The order of a preset that has none.
pub fn order() -> Vec<OrderEntry> {
    ORDER.map(|(identifier, enabled)| OrderEntry { identifier: identifier.into(), enabled }).into()
}

/// Appends the built-in prompts that a file lacks.
pub fn complete(prompts: &mut Vec<Prompt>) {
    for builtin in self::prompts() {
        if !prompts.iter().any(|prompt| prompt.identifier == builtin.identifier) {
            prompts.push(builtin);
        }
    }
}

/// Whether the identifier is one of SillyTavern's own, custom ones aside.
pub fn is_builtin(identifier: &str) -> bool {
    ORDER.iter().any(|(own, _)| *own == identifier)
}
