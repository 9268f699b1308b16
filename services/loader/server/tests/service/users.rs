//! Users through the wire.

use wire::{common::v1::Reason, loader::v1 as pb};

use crate::house::{House, as_user, refused};

fn create(request_id: &str, name: &str, description: &str) -> pb::CreateUserRequest {
    let [request_id, name, description] = [request_id, name, description].map(str::to_owned);
    pb::CreateUserRequest { request_id, name, description }
}

#[tokio::test]
async fn a_user_is_created_once_for_one_request_id() {
    let house = House::new().await;
    let mut users = house.users();
    let first =
        users.create_user(as_user("ada", create("r", "Bob", "tall"))).await.expect("created");
    let again =
        users.create_user(as_user("ada", create("r", "Bob", "tall"))).await.expect("replayed");
    assert!(first.metadata().get("skald-replayed").is_none());
    assert_eq!(first.into_inner().user, again.into_inner().user);
    let reused = users.create_user(as_user("ada", create("r", "Eve", ""))).await.map(|_| ());
    refused(reused, Reason::RequestIdReused);
    let hers = users.create_user(as_user("bob", create("r", "Eve", ""))).await;
    assert!(hers.is_ok(), "a request id is its owner's");
    let list =
        users.list_users(as_user("ada", pb::ListUsersRequest::default())).await.expect("listed");
    assert_eq!(list.into_inner().users.len(), 1);
}

#[tokio::test]
async fn malformed_users_are_refused_by_field() {
    let house = House::new().await;
    let mut users = house.users();
    for (name, description, expected) in [
        (" ".to_owned(), String::new(), Reason::FieldInvalid),
        ("a\nb".to_owned(), String::new(), Reason::FieldInvalid),
        ("x".repeat(201), String::new(), Reason::LimitExceeded),
        ("x".to_owned(), "é".repeat(100_001), Reason::LimitExceeded),
    ] {
        let answer = users.create_user(as_user("ada", create("", &name, &description))).await;
        refused(answer.map(|_| ()), expected);
    }
}

#[tokio::test]
async fn a_deleted_user_is_gone() {
    let house = House::new().await;
    let user_id = house.create_user("ada", "Bob").await;
    let delete = pb::DeleteUserRequest {
        user_id: user_id.clone(),
        request_id: "d".to_owned(),
        ..Default::default()
    };
    let mut users = house.users();
    users.delete_user(as_user("ada", delete.clone())).await.expect("deleted");
    users.delete_user(as_user("ada", delete)).await.expect("replayed");
    let get = users.get_user(as_user("ada", pb::GetUserRequest { user_id })).await.map(|_| ());
    refused(get, Reason::NotFound);
}
