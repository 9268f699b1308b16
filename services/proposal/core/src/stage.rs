//! The life of a changeset: each decision is a compare-and-swap from one of a few stages to one other.
//!
//! `PENDING → APPLYING → APPLIED | STALE | PENDING` and `PENDING → REJECTED | STALE | SUPERSEDED`. That an
//! applied one was reverted is read from the world's History and not stored a second time.

use serde::{Deserialize, Serialize};

/// Where a changeset stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Pending,
    /// Its operations are frozen under a change id; only the outcome of that change moves it on.
    Applying,
    Applied,
    Rejected,
    /// Its world or its source has moved on.
    Stale,
    /// Judged again.
    Superseded,
}

/// One decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transition {
    /// A person writes other operations; the stage stays.
    Edit,
    /// A person accepts: the operations are frozen.
    BeginApply,
    /// Lorebook has applied the frozen operations.
    RecordApplied,
    /// Lorebook has not and, the change closed, never will; a person may decide again.
    Release,
    /// Lorebook found another revision, the change closed.
    RecordStale,
    /// A person declines.
    Reject,
    /// The source was edited, retracted or deleted, or the turn moved before it was staged.
    Expire,
    /// A new judgement takes its place.
    Supersede,
}

/// A decision that came too late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the changeset is {}", found.name())]
pub struct WrongStage {
    pub found: Stage,
}

// === impl Stage ===

impl Stage {
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Applying,
        Self::Applied,
        Self::Rejected,
        Self::Stale,
        Self::Superseded,
    ];

    /// The stored name, which is also the API's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Applying => "APPLYING",
            Self::Applied => "APPLIED",
            Self::Rejected => "REJECTED",
            Self::Stale => "STALE",
            Self::Superseded => "SUPERSEDED",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }

    /// Waits for a person.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Applying | Self::Stale)
    }

    /// Where a decision leads from here.
    pub fn after(self, transition: Transition) -> Result<Self, WrongStage> {
        match transition.from().contains(&self) {
            true => Ok(transition.to()),
            false => Err(WrongStage { found: self }),
        }
    }
}

// === impl Transition ===

impl Transition {
    /// The stages that allow it: the store swaps from these and no other.
    pub const fn from(self) -> &'static [Stage] {
        match self {
            Self::Edit | Self::BeginApply | Self::Expire => &[Stage::Pending],
            Self::RecordApplied | Self::Release | Self::RecordStale => &[Stage::Applying],
            Self::Reject | Self::Supersede => &[Stage::Pending, Stage::Stale],
        }
    }

    pub const fn to(self) -> Stage {
        match self {
            Self::Edit | Self::Release => Stage::Pending,
            Self::BeginApply => Stage::Applying,
            Self::RecordApplied => Stage::Applied,
            Self::RecordStale | Self::Expire => Stage::Stale,
            Self::Reject => Stage::Rejected,
            Self::Supersede => Stage::Superseded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Transition; 8] = [
        Transition::Edit,
        Transition::BeginApply,
        Transition::RecordApplied,
        Transition::Release,
        Transition::RecordStale,
        Transition::Reject,
        Transition::Expire,
        Transition::Supersede,
    ];

    #[track_caller]
    fn check(from: Stage, transition: Transition, expected: Option<Stage>) {
        assert_eq!(from.after(transition).ok(), expected);
    }

    #[test]
    fn a_pending_changeset_can_be_taken_up() {
        check(Stage::Pending, Transition::BeginApply, Some(Stage::Applying));
    }

    #[test]
    fn while_applying_nothing_else_decides() {
        for transition in [Transition::Reject, Transition::Edit, Transition::Supersede] {
            check(Stage::Applying, transition, None);
        }
    }

    #[test]
    fn an_application_ends_in_one_of_three_ways() {
        check(Stage::Applying, Transition::RecordApplied, Some(Stage::Applied));
        check(Stage::Applying, Transition::RecordStale, Some(Stage::Stale));
        check(Stage::Applying, Transition::Release, Some(Stage::Pending));
    }

    #[test]
    fn a_stale_one_can_be_put_away_but_not_applied() {
        check(Stage::Stale, Transition::Reject, Some(Stage::Rejected));
        check(Stage::Stale, Transition::BeginApply, None);
    }

    #[test]
    fn a_decided_one_stays_decided() {
        for stage in [Stage::Applied, Stage::Rejected, Stage::Superseded] {
            assert!(ALL.into_iter().all(|transition| stage.after(transition).is_err()));
        }
    }

    #[test]
    fn a_late_decision_says_what_it_found() {
        let late = Stage::Applied.after(Transition::Reject).expect_err("too late");
        assert_eq!(late.to_string(), "the changeset is APPLIED");
    }

    #[test]
    fn stored_names_are_read_back() {
        assert!(Stage::ALL.into_iter().all(|stage| Stage::from_name(stage.name()) == Some(stage)));
    }
}
