//! A set of operations on one world, waiting for a person; every decision on it makes its next version.

use std::collections::BTreeMap;

use kernel::{
    AlternativeId, ChangeId, ChangesetId, Digest, EvaluationId, Owner, RequestId, SessionId,
    Timestamp, WorldId,
};
use serde::{Deserialize, Serialize};

use crate::{
    diff,
    operation::{Kind, Operation},
    stage::{Stage, Transition, WrongStage},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changeset {
    pub id: ChangesetId,
    pub owner: Owner,
    pub evaluation: EvaluationId,
    pub world: WorldId,
    /// As it was when the changeset was made; it outlives the world.
    pub world_name: String,
    /// The world's `content_revision` that the operations were made for.
    pub base_revision: u64,
    pub stage: Stage,
    /// From 1; each stored change of this record moves it by one, and it is the etag.
    pub version: u64,
    pub summary: String,
    pub operations: Vec<Operation>,
    pub source: Source,
    /// Applications begun so far.
    pub attempts: u32,
    /// While APPLYING and once APPLIED.
    pub application: Option<Application>,
    /// Why it is STALE.
    pub stale_reason: String,
    pub created_at: Timestamp,
    pub decided_at: Option<Timestamp>,
}

/// Where it comes from. The ids go with the session, the labels stay.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Source {
    pub session: Option<SessionId>,
    pub turn_seq: Option<u64>,
    pub alternative: Option<AlternativeId>,
    /// The exchange's beginning; empty once purged.
    pub excerpt: String,
    /// `session`, `character`, `user`.
    pub labels: BTreeMap<String, String>,
}

/// One attempt at applying: what lorebook is asked, however often it is asked. Its serde form is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// `<changeset>:<attempt>`.
    pub change: ChangeId,
    /// All of the changeset's, in its order, each beside what it met: what is applied is frozen with it.
    pub operations: Vec<Judged>,
    /// The call that began it, so that its retry finds it, and its hash.
    pub request_id: RequestId,
    pub request: Digest,
    pub since: Timestamp,
}

/// An operation beside the world that it met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    pub operation: Operation,
    /// Name and text of its target as they stood; empty for a create.
    pub current_name: String,
    pub current_content: String,
    /// Why it does not hold; empty when it does.
    pub problem: String,
    /// Texts of the two above that were too large to be told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// A text that is empty for want of room, though there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub field: String,
    pub bytes: u64,
}

// === impl Changeset ===

impl Changeset {
    /// A person has written other operations.
    pub fn edited(
        &self,
        operations: Vec<Operation>,
        summary: Option<String>,
    ) -> Result<Self, WrongStage> {
        let summary = summary.unwrap_or_else(|| self.summary.clone());
        Ok(Self { operations, summary, ..self.after(Transition::Edit)? })
    }

    /// The id of the change that the next application makes. (A `/` may not stand in an id.)
    pub fn next_change(&self) -> ChangeId {
        let attempt = (self.attempts + 1).to_string();
        let readable = ChangeId::new(format!("{}:{attempt}", self.id));
        readable.unwrap_or_else(|_| ChangeId::derived(&[self.id.as_str(), &attempt]))
    }

    pub fn begun(&self, application: Application) -> Result<Self, WrongStage> {
        let begun = self.after(Transition::BeginApply)?;
        Ok(Self { attempts: self.attempts + 1, application: Some(application), ..begun })
    }

    pub fn applied(&self, now: Timestamp) -> Result<Self, WrongStage> {
        Ok(Self { decided_at: Some(now), ..self.after(Transition::RecordApplied)? })
    }

    pub fn released(&self) -> Result<Self, WrongStage> {
        Ok(Self { application: None, ..self.after(Transition::Release)? })
    }

    /// Its world has moved on, found before or while applying.
    pub fn stale(&self, reason: String, now: Timestamp) -> Result<Self, WrongStage> {
        let stale =
            self.after(Transition::RecordStale).or_else(|_| self.after(Transition::Expire))?;
        Ok(Self { stale_reason: reason, application: None, decided_at: Some(now), ..stale })
    }

    pub fn rejected(&self, now: Timestamp) -> Result<Self, WrongStage> {
        Ok(Self { decided_at: Some(now), ..self.after(Transition::Reject)? })
    }

    fn after(&self, transition: Transition) -> Result<Self, WrongStage> {
        let stage = self.stage.after(transition)?;
        Ok(Self { stage, version: self.version + 1, ..self.clone() })
    }
}

// === impl Application ===

impl Application {
    /// What lorebook is asked to do.
    pub fn frozen(&self) -> Vec<Operation> {
        let held = self.operations.iter().filter(|judged| judged.holds());
        held.map(|judged| judged.operation.clone()).collect()
    }

    /// With `allow_partial`: what did not hold.
    pub fn left_out(&self) -> impl Iterator<Item = &Judged> {
        self.operations.iter().filter(|judged| !judged.holds())
    }
}

// === impl Judged ===

impl Judged {
    pub fn holds(&self) -> bool {
        self.problem.is_empty()
    }

    /// From the present text to the proposed one; none where the present text was left out.
    pub fn diff(&self) -> Option<String> {
        if self.left_out.iter().any(|text| text.field == "current_content") {
            return None;
        }
        let proposed = match self.operation.kind {
            Kind::Create | Kind::Update | Kind::Replace => {
                self.operation.content.as_deref().unwrap_or(&self.current_content)
            }
            Kind::Suppress | Kind::Archive => "",
        };
        Some(diff::unified(&self.current_content, proposed))
    }
}

#[cfg(test)]
mod tests {
    use kernel::{EntryId, Subject, TenantId, digest};

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(5);

    fn pending() -> Changeset {
        let (tenant, subject) = (TenantId::new("t"), Subject::new("s"));
        Changeset {
            id: ChangesetId::new("c1").expect("an id"),
            owner: Owner { tenant: tenant.expect("an id"), subject: subject.expect("an id") },
            evaluation: EvaluationId::new("v1").expect("an id"),
            world: WorldId::new("w1").expect("an id"),
            world_name: "W".into(),
            base_revision: 1,
            stage: Stage::Pending,
            version: 1,
            summary: "as judged".into(),
            operations: vec![retire("e1"), retire("e2")],
            source: Source::default(),
            attempts: 0,
            application: None,
            stale_reason: String::new(),
            created_at: Timestamp::default(),
            decided_at: None,
        }
    }

    fn retire(target: &str) -> Operation {
        Operation {
            kind: Kind::Archive,
            target: EntryId::new(target).ok(),
            name: None,
            content: None,
            constant: None,
            keywords: None,
            rationale: String::new(),
        }
    }

    fn judged(operation: &Operation) -> Judged {
        Judged {
            operation: operation.clone(),
            current_name: "Old".into(),
            current_content: "As it was.".into(),
            problem: String::new(),
            left_out: Vec::new(),
        }
    }

    fn begun(changeset: &Changeset) -> Changeset {
        let application = Application {
            change: changeset.next_change(),
            operations: changeset.operations.iter().map(judged).collect(),
            request_id: RequestId::new("r1").expect("an id"),
            request: digest(b"request"),
            since: NOW,
        };
        changeset.begun(application).expect("pending")
    }

    #[test]
    fn every_decision_makes_the_next_version() {
        let versions = [
            pending().edited(vec![retire("e3")], None),
            pending().stale("moved".into(), NOW),
            pending().rejected(NOW),
            begun(&pending()).released(),
        ];
        let versions: Vec<_> =
            versions.into_iter().map(|next| next.expect("made").version).collect();
        assert_eq!(versions, [2, 2, 2, 3]);
    }

    #[test]
    fn each_application_has_a_change_of_its_own() {
        let first = begun(&pending());
        assert_eq!(first.application.as_ref().map(|began| began.change.as_str()), Some("c1:1"));
        let second = begun(&first.released().expect("applying"));
        assert_eq!(second.application.map(|began| began.change.to_string()), Some("c1:2".into()));
    }

    #[test]
    fn only_what_holds_is_frozen() {
        let mut application = begun(&pending()).application.expect("applying");
        application.operations[0].problem = "gone".into();
        assert_eq!(application.frozen(), [retire("e2")]);
        let left_out: Vec<_> = application.left_out().map(|judged| &judged.operation).collect();
        assert_eq!(left_out, [&retire("e1")]);
    }

    #[test]
    fn what_is_retired_is_all_deletions_and_what_is_inherited_none() {
        let retired = judged(&retire("e1"));
        assert!(retired.diff().expect("one").contains("-As it was."), "{retired:?}");
        let renamed = Operation { kind: Kind::Update, name: Some("New".into()), ..retire("e1") };
        assert_eq!(judged(&renamed).diff().as_deref(), Some(""));
        let left_out = vec![LeftOut { field: "current_content".into(), bytes: 9 }];
        assert_eq!(Judged { left_out, ..retired }.diff(), None);
    }

    #[test]
    fn an_edit_without_a_summary_keeps_the_present_one() {
        let edited = pending().edited(vec![retire("e3")], None).expect("pending");
        assert_eq!(edited.summary, "as judged");
        let edited = pending().edited(vec![retire("e3")], Some(String::new())).expect("pending");
        assert_eq!(edited.summary, "");
    }

    #[test]
    fn what_is_applied_keeps_what_was_frozen_and_what_is_stale_does_not() {
        let applied = begun(&pending()).applied(NOW).expect("applying");
        assert!(applied.application.is_some() && applied.decided_at == Some(NOW));
        let stale = begun(&pending()).stale("moved".into(), NOW).expect("applying");
        assert!(stale.application.is_none() && stale.stale_reason == "moved");
    }

    #[test]
    fn a_late_decision_makes_nothing() {
        let applied = begun(&pending()).applied(NOW).expect("applying");
        assert_eq!(applied.rejected(NOW), Err(WrongStage { found: Stage::Applied }));
    }
}
