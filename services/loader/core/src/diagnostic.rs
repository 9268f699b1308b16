//! Everything that a compile can say about a profile: stable codes, what they mean, what to do.
//!
//! Nothing is skipped, moved, cut or approximated without one of these. Codes of seed 001 keep their
//! names; the table below is the manual page.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One thing that did not go as a file or a person may expect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub code: Code,
    /// A prompt identifier, a field, a world and entry; empty for the profile as a whole.
    pub place: String,
    /// Figures and names behind the sentence.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, String>,
}

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// As designed, and worth knowing.
    Info,
    /// Something was skipped, moved, cut or approximated.
    Warning,
    /// A part could not be used at all.
    Error,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $severity:ident $meaning:literal $remedy:literal;)*) => {
        /// What happened.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Code {
            $(
                #[doc = $meaning]
                #[serde(rename = $name)]
                $variant,
            )*
        }

        impl Code {
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The stable name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            pub const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// A sentence for a person.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            /// What to do about it.
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy,)* }
            }
        }
    };
}

codes! {
    // --- the selection ---
    PresetNotFound "PRESET_NOT_FOUND" Warning
        "the selected preset does not exist any more; the profile goes on without it"
        "select another preset, or none";
    CharacterNotFound "CHARACTER_NOT_FOUND" Warning
        "the selected character does not exist any more; the profile goes on without it"
        "select another character, or none";
    UserNotFound "USER_NOT_FOUND" Warning
        "the selected user does not exist any more; the profile goes on without it"
        "select another user, or none";
    WorldBookNotFound "WORLD_BOOK_NOT_FOUND" Warning
        "a world that takes part does not exist any more"
        "take it out of the selection or the binding";
    WorldBookRuntimeTotalLimit "WORLD_BOOK_RUNTIME_TOTAL_LIMIT" Warning
        "the books in effect hold more entries than one request may; this book is not scanned at all"
        "unbind a large book, or split it";
    EmbeddedWorldBookInvalid "EMBEDDED_WORLD_BOOK_INVALID" Warning
        "the card's embedded book cannot run; it is kept and exported as it is"
        "repair the book named in the import report";
    PresetDefaultUsed "PRESET_DEFAULT_USED" Info
        "no preset is selected; SillyTavern's shipped prompts and order are used"
        "select a preset";
    PresetOrderFallback "PRESET_ORDER_FALLBACK" Info
        "the preset has no prompt order 100001; its order 100000 is used, which SillyTavern would ignore"
        "save the preset again with a current SillyTavern";
    PresetReplaceNotApplied "PRESET_REPLACE_NOT_APPLIED" Info
        "the preset wants to replace sections that callers added; JOURNAL never takes away what was sent"
        "use IN_CHAT or CONTRACT where replacing matters";

    // --- the order ---
    PromptUnknown "PROMPT_UNKNOWN" Info
        "the order names a prompt that the preset does not have"
        "remove it from the order";
    PromptDuplicated "PROMPT_DUPLICATED" Info
        "the order names a prompt twice; its first place counts"
        "remove the second one";
    PromptNotTriggered "PROMPT_NOT_TRIGGERED" Info
        "the prompt does not take part in a generation of this type"
        "change its triggers";
    PromptNotSent "PROMPT_NOT_SENT" Warning
        "SillyTavern does not send a relative custom prompt unless it says `system_prompt: false`"
        "set `system_prompt` to false, or give the prompt a depth";
    PromptDepthInvalid "PROMPT_DEPTH_INVALID" Warning
        "an in-chat prompt has no number as its depth; see `sent` for what became of it"
        "give it a depth";
    MarkerDisabled "MARKER_DISABLED" Info
        "the place of this text is switched off in the preset's order, so the text is not sent"
        "switch the marker on";
    MarkerUnknown "MARKER_UNKNOWN" Info
        "a marker that no text belongs to; it gives nothing"
        "remove it, or give it a text of its own";
    MarkerAbsentFallback "MARKER_ABSENT_FALLBACK" Info
        "the preset has no place for this text; it stands behind the preset's prompts"
        "add the marker to the preset's order";
    FieldAlreadyUsed "FIELD_ALREADY_USED" Info
        "a text is sent once; this further place for it stays empty"
        "remove one of the places";
    ChatHistoryNotPlaced "CHAT_HISTORY_NOT_PLACED" Warning
        "the preset's order has no chat history, so neither it nor what lies in it is sent"
        "switch the chatHistory marker on";
    UserDescriptionNotPlaced "USER_DESCRIPTION_NOT_PLACED" Warning
        "the preset's order has no personaDescription; the text comes at the very end, as in SillyTavern"
        "add the marker to the preset's order";
    CharacterFieldNotPlaced "CHARACTER_FIELD_NOT_PLACED" Warning
        "the preset's order has no place for this field; it comes at the very end, as in SillyTavern"
        "add the marker to the preset's order";
    WorldInfoNotPlaced "WORLD_INFO_NOT_PLACED" Warning
        "the preset's order has no place for this lore; see `sent` for whether it comes at the very end"
        "add the marker to the preset's order";
    DialogueExamplesNotPlaced "DIALOGUE_EXAMPLES_NOT_PLACED" Warning
        "the preset's order has no dialogueExamples, so the examples are not sent"
        "switch the dialogueExamples marker on";
    AuthorNoteNotPlaced "AUTHOR_NOTE_NOT_PLACED" Warning
        "the author's note stands next to the main prompt, and the preset's order has none"
        "put the note in the chat, or main into the order";
    DialogueExampleSpeakerUnknown "DIALOGUE_EXAMPLE_SPEAKER_UNKNOWN" Warning
        "a dialogue example without a line of the user or the character is not sent"
        "begin its lines with `{{user}}:` or `{{char}}:`";

    // --- the card ---
    CharacterSystemOverrideForbidden "CHARACTER_SYSTEM_OVERRIDE_FORBIDDEN" Info
        "the preset forbids that a card replaces its main prompt; the card's text is not sent"
        "allow overrides in the preset's main prompt";
    CharacterPostHistoryOverrideForbidden "CHARACTER_POST_HISTORY_OVERRIDE_FORBIDDEN" Info
        "the preset forbids that a card replaces its post-history prompt; the card's text is not sent"
        "allow overrides in the preset's jailbreak prompt";
    CharacterSystemSuppressed "CHARACTER_SYSTEM_SUPPRESSED" Info
        "the selection switches the card's system prompt off"
        "switch it on in the selection";
    CharacterPostHistorySuppressed "CHARACTER_POST_HISTORY_SUPPRESSED" Info
        "the selection switches the card's post-history instructions off"
        "switch them on in the selection";
    CharacterSystemNotPlaced "CHARACTER_SYSTEM_NOT_PLACED" Warning
        "the card's system prompt replaces main, which is not in the order or switched off; it is lost"
        "switch main on";
    CharacterPostHistoryNotPlaced "CHARACTER_POST_HISTORY_NOT_PLACED" Warning
        "the card's post-history instructions replace jailbreak, which is not in the order or switched off"
        "switch jailbreak on";
    GreetingOutOfRange "GREETING_OUT_OF_RANGE" Warning
        "the card has no greeting of this number"
        "choose another greeting";
    CreatorNotesNotSent "CREATOR_NOTES_NOT_SENT" Info
        "the creator's notes are for people and never sent; the macro gives nothing"
        "remove the macro";

    // --- approximations of CONTRACT ---
    PromptPositionApproximated "PROMPT_POSITION_APPROXIMATED" Info
        "the prompt wants a place in or behind the history; in CONTRACT it stands in the profile"
        "use IN_CHAT for exact places";
    PromptRoleApproximated "PROMPT_ROLE_APPROXIMATED" Info
        "the prompt wants to speak as user or assistant; in CONTRACT that is a label"
        "use IN_CHAT for real roles";
    CharacterPostHistoryPositionApproximated "CHARACTER_POST_HISTORY_POSITION_APPROXIMATED" Info
        "post-history instructions stand in the profile, not behind the history"
        "use IN_CHAT for exact places";
    CharacterDepthPromptPositionApproximated "CHARACTER_DEPTH_PROMPT_POSITION_APPROXIMATED" Info
        "the card's depth prompt stands in the profile, not inside the history"
        "use IN_CHAT for exact places";
    DialogueExamplesPositionApproximated "DIALOGUE_EXAMPLES_POSITION_APPROXIMATED" Info
        "dialogue examples are one labelled text, not messages"
        "use IN_CHAT for example messages";
    AuthorNotePositionApproximated "AUTHOR_NOTE_POSITION_APPROXIMATED" Info
        "the author's note stands in the profile, not inside the history"
        "use IN_CHAT for exact places";
    WorldBookPositionApproximated "WORLD_BOOK_POSITION_APPROXIMATED" Info
        "the entry's position is not one of before and after the character; the nearest one is used"
        "use IN_CHAT for exact places";

    // --- lore ---
    WorldInfoFormatWithoutPlace "WORLD_INFO_FORMAT_WITHOUT_PLACE" Warning
        "the preset's wi_format has no {0}; see `lore` for whether the lore is kept or lost"
        "put {0} into wi_format";
    WorldBookOutletSkipped "WORLD_BOOK_OUTLET_SKIPPED" Info
        "the entry waits at an outlet that no prompt reads"
        "write {{outlet::name}} into a prompt";
    WorldBookPositionUnknown "WORLD_BOOK_POSITION_UNKNOWN" Warning
        "the entry's position is a number that nobody defined; its text goes nowhere"
        "choose a position";
    WorldBookEntryEmpty "WORLD_BOOK_ENTRY_EMPTY" Info
        "the entry fired and has no text"
        "give it a text, or switch it off";
    AuthorNoteAbsent "AUTHOR_NOTE_ABSENT" Info
        "lore belongs around an author's note that is empty or not due; it is sent in the note's place"
        "write a note, or move the entry";
    AuthorNoteNotDue "AUTHOR_NOTE_NOT_DUE" Info
        "the author's note waits for its interval"
        "set the interval to 1";
    TavernProfileLoreLimited "TAVERN_PROFILE_LORE_LIMITED" Warning
        "not all lore fits the profile's budget; the highest ranked entries are kept whole"
        "raise the budget, or let fewer entries fire";

    // --- macros ---
    MacroProblem "MACRO_PROBLEM" Warning
        "a macro did not do what it looks like; `reason` says what"
        "correct the macro";
    MacroUnknown "MACRO_UNKNOWN" Info
        "no macro has this name; it stays as written"
        "correct the name";
    MacroOriginalUnavailable "MACRO_ORIGINAL_UNAVAILABLE" Info
        "{{original}} has a meaning only in a card's override; it stays as written"
        "remove it";
    VolatileMacroFrozen "VOLATILE_MACRO_FROZEN" Info
        "time, chance or last messages keep the value they had when this section landed"
        "use IN_CHAT where they must move";

    // --- call config ---
    AssistantPrefillNotSent "ASSISTANT_PREFILL_NOT_SENT" Info
        "the preset's prefill is kept and exported, and not sent"
        "ask for the wanted beginning in a prompt";
    StopLimited "STOP_LIMITED" Warning
        "more stop sequences than a request may have; the first ones are sent"
        "remove some";
}

// === impl Diagnostic ===

impl Diagnostic {
    pub fn new(code: Code, place: impl Into<String>) -> Self {
        Self { code, place: place.into(), details: BTreeMap::new() }
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.details.insert(name.to_owned(), value.to_string());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_name_of_its_own_a_meaning_and_a_remedy() {
        let mut names = std::collections::BTreeSet::new();
        for code in Code::ALL {
            assert!(names.insert(code.name()), "{} twice", code.name());
            assert!(code.name().bytes().all(|b| b.is_ascii_uppercase() || b == b'_'));
            assert!(!code.meaning().is_empty() && !code.meaning().ends_with('.'));
            assert!(!code.remedy().is_empty() && !code.remedy().ends_with('.'));
        }
    }

    #[test]
    fn a_code_is_stored_under_its_stable_name() {
        let json = serde_json::to_string(&Code::TavernProfileLoreLimited).unwrap();
        assert_eq!(json, "\"TAVERN_PROFILE_LORE_LIMITED\"");
    }
}
