//! Names of the participants and fields of the card.

use std::borrow::Cow;

use crate::environment::{Environment, GroupMember};
use crate::expand::{Evaluator, Value};
use crate::expansion::{Code, Field};
use crate::table::Id;
use crate::text::{read_integer, trim};

/// `{{user}}`, `{{char}}` and the group's names. Outside of a group, `group` is the character and
/// `notChar` the user.
pub(crate) fn name<'e>(environment: &Environment<'e>, id: Id) -> Value<'e> {
    let (user, char) = (environment.user, environment.char);
    match (id, environment.group) {
        (Id::User, _) => Cow::Borrowed(user),
        (Id::NotChar, None) => Cow::Borrowed(user),
        (Id::Group, Some(members)) => joined(members, |_| true),
        (Id::GroupNotMuted, Some(members)) => joined(members, |member| !member.muted),
        (Id::NotChar, Some(members)) => joined(members, |member| member.name != char),
        _ => Cow::Borrowed(char),
    }
}

/// A card field or the user's description; only `greeting` takes an argument.
pub(crate) fn field<'e>(
    evaluator: &mut Evaluator<'_, 'e>,
    id: Id,
    arguments: &[&str],
) -> Result<Value<'e>, Code> {
    let card = &evaluator.environment.card;
    let field = id.field().ok_or(Code::MacroUnknown)?;
    let text = match field {
        Field::Description => card.description,
        Field::Personality => card.personality,
        Field::Scenario => card.scenario,
        Field::Persona => evaluator.environment.persona,
        Field::SystemPrompt => card.system_prompt,
        Field::PostHistory => card.post_history,
        Field::DepthPrompt => card.depth_prompt,
        Field::CreatorNotes => card.creator_notes,
        Field::Version => card.version,
        Field::MesExamples => card.mes_examples,
        Field::Greeting => greeting(evaluator, arguments.first().copied())?,
    };
    evaluator.use_field(field);
    Ok(match id {
        Id::MesExamples => Cow::Owned(normalised_examples(text)),
        _ => Cow::Borrowed(text),
    })
}

/// 0 is the first message, n the alternate greeting n − 1; there is nothing at any other number.
fn greeting<'e>(evaluator: &Evaluator<'_, 'e>, index: Option<&str>) -> Result<&'e str, Code> {
    let card = &evaluator.environment.card;
    let index = read_integer(index.unwrap_or("0")).ok_or(Code::MacroArgumentInvalid)?;
    if index == 0 {
        return Ok(card.first_message);
    }
    let place = index.checked_sub(1).and_then(|place| usize::try_from(place).ok());
    Ok(place.and_then(|place| card.alternate_greetings.get(place)).map_or("", String::as_str))
}

/// Each block as `<START>`, its trimmed text and a line break.
fn normalised_examples(raw: &str) -> String {
    const START: &str = "<START>";
    if raw.is_empty() || raw == START {
        return String::new();
    }
    let mut blocks = split_ignoring_case(raw, START);
    if raw.starts_with(START) {
        blocks.remove(0);
    }
    blocks.iter().fold(String::new(), |text, block| text + START + "\n" + trim(block) + "\n")
}

fn split_ignoring_case<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(found) = text.as_bytes().get(at..at + separator.len()) {
        if found.eq_ignore_ascii_case(separator.as_bytes()) {
            parts.push(&text[start..at]);
            at += separator.len();
            start = at;
        } else {
            at += 1;
        }
    }
    parts.push(&text[start..]);
    parts
}

fn joined<'e>(members: &[GroupMember<'e>], keep: impl Fn(&GroupMember<'e>) -> bool) -> Value<'e> {
    let names: Vec<&str> =
        members.iter().filter(|member| keep(member)).map(|member| member.name).collect();
    Cow::Owned(names.join(", "))
}
