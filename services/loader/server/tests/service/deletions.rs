//! Worlds leave through the wire: what points at them at once, the lorebook at once or later.

use wire::{common::v1::Reason, loader::v1 as pb};

use crate::house::{CARD, House, as_user, header, refused};

fn delete(world: &str, request_id: &str) -> pb::DeleteWorldRequest {
    let (world_id, request_id) = (world.to_owned(), request_id.to_owned());
    pb::DeleteWorldRequest { world_id, request_id, etag: String::new() }
}

async fn with_world() -> House {
    let house = House::new().await;
    house.lorebook.knows("w1");
    let world_ids = vec!["w1".to_owned()];
    house.session("s", pb::Selection { world_ids, ..Default::default() }).await;
    house
}

async fn selected(house: &House) -> Vec<String> {
    let get = pb::GetSelectionRequest { session_id: "s".to_owned() };
    let answer = house.selections().get_selection(as_user("ada", get)).await.expect("read");
    answer.into_inner().selection.expect("a selection").world_ids
}

/// The sweeper may be at a deletion while its caller still waits; the lorebook takes it twice.
fn only_w1(deleted: &[String]) -> bool {
    !deleted.is_empty() && deleted.iter().all(|id| id == "w1")
}

#[tokio::test]
async fn a_deleted_world_leaves_selections_and_the_lorebook() {
    let house = with_world().await;
    let mut deletions = house.deletions();
    let done = deletions.delete_world(as_user("ada", delete("w1", "r1"))).await.expect("deleted");
    assert_eq!(done.into_inner(), pb::DeleteWorldResponse { cleared: 1, pending: false });
    assert!(selected(&house).await.is_empty());
    assert!(only_w1(&house.lorebook.deleted.borrow()));
    let again = deletions.delete_world(as_user("ada", delete("w1", "r1"))).await.expect("replayed");
    assert!(again.metadata().get("skald-replayed").is_some());
    let anew = deletions.delete_world(as_user("ada", delete("w1", ""))).await.map(|_| ());
    refused(anew, Reason::NotFound);
}

#[tokio::test]
async fn a_deletion_is_refused_where_nothing_may_happen() {
    let house = with_world().await;
    let card = house.import_character("ada", header("", "m.json"), CARD.as_bytes()).await;
    let book = card.expect("imported").character.expect("a character").embedded_world_id;
    let mut deletions = house.deletions();
    let stale = pb::DeleteWorldRequest { etag: "old".to_owned(), ..delete("w1", "") };
    for (request, reason) in [
        (delete("gone", ""), Reason::NotFound),
        (delete("bad id", ""), Reason::FieldInvalid),
        (delete(&book, ""), Reason::WorldImmutable),
        (stale, Reason::EtagMismatch),
    ] {
        refused(deletions.delete_world(as_user("ada", request)).await.map(|_| ()), reason);
    }
    *house.lorebook.away.lock().expect("not poisoned") = true;
    let away = deletions.delete_world(as_user("ada", delete("w1", "r"))).await.map(|_| ());
    refused(away, Reason::PeerUnavailable);
    assert_eq!(selected(&house).await, ["w1"]);
}

#[tokio::test]
async fn a_deletion_that_a_crash_cut_off_is_finished_by_the_sweeper() {
    let house = with_world().await;
    *house.lorebook.keeps.lock().expect("not poisoned") = true;
    let cut_off = house.deletions().delete_world(as_user("ada", delete("w1", "r1"))).await;
    let cut_off = cut_off.expect("decided").into_inner();
    assert_eq!(cut_off, pb::DeleteWorldResponse { cleared: 1, pending: true });
    assert!(selected(&house).await.is_empty());
    *house.lorebook.keeps.lock().expect("not poisoned") = false;
    let mut deleted = house.lorebook.deleted.subscribe();
    let house = house.reborn().await;
    deleted.wait_for(|deleted| only_w1(deleted)).await.expect("finished");
    assert!(selected(&house).await.is_empty());
}
