//! Templates through the wire.

use wire::{common::v1::Reason, loader::v1 as pb};

use crate::house::{Answered, CARD, House, as_user, header, refused};

/// Ada's session `s` with a card, a user and a world, and an empty session `t`.
async fn furnished() -> (House, pb::Selection) {
    let house = House::new().await;
    house.lorebook.knows("w1");
    let card = house.import_character("ada", header("", "m.json"), CARD.as_bytes()).await;
    let selection = pb::Selection {
        character_id: card.expect("imported").character.expect("a character").character_id,
        user_id: house.create_user("ada", "Bob").await,
        world_ids: vec!["w1".to_owned()],
        options: Some(pb::SelectionOptions {
            activation: Some(pb::ActivationSettings::default()),
            ..Default::default()
        }),
        rp: Some(pb::RpSelection { active: true, ..Default::default() }),
        ..Default::default()
    };
    house.session("s", selection.clone()).await;
    house.session("t", pb::Selection::default()).await;
    (house, selection)
}

async fn create(
    house: &House,
    name: &str,
    source: pb::create_template_request::Source,
) -> Answered<pb::Template> {
    let name = name.to_owned();
    let request = pb::CreateTemplateRequest { name, source: Some(source), ..Default::default() };
    let answer = house.templates().create_template(as_user("ada", request)).await?;
    Ok(answer.into_inner().template.expect("a template"))
}

async fn of_session(house: &House) -> pb::Template {
    let source = pb::create_template_request::Source::SessionId("s".to_owned());
    create(house, "Evening", source).await.expect("created")
}

async fn preview(house: &House, template_id: &str) -> Vec<(String, String)> {
    let request = pb::PreviewTemplateRequest { template_id: template_id.to_owned() };
    let answer = house.templates().preview_template(as_user("ada", request)).await;
    let said = answer.expect("previewed").into_inner().diagnostics;
    said.into_iter().map(|said| (said.code, said.place)).collect()
}

async fn apply(house: &House, template_id: &str) -> Answered<pb::ApplyTemplateResponse> {
    let request = pb::ApplyTemplateRequest {
        template_id: template_id.to_owned(),
        session_id: "t".to_owned(),
        request_id: "r1".to_owned(),
        ..Default::default()
    };
    house.templates().apply_template(as_user("ada", request)).await.map(|a| a.into_inner())
}

async fn selected(house: &House) -> pb::Selection {
    let get = pb::GetSelectionRequest { session_id: "t".to_owned() };
    let answer = house.selections().get_selection(as_user("ada", get)).await.expect("read");
    answer.into_inner().selection.expect("a selection")
}

#[tokio::test]
async fn a_template_gives_a_session_its_selection_whole_role_play_included() {
    let (house, selection) = furnished().await;
    let template = of_session(&house).await;
    assert_eq!(template.selection, Some(selection.clone()));
    assert!(preview(&house, &template.template_id).await.is_empty());
    let applied = apply(&house, &template.template_id).await.expect("applied");
    assert_eq!(applied.selection, Some(selection.clone()));
    assert_eq!(selected(&house).await, selection);
    let again = apply(&house, &template.template_id).await.expect("replayed");
    assert_eq!(again, applied);
}

#[tokio::test]
async fn what_is_gone_is_said_and_nothing_of_the_template_is_applied() {
    let (house, selection) = furnished().await;
    let template = of_session(&house).await.template_id;
    let delete = pb::DeleteUserRequest { user_id: selection.user_id.clone(), ..Default::default() };
    house.users().delete_user(as_user("ada", delete)).await.expect("deleted");
    let delete = pb::DeleteWorldRequest { world_id: "w1".to_owned(), ..Default::default() };
    house.deletions().delete_world(as_user("ada", delete)).await.expect("deleted");
    let expected = [
        ("USER_NOT_FOUND".to_owned(), selection.user_id.clone()),
        ("WORLD_BOOK_NOT_FOUND".to_owned(), "w1".to_owned()),
    ];
    assert_eq!(preview(&house, &template).await, expected);
    let status = refused(apply(&house, &template).await, Reason::TemplateDangling);
    assert!(status.message().contains("WORLD_BOOK_NOT_FOUND w1"), "{status}");
    assert!(selected(&house).await.character_id.is_empty(), "never in part");
    let get = pb::GetTemplateRequest { template_id: template };
    let kept = house.templates().get_template(as_user("ada", get)).await.expect("read");
    let kept = kept.into_inner().template.and_then(|kept| kept.selection).expect("a selection");
    assert_eq!(kept, selection, "the ids stay");
}

#[tokio::test]
async fn a_greeting_that_the_card_does_not_have_is_gone_too() {
    let (house, selection) = furnished().await;
    let options = pb::SelectionOptions { greeting_index: 7, ..Default::default() };
    let set = pb::SetSelectionRequest {
        session_id: "s".to_owned(),
        selection: Some(pb::Selection { options: Some(options), ..selection.clone() }),
        ..Default::default()
    };
    house.selections().set_selection(as_user("ada", set)).await.expect("set");
    let template = of_session(&house).await.template_id;
    let expected = [("GREETING_OUT_OF_RANGE".to_owned(), selection.character_id)];
    assert_eq!(preview(&house, &template).await, expected);
}

#[tokio::test]
async fn malformed_templates_are_refused_by_field() {
    use pb::create_template_request::Source;
    let (house, selection) = furnished().await;
    let given = || Source::Selection(selection.clone());
    let gone = pb::Selection { preset_id: "gone".to_owned(), ..Default::default() };
    for (name, source, reason) in [
        (" ", given(), Reason::FieldInvalid),
        ("a\nb", given(), Reason::FieldInvalid),
        (&*"x".repeat(201), given(), Reason::LimitExceeded),
        ("A", Source::SessionId("unknown".to_owned()), Reason::NotFound),
        ("A", Source::Selection(gone), Reason::NotFound),
    ] {
        refused(create(&house, name, source).await, reason);
    }
    assert!(create(&house, "A", given()).await.is_ok());
}

#[tokio::test]
async fn templates_are_listed_by_name_for_their_owner_and_deleted() {
    use pb::create_template_request::Source;
    let (house, _) = furnished().await;
    for name in ["B", "A", "C"] {
        let source = Source::Selection(pb::Selection::default());
        create(&house, name, source).await.expect("created");
    }
    let list = |who: &'static str, page_token: String| {
        let request = pb::ListTemplatesRequest { page_size: 2, page_token };
        let mut templates = house.templates();
        async move { templates.list_templates(as_user(who, request)).await }
    };
    let first = list("ada", String::new()).await.expect("listed").into_inner();
    let second = list("ada", first.next_page_token.clone()).await.expect("listed").into_inner();
    let names: Vec<_> = first.templates.iter().chain(&second.templates).map(|t| &t.name).collect();
    assert_eq!(names, ["A", "B", "C"]);
    assert!(second.next_page_token.is_empty());
    refused(list("bob", first.next_page_token).await.map(|_| ()), Reason::PageTokenInvalid);
    let template_id = first.templates[0].template_id.clone();
    let delete = |who: &'static str| {
        let template_id = template_id.clone();
        let request = pb::DeleteTemplateRequest { template_id, ..Default::default() };
        let mut templates = house.templates();
        async move { templates.delete_template(as_user(who, request)).await.map(|_| ()) }
    };
    refused(delete("bob").await, Reason::NotFound);
    delete("ada").await.expect("deleted");
    refused(delete("ada").await, Reason::NotFound);
}
