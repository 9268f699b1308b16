//! What the request itself is: model, sizes, kind of generation, outlets.

use std::borrow::Cow;

use crate::environment::Environment;
use crate::expand::Value;
use crate::table::Id;

pub(crate) fn evaluate<'e>(environment: &Environment<'e>, id: Id, arguments: &[&str]) -> Value<'e> {
    let number = |value: u64| Cow::Owned(value.to_string());
    match id {
        Id::Outlet => Cow::Borrowed(outlet(environment, arguments.first().copied())),
        Id::Input => Cow::Borrowed(environment.input),
        Id::Model => Cow::Borrowed(environment.model),
        Id::MaxContext => number(environment.max_context),
        Id::MaxResponse => number(environment.max_response),
        Id::MaxPrompt => number(environment.max_context.saturating_sub(environment.max_response)),
        Id::LastGenerationType => Cow::Borrowed(environment.generation_type),
        // A server is no mobile browser and has no browser extensions.
        _ => Cow::Borrowed("false"),
    }
}

fn outlet<'e>(environment: &Environment<'e>, name: Option<&str>) -> &'e str {
    let found = environment.outlets.iter().find(|(known, _)| Some(known.as_str()) == name);
    found.map_or("", |(_, text)| text.as_str())
}
