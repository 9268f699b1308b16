//! What an owner says for all sessions: the defaults, and the role-play policy.

use wire::{
    common::v1::{ProfileMode, Reason},
    loader::v1 as pb,
    mesh::v1 as mesh,
};

use crate::house::{Answered, House, as_user, generation, refused};

async fn set_policy(
    house: &House,
    change: impl FnOnce(&mut pb::SetRpPolicyRequest),
) -> Answered<pb::SetRpPolicyResponse> {
    let mut request = pb::SetRpPolicyRequest::default();
    change(&mut request);
    let answer = house.rp_policies().set_rp_policy(as_user("ada", request)).await?;
    Ok(answer.into_inner())
}

/// The texts of the policy's section in a compile of each mode.
async fn sent(house: &House) -> Vec<Option<String>> {
    let mut sent = Vec::new();
    for mode in [ProfileMode::Journal, ProfileMode::InChat, ProfileMode::Contract] {
        let request = mesh::CompileRequest {
            profile_mode: mode.into(),
            validate_only: true,
            ..generation("s", "")
        };
        let (segments, _) = house.compile(request).await.expect("compiled");
        let policy = segments.into_iter().find(|segment| segment.key == "rp:policy");
        sent.push(policy.map(|policy| policy.text));
    }
    sent
}

async fn in_role_play() -> House {
    let house = House::new().await;
    let rp = pb::RpSelection { active: true, ..Default::default() };
    house.session("s", pb::Selection { rp: Some(rp), ..Default::default() }).await;
    house
}

#[tokio::test]
async fn the_owners_policy_reaches_every_mode_as_its_own_section() {
    let house = in_role_play().await;
    let shipped = sent(&house).await;
    assert!(shipped.iter().all(|text| text.as_ref().is_some_and(|text| text.contains("locked"))));
    set_policy(&house, |new| new.text = "Ask first.".to_owned()).await.expect("set");
    assert_eq!(sent(&house).await, vec![Some("Ask first.".to_owned()); 3]);
    set_policy(&house, |new| new.text.clear()).await.expect("set");
    assert_eq!(sent(&house).await, vec![None; 3], "an empty text is no section");
    set_policy(&house, |new| new.shipped = true).await.expect("set");
    assert_eq!(sent(&house).await, shipped);
}

#[tokio::test]
async fn a_policy_is_bounded_and_changed_under_its_etag() {
    let house = in_role_play().await;
    let get = || house.rp_policies();
    let read = get().get_rp_policy(as_user("ada", pb::GetRpPolicyRequest {})).await;
    let read = read.expect("read").into_inner();
    assert!(read.shipped && !read.text.is_empty());
    let long = set_policy(&house, |new| new.text = "x".repeat(16 * 1024 + 1)).await;
    refused(long, Reason::LimitExceeded);
    let both = set_policy(&house, |new| (new.text, new.shipped) = ("x".to_owned(), true)).await;
    refused(both, Reason::FieldInvalid);
    let stale = |new: &mut pb::SetRpPolicyRequest| new.etag = "old".to_owned();
    refused(set_policy(&house, stale).await, Reason::EtagMismatch);
    let etag = read.etag;
    let set = set_policy(&house, |new| (new.text, new.etag) = ("x".repeat(16 * 1024), etag)).await;
    let set = set.expect("set");
    assert_eq!((set.effective(), set.running_session_ids.len()), (pb::Effective::Now, 0));
    let read = get().get_rp_policy(as_user("ada", pb::GetRpPolicyRequest {})).await;
    let read = read.expect("read").into_inner();
    assert_eq!((read.shipped, read.etag), (false, set.etag));
}

#[tokio::test]
async fn a_session_that_runs_sees_a_new_policy_with_its_next_turn() {
    let house = in_role_play().await;
    house.session("plain", pb::Selection::default()).await;
    for session in ["s", "plain"] {
        house.compile(generation(session, "g")).await.expect("compiled");
    }
    let set = set_policy(&house, |new| new.text = "Ask first.".to_owned()).await.expect("set");
    assert_eq!(set.effective(), pb::Effective::NextTurn);
    assert_eq!(set.running_session_ids, ["s"]);
}

#[tokio::test]
async fn a_fresh_session_takes_the_defaults_and_a_fork_its_parents_with_role_play() {
    let house = in_role_play().await;
    let user_id = house.create_user("ada", "Bob").await;
    let selection = Some(pb::Selection { user_id: user_id.clone(), ..Default::default() });
    let set = pb::SetDefaultSelectionRequest { selection, ..Default::default() };
    house.selections().set_default_selection(as_user("ada", set)).await.expect("set");
    let begin = |session_id: &str, parent: &str| {
        let request = mesh::InitSelectionRequest {
            session_id: session_id.to_owned(),
            selection: None,
            parent_session_id: parent.to_owned(),
        };
        let mut compiler = house.compiler();
        async move {
            let answer = compiler.init_selection(request).await.expect("given");
            answer.into_inner().selection.expect("a selection")
        }
    };
    assert_eq!(begin("fresh", "").await.user_id, user_id);
    let child = begin("child", "s").await;
    assert!(child.rp.expect("role-play").active && child.user_id.is_empty());
    let leave = pb::SetSelectionRequest {
        session_id: "s".to_owned(),
        selection: Some(pb::Selection::default()),
        ..Default::default()
    };
    house.selections().set_selection(as_user("ada", leave)).await.expect("set");
    let get = pb::GetSelectionRequest { session_id: "child".to_owned() };
    let child = house.selections().get_selection(as_user("ada", get)).await.expect("read");
    let child = child.into_inner().selection.expect("a selection");
    assert!(child.rp.expect("role-play").active, "then the two are independent");
}

#[tokio::test]
async fn a_session_that_the_ledger_deleted_is_forgotten_with_its_lease() {
    let house = House::new().await;
    let user_id = house.create_user("ada", "Bob").await;
    house.session("s", pb::Selection { user_id: user_id.clone(), ..Default::default() }).await;
    house.compile(generation("s", "g")).await.expect("compiled");
    for _ in ["once", "again"] {
        let forget = mesh::ForgetSessionRequest { session_id: "s".to_owned() };
        house.compiler().forget_session(forget).await.expect("forgotten");
    }
    let get = pb::GetSelectionRequest { session_id: "s".to_owned() };
    let gone = house.selections().get_selection(as_user("ada", get)).await.map(|_| ());
    refused(gone, Reason::NotFound);
    let delete = pb::DeleteUserRequest { user_id, ..Default::default() };
    let deleted = house.users().delete_user(as_user("ada", delete)).await.expect("deleted");
    assert_eq!(deleted.into_inner().cleared, 0);
}
