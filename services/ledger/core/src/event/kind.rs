//! The kinds of events under their stored names, which never change.

use std::fmt;

macro_rules! kinds {
    ($($variant:ident = $name:literal,)*) => {
        /// What sort of thing happened.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($variant,)*
        }

        impl Kind {
            pub const ALL: &'static [Kind] = &[$(Self::$variant,)*];

            /// The stored name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    SessionCreated = "session-created",
    SessionUpdated = "session-updated",
    TurnReceived = "turn-received",
    TurnSeeded = "turn-seeded",
    TurnImported = "turn-imported",
    GenerationStarted = "generation-started",
    ContextAdded = "context-added",
    ContextRewritten = "context-rewritten",
    LlmRequestRequested = "llm-request-requested",
    TurnCompleted = "turn-completed",
    TurnFailed = "turn-failed",
    TurnAborted = "turn-aborted",
    AlternativeSelected = "alternative-selected",
    TurnEdited = "turn-edited",
    TurnRetracted = "turn-retracted",
    ToolRequested = "tool-requested",
    ToolSettled = "tool-settled",
    WorldChangeProposed = "world-change-proposed",
    AffectAppraised = "affect-appraised",
    MemoryWritten = "memory-written",
    SessionDeleted = "session-deleted",
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
