//! Bindings through the wire.

use wire::{common::v1::Reason, loader::v1 as pb};

use crate::house::{House, as_user, generation, refused};

fn bind(owner: pb::BindingOwner, owner_id: &str, worlds: &[&str]) -> pb::SetBindingsRequest {
    pb::SetBindingsRequest {
        owner: owner.into(),
        owner_id: owner_id.to_owned(),
        world_ids: worlds.iter().map(|world| (*world).to_owned()).collect(),
        ..Default::default()
    }
}

#[tokio::test]
async fn worlds_are_bound_and_take_part() {
    let house = House::new().await;
    for world in ["w1", "w2"] {
        house.lorebook.knows(world);
    }
    let user_id = house.create_user("ada", "Bob").await;
    house.session("s", pb::Selection { user_id: user_id.clone(), ..Default::default() }).await;
    let mut selections = house.selections();
    let bound = bind(pb::BindingOwner::User, &user_id, &["w1", "w2", "w1"]);
    let answer = selections.set_bindings(as_user("ada", bound)).await.expect("bound").into_inner();
    assert_eq!(answer.world_ids, ["w1", "w2"]);
    selections
        .set_bindings(as_user("ada", bind(pb::BindingOwner::Global, "", &["w2"])))
        .await
        .expect("bound");
    let get = pb::GetSelectionRequest { session_id: "s".to_owned() };
    let worlds = selections.get_selection(as_user("ada", get)).await.expect("read").into_inner();
    let sources: Vec<_> =
        worlds.effective_worlds.iter().map(|w| w.binding_sources.join("+")).collect();
    assert_eq!(sources, ["user", "user+global"]);
}

#[tokio::test]
async fn bindings_are_refused_where_they_cannot_be() {
    let house = House::new().await;
    house.lorebook.knows("w1");
    let user_id = house.create_user("ada", "Bob").await;
    let mut selections = house.selections();
    for (request, expected) in [
        (bind(pb::BindingOwner::User, "gone", &["w1"]), Reason::NotFound),
        (bind(pb::BindingOwner::User, &user_id, &["gone"]), Reason::NotFound),
        (bind(pb::BindingOwner::Unspecified, "", &[]), Reason::FieldInvalid),
        (bind(pb::BindingOwner::Global, "x", &[]), Reason::FieldInvalid),
        (bind(pb::BindingOwner::User, &user_id, &["bad id"]), Reason::FieldInvalid),
    ] {
        refused(selections.set_bindings(as_user("ada", request)).await.map(|_| ()), expected);
    }
    let names: Vec<String> = (0..101).map(|number| format!("w{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let many = bind(pb::BindingOwner::User, &user_id, &names);
    refused(selections.set_bindings(as_user("ada", many)).await.map(|_| ()), Reason::LimitExceeded);
}

#[tokio::test]
async fn a_running_session_keeps_its_bindings() {
    let house = House::new().await;
    house.lorebook.knows("w1");
    let user_id = house.create_user("ada", "Bob").await;
    house.session("s", pb::Selection { user_id: user_id.clone(), ..Default::default() }).await;
    house.compile(generation("s", "g")).await.expect("compiled");
    let request = bind(pb::BindingOwner::User, &user_id, &["w1"]);
    let answer = house.selections().set_bindings(as_user("ada", request)).await.map(|_| ());
    refused(answer, Reason::WorldBookAgentRunning);
}
