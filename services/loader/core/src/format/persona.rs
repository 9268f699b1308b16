//! Users from files: the strict form of one user, and SillyTavern's export of all personas.

use kernel::limits;
use serde_json::{Map, Value, json};

use super::{
    error::FormatError,
    fields::{Fields, kind},
    guard::read_json,
    report::{Code, Report},
    stem,
};
use crate::user::{InvalidUser, User};

/// Users read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedUsers {
    pub users: Vec<ImportedUser>,
    pub report: Report,
}

/// One user, and the id or avatar that the file knows it by.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedUser {
    pub key: Option<String>,
    pub user: User,
    pub is_default: bool,
}

/// Reads `{id?, name, description}`, anything else refused, or an export of personas (reference B4).
pub fn read(bytes: &[u8]) -> Result<ImportedUsers, FormatError> {
    let mut report = Report::default();
    let Value::Object(root) = read_json(bytes, &mut report)? else {
        return Err(FormatError::unusable("root", "a user is a JSON object"));
    };
    let root = Fields::new(root, "");
    let export = root.has_any(&["personas", "persona_descriptions"]);
    report.format = if export { "personas" } else { "user" }.to_owned();
    let users = if export { read_export(root, &mut report)? } else { vec![read_strict(root)?] };
    report.count("users", users.len());
    Ok(ImportedUsers { users, report })
}

/// The strict form of one user.
pub fn write_one(id: &str, user: &User) -> Vec<u8> {
    let (name, description) = (user.name(), user.description());
    json!({ "id": id, "name": name, "description": description }).to_string().into_bytes()
}

/// An export of personas, each under a picture's name as SillyTavern wants it.
pub fn write_all<'a>(
    users: impl IntoIterator<Item = (&'a str, &'a User)>,
    default: Option<&str>,
) -> Vec<u8> {
    let avatar = |id: &str| format!("{id}.png");
    let (mut names, mut descriptions) = (Map::new(), Map::new());
    for (id, user) in users {
        names.insert(avatar(id), user.name().into());
        let description = json!({ "description": user.description(), "position": 0 });
        descriptions.insert(avatar(id), description);
    }
    let default = default.map(avatar);
    json!({ "personas": names, "default_persona": default, "persona_descriptions": descriptions })
        .to_string()
        .into_bytes()
}

/// The form of our own export; an unknown field or another type is refused (seed 001).
fn read_strict(mut root: Fields) -> Result<ImportedUser, FormatError> {
    let mut text = |key: &str| match root.take(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(value) => Err(FormatError::unusable(key, format!("is {}, not a text", kind(&value)))),
    };
    let (key, name, description) = (text("id")?, text("name")?, text("description")?);
    if let Some((unknown, _)) = root.left_over().next() {
        let unknown: String = unknown.chars().take(100).collect();
        let reason = "is no field of a user, which has id, name and description";
        return Err(FormatError::unusable(unknown, reason));
    }
    let name = name.ok_or_else(|| FormatError::unusable("name", "is missing"))?;
    let user = User::new(name, description.unwrap_or_default()).map_err(refused)?;
    Ok(ImportedUser { key, user, is_default: false })
}

fn refused(error: InvalidUser) -> FormatError {
    let characters = |count: usize| format!("{count} characters");
    match error {
        InvalidUser::NameEmpty => FormatError::unusable("name", "is empty"),
        InvalidUser::NameControl => FormatError::unusable("name", "holds a control character"),
        InvalidUser::NameTooLong(count) => {
            FormatError::limit("name", characters(count), limits::USER_NAME_CHARS_MAX)
        }
        InvalidUser::DescriptionTooLong(count) => {
            FormatError::limit("description", characters(count), limits::USER_DESCRIPTION_CHARS_MAX)
        }
    }
}

fn read_export(mut root: Fields, report: &mut Report) -> Result<Vec<ImportedUser>, FormatError> {
    let mut names =
        root.object("personas", report).unwrap_or_else(|| Fields::new(<_>::default(), "personas"));
    let mut descriptions = root
        .object("persona_descriptions", report)
        .unwrap_or_else(|| Fields::new(<_>::default(), "persona_descriptions"));
    let default = root.text("default_persona", report);
    root.report_unknown(report);
    let mut avatars: Vec<String> = names.left_over().map(|(key, _)| key.to_owned()).collect();
    let more: Vec<String> = descriptions.left_over().map(|(key, _)| key.to_owned()).collect();
    avatars.extend(more.into_iter().filter(|avatar| !names.has(avatar)));
    report.add(Code::FormatRecognised, "", format!("an export of {} personas", avatars.len()));
    let mut users = Vec::with_capacity(avatars.len());
    for avatar in avatars {
        let name = names.text(&avatar, report).filter(|name| !name.trim().is_empty());
        let description = description(&mut descriptions, &avatar, report);
        let name = name.or_else(|| stem(&avatar).map(str::to_owned)).unwrap_or_default();
        match User::new(name, description) {
            Ok(user) => {
                let is_default = default.as_ref() == Some(&avatar);
                users.push(ImportedUser { key: Some(avatar), user, is_default });
            }
            Err(error) => report.add(Code::PersonaUnusable, names.path(&avatar), error.to_string()),
        }
    }
    if users.is_empty() {
        return Err(FormatError::unusable("personas", "holds no usable persona"));
    }
    Ok(users)
}

/// A persona's text; older files have the text alone.
fn description(descriptions: &mut Fields, avatar: &str, report: &mut Report) -> String {
    if descriptions.str(avatar).is_some() {
        return descriptions.text(avatar, report).unwrap_or_default();
    }
    let Some(mut fields) = descriptions.object(avatar, report) else { return String::new() };
    let text = fields.text("description", report).unwrap_or_default();
    let position = fields.integer("position", report).unwrap_or(0);
    if !matches!(position, 0 | 1) {
        let message =
            format!("places the text at {position}: it goes where the preset has the persona");
        report.add(Code::PersonaPlacementNotHonoured, fields.path("position"), message);
    }
    if fields.text("lorebook", report).is_some_and(|book| !book.is_empty()) {
        let message = "names a book: bind the world to the user";
        report.add(Code::PersonaPlacementNotHonoured, fields.path("lorebook"), message);
    }
    if fields.list("connections", report).is_some_and(|connections| !connections.is_empty()) {
        let message = "ties the persona to characters or chats: select the user in the session";
        report.add(Code::PersonaPlacementNotHonoured, fields.path("connections"), message);
    }
    fields.drop_all(&["depth", "role", "title"]);
    fields.report_unknown(report);
    text
}
