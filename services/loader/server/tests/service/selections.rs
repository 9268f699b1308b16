//! Selections through the wire.

use wire::{common::v1::Reason, loader::v1 as pb, mesh::v1 as mesh};

use crate::house::{CARD, House, as_user, generation, header, refused};

fn set(selection: pb::Selection, etag: &str) -> pb::SetSelectionRequest {
    pb::SetSelectionRequest {
        session_id: "s".to_owned(),
        selection: Some(selection),
        etag: etag.to_owned(),
        request_id: String::new(),
    }
}

async fn current(house: &House) -> pb::GetSelectionResponse {
    let get = pb::GetSelectionRequest { session_id: "s".to_owned() };
    house.selections().get_selection(as_user("ada", get)).await.expect("read").into_inner()
}

#[tokio::test]
async fn a_selection_comes_back_with_the_worlds_in_effect() {
    let house = House::new().await;
    house.lorebook.knows("w1");
    let card = house.import_character("ada", header("", "m.json"), CARD.as_bytes()).await;
    let character = card.expect("imported").character.expect("a character");
    let selection = pb::Selection {
        character_id: character.character_id,
        world_ids: vec!["w1".to_owned()],
        ..Default::default()
    };
    house.session("s", selection).await;
    let answer = current(&house).await;
    let effective: Vec<_> = answer
        .effective_worlds
        .iter()
        .map(|world| (world.world_id.as_str(), world.binding_sources.join(",")))
        .collect();
    let expected = [
        ("w1", "session".to_owned()),
        (character.embedded_world_id.as_str(), "embedded".to_owned()),
    ];
    assert_eq!(effective, expected);
}

#[tokio::test]
async fn a_selection_is_set_under_its_etag() {
    let house = House::new().await;
    house.session("s", pb::Selection::default()).await;
    let user_id = house.create_user("ada", "Bob").await;
    let etag = current(&house).await.etag;
    let selection = pb::Selection { user_id, ..Default::default() };
    let mut selections = house.selections();
    let done = selections.set_selection(as_user("ada", set(selection.clone(), &etag))).await;
    assert_ne!(done.expect("set").into_inner().etag, etag);
    let stale = selections.set_selection(as_user("ada", set(selection, &etag))).await.map(|_| ());
    refused(stale, Reason::EtagMismatch);
}

#[tokio::test]
async fn a_running_session_names_the_part_that_would_change() {
    let house = House::new().await;
    house.session("s", pb::Selection::default()).await;
    house.lorebook.knows("w1");
    let user_id = house.create_user("ada", "Bob").await;
    house.compile(generation("s", "g1")).await.expect("compiled");
    let mut selections = house.selections();
    let user = pb::Selection { user_id: user_id.clone(), ..Default::default() };
    let status = selections.set_selection(as_user("ada", set(user.clone(), ""))).await.map(|_| ());
    let status = refused(status, Reason::UserAgentRunning);
    assert!(status.message().contains("running: s"), "{status}");
    let worlds = pb::Selection { world_ids: vec!["w1".to_owned()], ..Default::default() };
    let status = selections.set_selection(as_user("ada", set(worlds, ""))).await.map(|_| ());
    refused(status, Reason::WorldBookAgentRunning);
    let release =
        mesh::ReleaseLeaseRequest { session_id: "s".to_owned(), generation_id: "g1".to_owned() };
    house.compiler().release_lease(release).await.expect("released");
    assert!(selections.set_selection(as_user("ada", set(user, ""))).await.is_ok());
    house.compile(generation("s", "g2")).await.expect("compiled");
    let delete = pb::DeleteUserRequest { user_id, ..Default::default() };
    let deleted = house.users().delete_user(as_user("ada", delete)).await.map(|_| ());
    refused(deleted, Reason::UserAgentRunning);
}

#[tokio::test]
async fn what_a_selection_names_must_be_there() {
    let house = House::new().await;
    house.session("s", pb::Selection::default()).await;
    let mut selections = house.selections();
    for selection in [
        pb::Selection { preset_id: "gone".to_owned(), ..Default::default() },
        pb::Selection { world_ids: vec!["gone".to_owned()], ..Default::default() },
    ] {
        let answer = selections.set_selection(as_user("ada", set(selection, ""))).await.map(|_| ());
        refused(answer, Reason::NotFound);
    }
    let hers = pb::GetSelectionRequest { session_id: "s".to_owned() };
    let hers = selections.get_selection(as_user("bob", hers)).await.map(|_| ());
    refused(hers, Reason::NotFound);
}

#[tokio::test]
async fn malformed_selections_are_refused_by_field() {
    let house = House::new().await;
    house.session("s", pb::Selection::default()).await;
    let options = |options| pb::Selection { options: Some(options), ..Default::default() };
    let activation = pb::ActivationSettings { budget_percent: Some(101), ..Default::default() };
    let note =
        pb::AuthorsNote { text: "x".to_owned(), role: "god".to_owned(), ..Default::default() };
    let rp = pb::RpSelection { source: "magic".to_owned(), ..Default::default() };
    for (selection, field) in [
        (
            pb::Selection { preset_id: "__proto__".to_owned(), ..Default::default() },
            "selection.preset_id",
        ),
        (
            options(pb::SelectionOptions { activation: Some(activation), ..Default::default() }),
            "selection.options.activation.budget_percent",
        ),
        (
            options(pb::SelectionOptions { authors_note: Some(note), ..Default::default() }),
            "selection.options.authors_note.role",
        ),
        (pb::Selection { rp: Some(rp), ..Default::default() }, "selection.rp.source"),
    ] {
        let answer = house.selections().set_selection(as_user("ada", set(selection, ""))).await;
        let status = refused(answer.map(|_| ()), Reason::FieldInvalid);
        assert!(status.message().starts_with(field), "{status}");
    }
}

#[tokio::test]
async fn a_fork_copies_its_parents_selection() {
    let house = House::new().await;
    let user_id = house.create_user("ada", "Bob").await;
    house.session("s", pb::Selection { user_id: user_id.clone(), ..Default::default() }).await;
    let fork = mesh::InitSelectionRequest {
        session_id: "fork".to_owned(),
        selection: None,
        parent_session_id: "s".to_owned(),
    };
    let answer = house.compiler().init_selection(fork).await.expect("copied").into_inner();
    assert_eq!(answer.selection.expect("a selection").user_id, user_id);
}
