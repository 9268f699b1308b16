//! Tool runs of an agent: requested and settled lie where they happened.

use std::sync::Arc;

use kernel::Scope;
use prompt::derive::Tier;

use super::{Draft, Verb};
use crate::{
    command::Text,
    event::{Body, ToolRequested, ToolSettled},
    rejection::Rejection,
};

/// A tool is asked to run; answers the run's offset.
#[derive(Debug, Clone)]
pub struct RecordToolRun {
    pub name: Arc<str>,
    pub text: Text,
}

/// A tool has answered; answers the event's offset.
#[derive(Debug, Clone)]
pub struct SettleToolRun {
    pub run: u64,
    pub ok: bool,
    pub text: Text,
}

// === impl RecordToolRun ===

impl Verb for RecordToolRun {
    type Outcome = u64;

    fn decide(self, draft: &mut Draft<'_>) -> Result<u64, Rejection> {
        draft.existing()?;
        draft.runs_tools()?;
        draft.close_expired()?;
        let text = self.text.into_string();
        draft.push(Body::ToolRequested(ToolRequested { name: self.name, text }))
    }
}

// === impl SettleToolRun ===

impl Verb for SettleToolRun {
    type Outcome = u64;

    fn decide(self, draft: &mut Draft<'_>) -> Result<u64, Rejection> {
        draft.existing()?;
        draft.runs_tools()?;
        draft.close_expired()?;
        let Self { run, ok, text } = self;
        if !draft.state.tool_runs.contains_key(&run) {
            return Err(Rejection::ToolRunNotOpen(run));
        }
        draft.push(Body::ToolSettled(ToolSettled { run, ok, text: text.into_string() }))
    }
}

// === impl Draft ===

impl Draft<'_> {
    /// Tool runs are an agent's.
    fn runs_tools(&self) -> Result<(), Rejection> {
        match self.envelope.actor.tier {
            Tier::Agent | Tier::Platform => Ok(()),
            Tier::Owner | Tier::Worker => Err(Rejection::ScopeMissing(Scope::TierAgent.name())),
        }
    }
}
