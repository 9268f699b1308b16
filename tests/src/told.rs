//! What a turn told its caller, frame by frame.

use wire::ledger::v1::{
    EvaluationState, RequestSent, Turn, TurnCompleted, TurnFailed, TurnFrame, TurnStarted,
    WorldChangeProposed, turn_frame::Frame,
};

/// The frames of one turn, in the order in which they came.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Told {
    pub frames: Vec<Frame>,
}

// === impl Told ===

impl Told {
    pub fn push(&mut self, frame: Option<TurnFrame>) {
        self.frames.extend(frame.and_then(|frame| frame.frame));
    }

    /// The frames' names; deltas in a row are named once.
    pub fn kinds(&self) -> Vec<&'static str> {
        let mut kinds: Vec<_> = self.frames.iter().map(kind).collect();
        kinds.dedup_by(|a, b| a == b && *a == "delta");
        kinds
    }

    pub fn started(&self) -> &TurnStarted {
        self.find("turn_started", |frame| match frame {
            Frame::TurnStarted(started) => Some(started),
            _ => None,
        })
    }

    pub fn request(&self) -> &RequestSent {
        self.find("request_sent", |frame| match frame {
            Frame::RequestSent(sent) => Some(sent),
            _ => None,
        })
    }

    pub fn completed(&self) -> &TurnCompleted {
        self.find("turn_completed", |frame| match frame {
            Frame::TurnCompleted(completed) => Some(completed),
            _ => None,
        })
    }

    pub fn failed(&self) -> &TurnFailed {
        self.find("failed", |frame| match frame {
            Frame::Failed(failed) => Some(failed),
            _ => None,
        })
    }

    pub fn reply(&self) -> &Turn {
        self.completed().turn.as_ref().expect("a completed turn holds it")
    }

    /// The changesets that the turn led to.
    pub fn proposed(&self) -> Vec<&WorldChangeProposed> {
        let proposed = self.frames.iter().filter_map(|frame| match frame {
            Frame::WorldChangeProposed(change) => Some(change),
            _ => None,
        });
        proposed.collect()
    }

    /// How the evaluation ended, from the last frame.
    pub fn evaluation(&self) -> EvaluationState {
        match self.frames.last() {
            Some(Frame::Done(done)) => done.evaluation(),
            other => panic!("done comes last, not {other:?}"),
        }
    }

    /// Codes of the profile's diagnostics.
    pub fn diagnostics(&self) -> Vec<&str> {
        let profile = self.find("profile", |frame| match frame {
            Frame::Profile(profile) => Some(profile),
            _ => None,
        });
        profile.diagnostics.iter().map(|diagnostic| diagnostic.code.as_str()).collect()
    }

    /// The deltas joined, each where the one before it ended.
    pub fn text(&self) -> String {
        self.text_after(0)
    }

    /// As [`Told::text`], for deltas that begin at a byte.
    pub fn text_after(&self, start: u64) -> String {
        let mut text = String::new();
        for frame in &self.frames {
            if let Frame::Delta(delta) = frame {
                let here = start + text.len() as u64;
                assert_eq!(delta.offset, here, "deltas without gap or overlap");
                text.push_str(&delta.text);
            }
        }
        text
    }

    /// The text as its reader keeps it: a delta takes the place of whatever was behind its offset, so that an
    /// attempt that takes over begins it anew.
    pub fn kept(&self) -> String {
        let mut text = String::new();
        for frame in &self.frames {
            if let Frame::Delta(delta) = frame {
                let at = usize::try_from(delta.offset).expect("a small text");
                assert!(at <= text.len(), "deltas without gap");
                text.truncate(at);
                text.push_str(&delta.text);
            }
        }
        text
    }

    fn find<'a, T>(&'a self, name: &str, pick: impl Fn(&'a Frame) -> Option<&'a T>) -> &'a T {
        let found = self.frames.iter().find_map(pick);
        found.unwrap_or_else(|| panic!("no {name} among {:#?}", self.frames))
    }
}

fn kind(frame: &Frame) -> &'static str {
    match frame {
        Frame::TurnStarted(_) => "turn_started",
        Frame::Profile(_) => "profile",
        Frame::RequestSent(_) => "request_sent",
        Frame::Delta(_) => "delta",
        Frame::TurnCompleted(_) => "turn_completed",
        Frame::WorldChangeProposed(_) => "world_change_proposed",
        Frame::Done(_) => "done",
        Frame::Failed(_) => "failed",
        Frame::Aborted(_) => "aborted",
    }
}
