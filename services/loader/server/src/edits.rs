//! Presets, characters and users are edited; sessions that run see it with their next turn.

use host::caller::Caller;
use kernel::{
    CharacterId, PresetId, UserId,
    limits::{DOCUMENT_BYTES_MAX, EDIT_RACES_MAX},
};
use loader_core::{
    Character, User,
    format::{
        Code, Finding, FormatError, Report,
        card::{self, Edit},
        preset, read_json,
    },
};
use serde_json::Value;

use crate::{
    Loader,
    characters::{BOOK_ATTEMPTS, collected_again, spec_of, unless_collected},
    error::Error,
    presets::shown,
    store::{Attempt, CharacterRow, Done, Edited, Kind, PresetRow, UserRow, WriteError},
};

/// What every edit says besides what it changes.
#[derive(Debug, Clone)]
pub struct Terms {
    pub expected_revision: Option<u64>,
    /// Refuse while a session is running with the resource.
    pub reject_running: bool,
    pub attempt: Option<Attempt>,
}

/// What changes of a preset.
#[derive(Debug, Clone, Default)]
pub struct PresetEdit {
    pub name: Option<String>,
    pub document: Option<String>,
}

/// What changes of a user.
#[derive(Debug, Clone, Default)]
pub struct UserEdit {
    pub name: Option<String>,
    pub description: Option<String>,
}

/// What becomes of a card's book.
#[derive(Debug, Clone)]
pub struct BookEdit {
    /// JSON; `None` takes the book out.
    pub book: Option<Vec<u8>>,
    pub validate_only: bool,
}

/// A card's document as edited, and what was found in it.
struct Card {
    document: Vec<u8>,
    character: Character,
    report: Report,
}

// === impl Terms ===

impl Terms {
    /// Whether an edit that lost a race is made again, on what another one has left: one that expects no revision.
    fn again(&self, error: &Error, races: &mut u32) -> bool {
        let lost = matches!(error, Error::Write(WriteError::EtagMismatch { .. }));
        *races += 1;
        lost && self.expected_revision.is_none() && *races < EDIT_RACES_MAX
    }
}

// === impl Loader ===

impl Loader {
    pub async fn update_preset(
        &self,
        caller: &Caller,
        id: &PresetId,
        edit: PresetEdit,
        terms: Terms,
    ) -> Result<(Done<Edited<PresetRow>>, Option<Report>), Error> {
        let (mut report, mut document) = (None, None);
        if let Some(given) = edit.document {
            let bytes = given.into_bytes();
            let read = tokio::task::spawn_blocking(move || (preset::read(&bytes), bytes));
            let (read, bytes) = read.await?;
            report = Some(read?.report);
            document = Some((kernel::digest(&bytes), bytes));
        }
        let (owner, mut races) = (&caller.principal.owner, 0);
        loop {
            let mut row = self.preset(caller, id).await?;
            self.check_etag(&terms, Kind::Preset, id.as_str(), row.revision).await?;
            if let Some((hash, bytes)) = &document {
                (row.hash, row.document) = (*hash, bytes.clone());
            }
            if let Some(name) = &edit.name {
                row.name = shown(name);
            }
            let attempt = terms.attempt.as_ref();
            let edited = self.store.edit_preset(owner, &row, terms.reject_running, attempt).await;
            match edited.map_err(Error::from) {
                Err(error) if terms.again(&error, &mut races) => {}
                ended => return Ok((ended?, report)),
            }
        }
    }

    pub async fn update_character(
        &self,
        caller: &Caller,
        id: &CharacterId,
        edits: Vec<Edit>,
        terms: Terms,
    ) -> Result<Done<Edited<CharacterRow>>, Error> {
        let (owner, mut races) = (&caller.principal.owner, 0);
        loop {
            let (row, _) = self.character(caller, id).await?;
            self.check_etag(&terms, Kind::Character, id.as_str(), row.revision).await?;
            let card = edited(&row, edits.clone()).await?;
            let world = row.embedded_world.clone();
            let row = CharacterRow { embedded_world: world, ..of_card(row, card) };
            let attempt = terms.attempt.as_ref();
            let edit = self.store.edit_character(owner, &row, terms.reject_running, attempt);
            match edit.await.map_err(Error::from) {
                Err(error) if terms.again(&error, &mut races) => {}
                ended => return ended,
            }
        }
    }

    /// The running copy is registered first: a card never points at a world that is not there.
    pub async fn update_character_book(
        &self,
        caller: &Caller,
        id: &CharacterId,
        edit: BookEdit,
        terms: Terms,
    ) -> Result<(Option<Done<Edited<CharacterRow>>>, Report), Error> {
        let (row, _) = self.character(caller, id).await?;
        self.check_etag(&terms, Kind::Character, id.as_str(), row.revision).await?;
        let mut found = Report::default();
        let book = match edit.book {
            Some(bytes) => Some(read_book(&bytes, &mut found)?),
            None => None,
        };
        let mut card = edited(&row, vec![Edit::Book(book)]).await?;
        card.report.extend(found);
        refuse_unusable(&card.report)?;
        if edit.validate_only {
            return Ok((None, card.report));
        }
        self.put_book(caller, row, card, terms).await
    }

    async fn put_book(
        &self,
        caller: &Caller,
        row: CharacterRow,
        card: Card,
        terms: Terms,
    ) -> Result<(Option<Done<Edited<CharacterRow>>>, Report), Error> {
        let Terms { reject_running, attempt, .. } = terms;
        let (owner, character) = (&caller.principal.owner, card.character.clone());
        let (before, mut row) = (card.report.clone(), of_card(row, card));
        for _ in 0..BOOK_ATTEMPTS {
            let mut report = before.clone();
            row.embedded_world = self.register_book(caller, &character, &mut report).await?;
            refuse_unusable(&report)?;
            let edited = self.store.edit_character(owner, &row, reject_running, attempt.as_ref());
            if let Some(done) = unless_collected(edited.await)? {
                self.released.notify_one();
                return Ok((Some(done), report));
            }
        }
        Err(collected_again())
    }

    pub async fn update_user(
        &self,
        caller: &Caller,
        id: &UserId,
        edit: UserEdit,
        terms: Terms,
    ) -> Result<Done<Edited<UserRow>>, Error> {
        let (owner, mut races) = (&caller.principal.owner, 0);
        let UserEdit { name, description } = &edit;
        loop {
            let row = self.user(caller, id).await?;
            self.check_etag(&terms, Kind::User, id.as_str(), row.revision).await?;
            let name = name.as_deref().unwrap_or(row.user.name()).to_owned();
            let description = description.as_deref().unwrap_or(row.user.description()).to_owned();
            let row = UserRow { user: User::new(name, description)?, ..row };
            let attempt = terms.attempt.as_ref();
            let edited = self.store.edit_user(owner, &row, terms.reject_running, attempt).await;
            match edited.map_err(Error::from) {
                Err(error) if terms.again(&error, &mut races) => {}
                ended => return ended,
            }
        }
    }

    /// A replay compares nothing again.
    async fn check_etag(
        &self,
        terms: &Terms,
        kind: Kind,
        id: &str,
        present: u64,
    ) -> Result<(), Error> {
        match terms.expected_revision {
            Some(expected)
                if expected != present && !self.answered(terms.attempt.as_ref()).await? =>
            {
                Err(WriteError::EtagMismatch { kind: kind.name(), id: id.to_owned() }.into())
            }
            _ => Ok(()),
        }
    }
}

/// The edited document, read as an import would read it.
async fn edited(row: &CharacterRow, edits: Vec<Edit>) -> Result<Card, Error> {
    let (document, name) = (row.document.clone(), format!("{}.json", row.name));
    let edit = move || -> Result<Card, FormatError> {
        let document = card::edit(&document, edits)?;
        if document.len() > DOCUMENT_BYTES_MAX {
            let what = format!("a card of {} bytes", document.len());
            return Err(FormatError::limit("document", what, DOCUMENT_BYTES_MAX));
        }
        let mut report = Report::default();
        let value = read_json(&document, &mut report)?;
        let character = card::read_document(value, Some(&name), &mut report)?;
        Ok(Card { document, character, report })
    };
    Ok(tokio::task::spawn_blocking(edit).await??)
}

fn of_card(row: CharacterRow, card: Card) -> CharacterRow {
    CharacterRow {
        name: shown(&card.character.name),
        hash: kernel::digest(&card.document),
        spec: spec_of(&card.report, &card.character),
        document: card.document,
        ..row
    }
}

fn read_book(bytes: &[u8], report: &mut Report) -> Result<Value, FormatError> {
    match read_json(bytes, report)? {
        book @ Value::Object(_) => Ok(book),
        _ => Err(FormatError::unusable("book", "is no JSON object")),
    }
}

/// An import keeps a book that cannot run; an edit does not make one.
fn refuse_unusable(report: &Report) -> Result<(), FormatError> {
    let unusable = |finding: &&Finding| finding.code == Code::EmbeddedWorldBookInvalid;
    match report.findings.iter().find(unusable) {
        Some(finding) => Err(FormatError::unusable(&finding.path, finding.message.clone())),
        None => Ok(()),
    }
}
