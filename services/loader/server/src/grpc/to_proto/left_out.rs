//! Resources larger than an answer: which fields it can do without.

use host::room::{Field, fit};
use kernel::limits::ANSWER_BYTES_MAX;
use wire::loader::v1::{Character, ExplainProfileResponse, Preset, PreviewProfileResponse};

pub fn of_preset(mut preset: Preset) -> Preset {
    const FIELDS: [Field<Preset>; 2] = [
        ("prompts", |preset| &mut preset.prompts),
        ("document_json", |preset| &mut preset.document_json),
    ];
    preset.left_out = fit(&mut preset, ANSWER_BYTES_MAX, &FIELDS);
    preset
}

pub fn of_preview(mut preview: PreviewProfileResponse) -> PreviewProfileResponse {
    const FIELDS: [Field<PreviewProfileResponse>; 4] = [
        ("segments", |preview| &mut preview.segments),
        ("diagnostics", |preview| &mut preview.diagnostics),
        ("audit_json", |preview| &mut preview.audit_json),
        ("call_config_json", |preview| &mut preview.call_config_json),
    ];
    preview.left_out = fit(&mut preview, ANSWER_BYTES_MAX, &FIELDS);
    preview
}

pub fn of_explanation(mut explanation: ExplainProfileResponse) -> ExplainProfileResponse {
    const FIELDS: [Field<ExplainProfileResponse>; 3] = [
        ("segments", |explanation| &mut explanation.segments),
        ("lore", |explanation| &mut explanation.lore),
        ("diagnostics", |explanation| &mut explanation.diagnostics),
    ];
    explanation.left_out = fit(&mut explanation, ANSWER_BYTES_MAX, &FIELDS);
    explanation
}

pub fn of_character(mut character: Character) -> Character {
    const FIELDS: [Field<Character>; 10] = [
        ("description", |card| &mut card.description),
        ("personality", |card| &mut card.personality),
        ("scenario", |card| &mut card.scenario),
        ("message_example", |card| &mut card.message_example),
        ("greetings", |card| &mut card.greetings),
        ("system_prompt", |card| &mut card.system_prompt),
        ("post_history_instructions", |card| &mut card.post_history_instructions),
        ("creator_notes", |card| &mut card.creator_notes),
        ("tags", |card| &mut card.tags),
        ("document_json", |card| &mut card.document_json),
    ];
    character.left_out = fit(&mut character, ANSWER_BYTES_MAX, &FIELDS);
    character
}
