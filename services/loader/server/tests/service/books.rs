//! The running copies of cards' books leave the lorebook when nothing uses them any more, and not before.

use wire::{common::v1::Reason, loader::v1 as pb, mesh::v1 as mesh};

use crate::house::{CARD, House, as_user, generation, header, refused};

const OTHER: &str = r#"{"entries":[{"keys":["sea"],"content":"The sea is loud.","enabled":true,"insertion_order":1,"extensions":{}}]}"#;

/// A card of ada's; its name makes it another card, its book may be the same.
async fn import(house: &House, name: &str) -> pb::Character {
    import_card(house, &CARD.replace("Mira", name)).await
}

async fn import_card(house: &House, card: &str) -> pb::Character {
    let done = house.import_character("ada", header("", "m.json"), card.as_bytes()).await;
    let head = done.expect("imported").character.expect("a character");
    house.character(&head.character_id).await
}

async fn delete(house: &House, card: &pb::Character) {
    let character_id = card.character_id.clone();
    let request = pb::DeleteCharacterRequest { character_id, ..Default::default() };
    house.characters().delete_character(as_user("ada", request)).await.expect("deleted");
}

/// Gives the card another book, or takes it out.
async fn edit(house: &House, card: &pb::Character, book: &str) -> pb::UpdateCharacterBookResponse {
    use pb::update_character_book_request::Part;
    let header = pb::BookHeader {
        character_id: card.character_id.clone(),
        remove: book.is_empty(),
        ..Default::default()
    };
    let chunk = (!book.is_empty()).then(|| Part::Chunk(book.as_bytes().to_vec()));
    let parts = std::iter::once(Part::Header(header)).chain(chunk);
    let parts: Vec<_> =
        parts.map(|part| pb::UpdateCharacterBookRequest { part: Some(part) }).collect();
    let stream = as_user("ada", futures::stream::iter(parts));
    house.characters().update_character_book(stream).await.expect("edited").into_inner()
}

async fn until_deleted(house: &House, copy: &str) {
    let mut deleted = house.lorebook.deleted.subscribe();
    deleted.wait_for(|deleted| deleted.iter().any(|world| world == copy)).await.expect("deleted");
}

/// Waits until the sweeper has been by once more: it has taken another copy away.
async fn until_swept(house: &House) {
    let card = import_card(house, r#"{"spec":"chara_card_v2","data":{"name":"Another"}}"#).await;
    let copy = edit(house, &card, r#"{"entries":[]}"#).await;
    let copy = copy.character.expect("a character").embedded_world_id;
    edit(house, &card, "").await;
    until_deleted(house, &copy).await;
    delete(house, &card).await;
}

#[tokio::test]
async fn a_deleted_cards_book_leaves_the_lorebook() {
    let house = House::new().await;
    let card = import(&house, "Mira").await;
    assert!(house.lorebook.holds(&card.embedded_world_id));
    delete(&house, &card).await;
    until_deleted(&house, &card.embedded_world_id).await;
    assert!(!house.lorebook.holds(&card.embedded_world_id));
}

#[tokio::test]
async fn a_book_that_another_took_the_place_of_leaves_the_lorebook() {
    let house = House::new().await;
    let card = import(&house, "Mira").await;
    let edited = edit(&house, &card, OTHER).await.character.expect("a character");
    until_deleted(&house, &card.embedded_world_id).await;
    assert!(house.lorebook.holds(&edited.embedded_world_id));
    edit(&house, &card, "").await;
    until_deleted(&house, &edited.embedded_world_id).await;
}

#[tokio::test]
async fn a_book_that_two_cards_share_stays_for_the_second() {
    let house = House::new().await;
    let (mira, twin) = (import(&house, "Mira").await, import(&house, "Twin").await);
    assert_eq!(mira.embedded_world_id, twin.embedded_world_id);
    delete(&house, &mira).await;
    until_swept(&house).await;
    assert!(house.lorebook.holds(&twin.embedded_world_id));
    delete(&house, &twin).await;
    until_deleted(&house, &twin.embedded_world_id).await;
}

#[tokio::test]
async fn a_running_session_keeps_the_book_that_it_compiled_with_until_it_ends() {
    let house = House::new().await;
    let card = import(&house, "Mira").await;
    let selection = pb::Selection { character_id: card.character_id.clone(), ..Default::default() };
    house.session("s", selection).await;
    house.compile(generation("s", "g")).await.expect("compiled");
    let edited = edit(&house, &card, OTHER).await;
    assert_eq!(edited.effective(), pb::Effective::NextTurn);
    until_swept(&house).await;
    assert!(house.lorebook.holds(&card.embedded_world_id), "session s is running with it");
    let (session_id, generation_id) = ("s".to_owned(), "g".to_owned());
    let release = mesh::ReleaseLeaseRequest { session_id, generation_id };
    house.compiler().release_lease(release).await.expect("released");
    let house = house.reborn().await;
    until_deleted(&house, &card.embedded_world_id).await;
}

#[tokio::test]
async fn a_card_that_comes_back_has_a_copy_that_no_late_deletion_reaches() {
    let house = House::new().await;
    let card = import(&house, "Mira").await;
    *house.lorebook.keeps.lock().expect("not poisoned") = true;
    let mut kept = house.lorebook.kept.subscribe();
    delete(&house, &card).await;
    kept.wait_for(|kept| kept.contains(&card.embedded_world_id)).await.expect("decided");
    let again = import(&house, "Mira").await;
    assert_ne!(again.embedded_world_id, card.embedded_world_id);
    *house.lorebook.keeps.lock().expect("not poisoned") = false;
    let house = house.reborn().await;
    until_deleted(&house, &card.embedded_world_id).await;
    assert!(house.lorebook.holds(&again.embedded_world_id));
}

#[tokio::test]
async fn a_copy_belongs_to_its_card_and_cannot_be_deleted_by_itself() {
    let house = House::new().await;
    let card = import(&house, "Mira").await;
    let world_id = card.embedded_world_id.clone();
    let request = pb::DeleteWorldRequest { world_id, ..Default::default() };
    let answer = house.deletions().delete_world(as_user("ada", request)).await.map(|_| ());
    refused(answer, Reason::WorldImmutable);
}
