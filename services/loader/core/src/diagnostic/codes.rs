//! Every code that an import or a compile can say: its stable name, what happened, what to do about it.
//!
//! `docs/profile-diagnostics.md` is this table, written down.

use serde::{Deserialize, Serialize};

use super::{Fate, Severity};

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $severity:ident $($fate:ident)? $meaning:literal $remedy:literal;)*) => {
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

            /// What an import that reports it did; none: it is said of compiles alone.
            pub const fn fate(self) -> Option<Fate> {
                match self { $(Self::$variant => codes!(@fate $($fate)?),)* }
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
    (@fate) => { None };
    (@fate $fate:ident) => { Some(Fate::$fate) };
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
    EmbeddedWorldBookInvalid "EMBEDDED_WORLD_BOOK_INVALID" Error NotHonoured
        "the card's embedded book cannot run; it is kept and exported as it is"
        "repair the book named in the import report";
    PresetDefaultUsed "PRESET_DEFAULT_USED" Info
        "no preset is selected; SillyTavern's shipped prompts and order are used"
        "select a preset";
    PresetOrderFallback "PRESET_ORDER_FALLBACK" Info Repaired
        "the preset has no prompt order 100001; its order 100000 is used, which SillyTavern would ignore"
        "save the preset again with a current SillyTavern";
    PresetReplaceNotApplied "PRESET_REPLACE_NOT_APPLIED" Info
        "the preset wants to replace sections that callers added; JOURNAL never takes away what was sent"
        "use IN_CHAT or CONTRACT where replacing matters";

    // --- the order ---
    PromptUnknown "PROMPT_UNKNOWN" Info Ignored
        "the order names a prompt that the preset does not have"
        "remove it from the order";
    PromptDuplicated "PROMPT_DUPLICATED" Info Ignored
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
    FieldMacroEmpty "FIELD_MACRO_EMPTY" Warning
        "a field of the card or the persona names another one in a macro; inside a field that gives nothing"
        "say it in the field itself, or put both into a prompt of the preset";
    CreatorNotesNotSent "CREATOR_NOTES_NOT_SENT" Info NotHonoured
        "the creator's notes are kept, for people, and never sent; the macro gives nothing"
        "say what the model must know in a field that is sent";

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
    ChoicesNotSent "CHOICES_NOT_SENT" Info
        "the preset's `n` is kept and exported, and not sent: a turn asks for one reply"
        "take another turn for another reply";
    StopLimited "STOP_LIMITED" Warning
        "more stop sequences than a request may have; the first ones are sent"
        "remove some";

    // --- recognised at import ---
    FormatRecognised "FORMAT_RECOGNISED" Info Recognised
        "what the file is, and of which version"
        "nothing";
    EmbeddedWorldBook "EMBEDDED_WORLD_BOOK" Info Recognised
        "the card holds a book that can run"
        "nothing";

    // --- repaired at import ---
    EmbeddedWorldBookFinding "EMBEDDED_WORLD_BOOK_FINDING" Info Repaired
        "what the lorebook says of the card's book; the message begins with its code"
        "look the code up with the lorebook's own findings";
    EncodingRepaired "ENCODING_REPAIRED" Info Repaired
        "the text was not UTF-8, or began with a byte order mark"
        "save the file as UTF-8";
    LoneSurrogate "LONE_SURROGATE" Info Repaired
        "half of a surrogate pair stood alone in a string; it became a replacement character"
        "write the character again";
    RepeatedKey "REPEATED_KEY" Info Repaired
        "an object names a key twice; the last one counts"
        "remove the other one";
    Base64Repaired "BASE64_REPAIRED" Info Repaired
        "the card's base64 text is unpadded, url-safe or holds other characters"
        "export the card again";
    PlainChunk "PLAIN_CARD_CHUNK" Info Repaired
        "the picture's chunk holds the card's JSON itself instead of its base64"
        "export the card again";
    CardChunkUnreadable "CARD_CHUNK_UNREADABLE" Info Repaired
        "a card chunk of the picture cannot be read; another one was"
        "export the card again, if the other one is older";
    ArchivePrefix "ARCHIVE_PREFIX" Info Repaired
        "bytes stand before the archive, as in a picture with a card behind it"
        "nothing";
    ValueCoerced "VALUE_COERCED" Info Repaired
        "the value has another type than the format says, and a clear meaning"
        "write it as the format says";
    NameFromFile "NAME_FROM_FILE" Info Repaired
        "the card has no name; it is called after its file"
        "give it a name";
    NameCleaned "NAME_CLEANED" Info Repaired
        "the name has control characters, which are shown as U+FFFD"
        "take them out";
    SpecUnknown "SPEC_UNKNOWN" Info Repaired
        "the card does not say which specification it follows, or one that is not known"
        "set `spec`";
    FieldAtRoot "FIELD_AT_ROOT" Info Repaired
        "a field stands at the root instead of under `data`"
        "move it under `data`";
    OldKey "OLD_KEY" Info Repaired
        "a key of an older or foreign form was read"
        "save the file again with a current program";
    PromptIdentifierMade "PROMPT_IDENTIFIER_MADE" Info Repaired
        "a prompt has no identifier; one was made from its place"
        "give it an identifier";

    // --- kept and never read ---
    TrailingBytes "TRAILING_BYTES" Warning Ignored
        "bytes behind the end of the picture are kept and not read"
        "nothing";
    FurtherCardChunk "FURTHER_CARD_CHUNK" Warning Ignored
        "a further card chunk stands beside the one that was read"
        "remove it, or export the card again";
    ValueUnusable "VALUE_UNUSABLE" Warning Ignored
        "the value has a type or a size without a clear meaning; the default is taken"
        "write it as the format says";
    RootCopyDiffers "ROOT_COPY_DIFFERS" Warning Ignored
        "a field at the root says something else than its namesake under `data`, which counts"
        "make them equal";
    UnknownField "UNKNOWN_FIELD" Warning Ignored
        "no known field; it is kept and exported"
        "nothing, or correct its name";
    PromptNotInOrder "PROMPT_NOT_IN_ORDER" Warning Ignored
        "prompts stand in no order and are never sent"
        "add them to the order";
    PromptRepeated "PROMPT_REPEATED" Warning Ignored
        "a second prompt of one identifier; the first one counts"
        "give it an identifier of its own";
    OrderEntryUnusable "ORDER_ENTRY_UNUSABLE" Warning Ignored
        "a line of the order names no prompt"
        "remove it";
    PersonaUnusable "PERSONA_UNUSABLE" Warning Ignored
        "a persona has neither a usable name nor a description"
        "give it a name";

    // --- kept and without effect ---
    ConnectionNotHonoured "CONNECTION_NOT_HONOURED" Warning NotHonoured
        "addresses, keys and headers of a model connection are kept and never used"
        "configure the connection where the service runs";
    SettingNotHonoured "SETTING_NOT_HONOURED" Warning NotHonoured
        "a setting of the client or of a provider is kept and has no effect"
        "nothing";
    ExtensionNotHonoured "EXTENSION_NOT_HONOURED" Warning NotHonoured
        "a script or extension travels with the file and is never run"
        "nothing";
    WorldLinkNotHonoured "WORLD_LINK_NOT_HONOURED" Warning NotHonoured
        "the card points at a book by its name; worlds are bound by id"
        "import the book and bind it";
    AssetsNotHonoured "ASSETS_NOT_HONOURED" Warning NotHonoured
        "pictures and other assets are kept and shown to nobody"
        "nothing";
    PersonaPlacementNotHonoured "PERSONA_PLACEMENT_NOT_HONOURED" Warning NotHonoured
        "the persona's place in the prompt, its book and its connections are not taken over"
        "use the preset's personaDescription, and bind worlds to the user";

    // --- long lists ---
    FindingsOmitted "FINDINGS_OMITTED" Info Ignored
        "a report names only the first findings of a file"
        "correct those, and import again";
    DiagnosticsOmitted "DIAGNOSTICS_OMITTED" Warning
        "a profile names only its first diagnostics"
        "correct those, and look again";
}
