//! The body of an event: one variant for each kind, and the texts that it holds.

use super::payload::*;

/// What an event says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    SessionCreated(SessionCreated),
    SessionUpdated(SessionUpdated),
    TurnReceived(TurnReceived),
    TurnSeeded(TurnSeeded),
    TurnImported(TurnImported),
    GenerationStarted(GenerationStarted),
    ContextAdded(ContextAdded),
    ContextRewritten(ContextRewritten),
    LlmRequestRequested(LlmRequestRequested),
    TurnCompleted(TurnCompleted),
    TurnFailed(TurnFailed),
    TurnAborted(TurnAborted),
    AlternativeSelected(AlternativeSelected),
    TurnEdited(TurnEdited),
    TurnRetracted(TurnRetracted),
    ToolRequested(ToolRequested),
    ToolSettled(ToolSettled),
    WorldChangeProposed(WorldChangeProposed),
    AffectAppraised(AffectAppraised),
    MemoryWritten(MemoryWritten),
    SessionDeleted(SessionDeleted),
}

// === impl Body ===

impl Body {
    /// One of the event's texts: 0 is the main one, then the new summaries in order.
    pub fn text(&self, part: u16) -> Option<&str> {
        let (main, summaries): (Option<&str>, &[NewSummary]) = match self {
            Self::TurnReceived(body) => (Some(&body.text), &[]),
            Self::TurnSeeded(body) => (Some(&body.text), &[]),
            Self::TurnImported(body) => (Some(&body.text), &[]),
            Self::GenerationStarted(body) => (body.guidance.as_deref(), &[]),
            Self::ContextAdded(body) => (body.content.as_deref(), &[]),
            Self::ContextRewritten(body) => (body.op.text(), &[]),
            Self::TurnCompleted(body) => (Some(&body.text), &[]),
            Self::TurnFailed(body) => (body.partial.as_deref(), &[]),
            Self::TurnAborted(body) => (body.partial.as_deref(), &[]),
            Self::TurnEdited(body) => (Some(&body.text), &body.summaries),
            Self::TurnRetracted(body) => (None, &body.summaries),
            Self::ToolRequested(body) => (Some(&body.text), &[]),
            Self::ToolSettled(body) => (Some(&body.text), &[]),
            Self::LlmRequestRequested(body) => (body.instruction(), &[]),
            Self::SessionCreated(_)
            | Self::SessionUpdated(_)
            | Self::AlternativeSelected(_)
            | Self::WorldChangeProposed(_)
            | Self::AffectAppraised(_)
            | Self::MemoryWritten(_)
            | Self::SessionDeleted(_) => (None, &[]),
        };
        match part {
            0 => main,
            part => summaries.get(usize::from(part) - 1).map(|summary| summary.text.as_str()),
        }
    }
}
