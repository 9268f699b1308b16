//! Edits through the wire: what they name changes, and sessions that run see it with their next turn.

use prost_types::FieldMask;
use wire::{common::v1::Reason, loader::v1 as pb, mesh::v1 as mesh};

use crate::house::{Answered, CARD, House, PRESET, as_user, generation, header, refused};

const BOOK: &str = r#"{"entries":[{"keys":["sea"],"content":"The sea is loud.","enabled":true,"insertion_order":1,"extensions":{}}]}"#;

struct Furnished {
    house: House,
    preset: String,
    character: String,
    user: String,
}

fn mask(paths: &[&str]) -> Option<FieldMask> {
    Some(FieldMask { paths: paths.iter().map(|path| (*path).to_owned()).collect() })
}

// === impl Furnished ===

impl Furnished {
    /// A session `s` of ada's that has selected everything.
    async fn new() -> Self {
        let house = House::new().await;
        let preset = house.import_preset("ada", header("", "p.json"), PRESET.as_bytes()).await;
        let card = house.import_character("ada", header("", "m.json"), CARD.as_bytes()).await;
        let preset = preset.expect("imported").preset.expect("a preset").preset_id;
        let character = card.expect("imported").character.expect("a character").character_id;
        let user = house.create_user("ada", "Bob").await;
        let selection = pb::Selection {
            preset_id: preset.clone(),
            character_id: character.clone(),
            user_id: user.clone(),
            ..Default::default()
        };
        house.session("s", selection).await;
        Self { house, preset, character, user }
    }

    async fn texts(&self, generation_id: &str) -> String {
        let (segments, _) =
            self.house.compile(generation("s", generation_id)).await.expect("compiled");
        segments.into_iter().map(|segment| segment.text).collect::<Vec<_>>().join("\n")
    }

    async fn preset(
        &self,
        paths: &[&str],
        change: impl FnOnce(&mut pb::UpdatePresetRequest, &mut pb::Preset),
    ) -> Answered<pb::UpdatePresetResponse> {
        let mut preset = pb::Preset { preset_id: self.preset.clone(), ..Default::default() };
        let mut request =
            pb::UpdatePresetRequest { update_mask: mask(paths), ..Default::default() };
        change(&mut request, &mut preset);
        request.preset = Some(preset);
        let answer = self.house.presets().update_preset(as_user("ada", request)).await?;
        Ok(answer.into_inner())
    }

    async fn character(
        &self,
        paths: &[&str],
        change: impl FnOnce(&mut pb::UpdateCharacterRequest, &mut pb::Character),
    ) -> Answered<pb::UpdateCharacterResponse> {
        let mut card = pb::Character { character_id: self.character.clone(), ..Default::default() };
        let mut request =
            pb::UpdateCharacterRequest { update_mask: mask(paths), ..Default::default() };
        change(&mut request, &mut card);
        request.character = Some(card);
        let answer = self.house.characters().update_character(as_user("ada", request)).await?;
        Ok(answer.into_inner())
    }

    async fn user(
        &self,
        paths: &[&str],
        change: impl FnOnce(&mut pb::UpdateUserRequest, &mut pb::User),
    ) -> Answered<pb::UpdateUserResponse> {
        let mut user = pb::User { user_id: self.user.clone(), ..Default::default() };
        let mut request = pb::UpdateUserRequest { update_mask: mask(paths), ..Default::default() };
        change(&mut request, &mut user);
        request.user = Some(user);
        let answer = self.house.users().update_user(as_user("ada", request)).await?;
        Ok(answer.into_inner())
    }

    async fn book(
        &self,
        book: &str,
        change: impl FnOnce(&mut pb::BookHeader),
    ) -> Answered<pb::UpdateCharacterBookResponse> {
        use pb::update_character_book_request::Part;
        let mut header =
            pb::BookHeader { character_id: self.character.clone(), ..Default::default() };
        change(&mut header);
        let chunks = book.as_bytes().chunks(16).map(|chunk| Part::Chunk(chunk.to_vec()));
        let parts: Vec<_> = std::iter::once(Part::Header(header))
            .chain(chunks)
            .map(|part| pb::UpdateCharacterBookRequest { part: Some(part) })
            .collect();
        let stream = as_user("ada", futures::stream::iter(parts));
        let answer = self.house.characters().update_character_book(stream).await?;
        Ok(answer.into_inner())
    }
}

#[tokio::test]
async fn an_edited_character_keeps_everything_that_was_not_named() {
    let it = Furnished::new().await;
    let done = it
        .character(&["description", "tags"], |_, card| {
            card.description = "{{char}} fears the sea.".to_owned();
            card.tags = vec!["sad".to_owned()];
        })
        .await
        .expect("edited");
    let card = done.character.clone().expect("a character");
    assert_eq!((done.effective(), card.etag.as_str()), (pb::Effective::Now, "2"));
    assert_eq!((card.system_prompt.as_str(), card.tags.len()), ("Speak as {{char}}.", 1));
    assert!(it.house.lorebook.holds(&card.embedded_world_id), "the book was not touched");
    assert!(it.texts("g").await.contains("Mira fears the sea."));
    let anew = it.house.import_character("ada", header("", "m.json"), CARD.as_bytes()).await;
    let anew = anew.expect("imported");
    assert!(!anew.already_imported, "the edited card is not what was imported");
    assert_ne!(anew.character.expect("a character").character_id, it.character);
}

#[tokio::test]
async fn an_edited_preset_is_checked_as_an_import_is() {
    let it = Furnished::new().await;
    let document = PRESET.replace("You write fiction.", "You write plays.");
    let done = it
        .preset(&["name", "document_json"], |_, preset| {
            preset.name = "Plays".to_owned();
            preset.document_json = document.clone();
        })
        .await
        .expect("edited");
    let preset = done.preset.expect("a preset");
    assert_eq!((preset.name.as_str(), preset.document_json), ("Plays", document));
    assert_eq!(done.report.expect("a report").format, "chat_completion_preset");
    let no_preset = |_: &mut pb::UpdatePresetRequest, preset: &mut pb::Preset| {
        preset.document_json = "{}".to_owned();
    };
    refused(it.preset(&["document_json"], no_preset).await, Reason::FileUnusable);
    refused(it.preset(&["name"], |_, _| {}).await, Reason::FieldInvalid);
    refused(it.preset(&["prompts"], |_, _| {}).await, Reason::FieldInvalid);
}

#[tokio::test]
async fn an_edited_user_stays_within_its_limits() {
    let it = Furnished::new().await;
    let rename = |_: &mut pb::UpdateUserRequest, user: &mut pb::User| user.name = "Rob".to_owned();
    let user = it.user(&["name"], rename).await.expect("edited").user.expect("a user");
    assert_eq!((user.name.as_str(), user.description.as_str()), ("Rob", "tall"));
    let long = |_: &mut pb::UpdateUserRequest, user: &mut pb::User| user.name = "x".repeat(201);
    refused(it.user(&["name"], long).await, Reason::LimitExceeded);
    let stale = |_: &mut pb::UpdateUserRequest, user: &mut pb::User| {
        user.etag = "1".to_owned();
    };
    refused(it.user(&["description"], stale).await, Reason::EtagMismatch);
}

#[tokio::test]
async fn an_edit_is_made_once_for_one_request_id() {
    let it = Furnished::new().await;
    let edit = |request: &mut pb::UpdateUserRequest, user: &mut pb::User| {
        request.request_id = "r1".to_owned();
        (user.name, user.etag) = ("Rob".to_owned(), "1".to_owned());
    };
    let first = it.user(&["name"], edit).await.expect("edited");
    let again = it.user(&["name"], edit).await.expect("replayed");
    assert_eq!(first, again);
    assert_eq!(again.user.expect("a user").etag, "2");
}

#[tokio::test]
async fn path_body_edit_is_saved_for_the_next_turn_or_refused_where_asked() {
    let it = Furnished::new().await;
    let before = it.texts("g").await;
    let reject = pb::IfRunning::Reject.into();
    let text = |user: &mut pb::User| user.description = "short".to_owned();
    let user = |request: &mut pb::UpdateUserRequest, user: &mut pb::User| {
        request.if_running = reject;
        text(user);
    };
    refused(it.user(&["description"], user).await, Reason::UserAgentRunning);
    let card = |request: &mut pb::UpdateCharacterRequest, _: &mut pb::Character| {
        request.if_running = reject;
    };
    refused(it.character(&["scenario"], card).await, Reason::CharacterAgentRunning);
    let preset = |request: &mut pb::UpdatePresetRequest, preset: &mut pb::Preset| {
        request.if_running = reject;
        preset.name = "P".to_owned();
    };
    refused(it.preset(&["name"], preset).await, Reason::PresetAgentRunning);
    let book = it.book(BOOK, |header| header.if_running = reject).await;
    refused(book, Reason::CharacterAgentRunning);

    let saved = it.user(&["description"], |_, user| text(user)).await.expect("saved");
    assert_eq!(saved.effective(), pb::Effective::NextTurn);
    assert_eq!(saved.running_session_ids, ["s"]);
    let saved = it.character(&["scenario"], |_, card| card.scenario = "A storm.".to_owned()).await;
    assert_eq!(saved.expect("saved").running_session_ids, ["s"]);
    let saved = it.preset(&["name"], |_, preset| preset.name = "P".to_owned()).await;
    assert_eq!(saved.expect("saved").running_session_ids, ["s"]);
    let saved = it.book(BOOK, |_| {}).await.expect("saved");
    assert_eq!(saved.running_session_ids, ["s"]);
    let next = it.texts("next").await;
    assert!(!before.contains("A storm.") && next.contains("A storm.") && next.contains("short"));
}

#[tokio::test]
async fn a_book_is_replaced_taken_out_and_given_from_none() {
    let it = Furnished::new().await;
    let first = it.house.character(&it.character).await.embedded_world_id;
    let done = it.book(BOOK, |_| {}).await.expect("replaced").character.expect("a character");
    assert_ne!(done.embedded_world_id, first);
    assert!(done.document_json.contains("The sea is loud."));
    let again = it.book(BOOK, |_| {}).await.expect("replaced").character.expect("a character");
    assert_eq!(again.embedded_world_id, done.embedded_world_id, "the same bytes, the same world");
    let none = it.book("", |header| header.remove = true).await.expect("taken out");
    let none = none.character.expect("a character");
    assert_eq!(none.embedded_world_id, "");
    assert!(!none.document_json.contains("character_book"));
    let given = it.book(BOOK, |_| {}).await.expect("given").character.expect("a character");
    assert!(it.house.lorebook.holds(&given.embedded_world_id));
    let (_, summary) = it.house.compile(generation("s", "g")).await.expect("compiled");
    assert_eq!(summary.worlds[0].world_id, given.embedded_world_id);
}

#[tokio::test]
async fn a_book_that_cannot_run_is_no_edit_and_validating_stores_nothing() {
    let it = Furnished::new().await;
    for book in ["{", "[]", r#"{"entries":5}"#] {
        refused(it.book(book, |_| {}).await, Reason::FileUnusable);
    }
    let only = it.book(BOOK, |header| header.validate_only = true).await.expect("validated");
    assert!(only.character.is_none() && only.report.is_some());
    let both = it.book(BOOK, |header| header.remove = true).await;
    refused(both, Reason::FieldInvalid);
    let stale = it.book(BOOK, |header| header.etag = "9".to_owned()).await;
    refused(stale, Reason::EtagMismatch);
    assert_eq!(it.house.character(&it.character).await.etag, "1");
    assert_eq!(it.house.lorebook.books.lock().expect("not poisoned").len(), 1);
}

#[tokio::test]
async fn an_edited_card_leaves_in_the_picture_that_it_came_in() {
    const PNG: &[u8] =
        include_bytes!("../../../core/tests/fixtures/card_png_ccv3_over_chara_min.png");
    let house = House::new().await;
    let card = house.import_character("ada", header("", "a.png"), PNG).await;
    let character_id = card.expect("imported").character.expect("a character").character_id;
    let request = pb::UpdateCharacterRequest {
        character: Some(pb::Character {
            character_id: character_id.clone(),
            scenario: "A storm.".to_owned(),
            ..Default::default()
        }),
        update_mask: mask(&["scenario"]),
        ..Default::default()
    };
    house.characters().update_character(as_user("ada", request)).await.expect("edited");
    let export = pb::ExportCharacterRequest { character_id, ..Default::default() };
    let answer = house.characters().export_character(as_user("ada", export)).await;
    let (mut parts, mut file) = (answer.expect("exported").into_inner(), Vec::new());
    while let Some(part) = parts.message().await.expect("a part") {
        file.extend(part.chunk);
    }
    assert!(file.starts_with(b"\x89PNG"));
    let again = house.import_character("bob", header("", "b.png"), &file).await.expect("imported");
    let get = pb::GetCharacterRequest {
        character_id: again.character.expect("a character").character_id,
    };
    let read = house.characters().get_character(as_user("bob", get)).await.expect("read");
    assert_eq!(read.into_inner().character.expect("a character").scenario, "A storm.");
}

#[tokio::test]
async fn explain_names_the_source_of_each_piece_and_no_text() {
    let it = Furnished::new().await;
    it.house.lorebook.knows("w1");
    let bind = pb::SetBindingsRequest {
        owner: pb::BindingOwner::User.into(),
        owner_id: it.user.clone(),
        world_ids: vec!["w1".to_owned()],
        ..Default::default()
    };
    it.house.selections().set_bindings(as_user("ada", bind)).await.expect("bound");
    for mode in 1..=3 {
        let explain = pb::ExplainProfileRequest {
            session_id: "s".to_owned(),
            profile_mode: mode,
            ..Default::default()
        };
        let answer = it.house.profiles().explain_profile(as_user("ada", explain)).await;
        let answer = answer.expect("explained").into_inner();
        let preview = pb::PreviewProfileRequest {
            session_id: "s".to_owned(),
            profile_mode: mode,
            ..Default::default()
        };
        let preview = it.house.profiles().preview_profile(as_user("ada", preview)).await;
        assert_eq!(answer.fingerprint, preview.expect("previewed").into_inner().fingerprint);
        let sources: Vec<_> = answer.segments.iter().flat_map(|segment| &segment.from).collect();
        let of = |kind: &str| {
            let is_of = |source: &&&pb::PieceSource| {
                source.resource_kind == kind && !it.house.lorebook.holds(&source.resource_id)
            };
            let found = sources.iter().find(is_of);
            found.unwrap_or_else(|| panic!("mode {mode}: nothing of a {kind} in {sources:?}"))
        };
        assert_eq!(
            (&of("character").resource_id, &*of("character").resource_name),
            (&it.character, "Mira")
        );
        assert_eq!((&of("user").resource_id, &*of("user").revision), (&it.user, "1"));
        assert_eq!((&*of("world").resource_name, &*of("world").revision), ("World w1", "3"));
        let lore = answer.lore.iter().find(|lore| lore.world_id == "w1").expect("w1 fired");
        assert_eq!(
            (lore.binding_sources.as_slice(), lore.reason.as_str()),
            (&["user".to_owned()][..], "constant")
        );
        assert!(lore.kept);
    }
    let hers = pb::ExplainProfileRequest { session_id: "s".to_owned(), ..Default::default() };
    let hers = it.house.profiles().explain_profile(as_user("bob", hers)).await.map(|_| ());
    refused(hers, Reason::NotFound);
    let release =
        mesh::ReleaseLeaseRequest { session_id: "s".to_owned(), generation_id: "none".to_owned() };
    it.house.compiler().release_lease(release).await.expect("no lease was taken");
}
