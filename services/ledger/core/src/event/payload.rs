//! What each kind of event says, in the version that is written. Changing a field means a new version.

use std::sync::Arc;

use kernel::{
    AlternativeId, ChangesetId, Digest, EvaluationId, GenerationId, Owner, SessionId, Timestamp,
    TurnId, WorldId,
};
use prompt::{
    ProfileMode,
    derive::{Author, Tier, TurnClass},
    item::ProfileMark,
    journal::RenderVersion,
    prefix::SharedPrefix,
};
use serde::{Deserialize, Serialize};

use crate::settings::{ModelChoice, Settings};

macro_rules! payloads {
    ($($(#[$doc:meta])* pub struct $name:ident { $($body:tt)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($body)* }
    )*};
}

payloads! {
    /// A session begins; the first event of its own log.
    pub struct SessionCreated {
        pub owner: Owner,
        pub settings: Settings,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub parent: Option<Parent>,
    }

    /// Where a session comes from.
    pub struct Parent {
        pub session: SessionId,
        pub relation: Relation,
        /// The last offset that is shared; 0 for a delegated child, which shares nothing.
        pub at: u64,
    }

    /// The settings from here on, as a whole.
    pub struct SessionUpdated {
        pub settings: Settings,
    }

    /// A user's message.
    pub struct TurnReceived {
        pub seq: u64,
        pub turn: TurnId,
        pub text: String,
    }

    /// A turn written without generation.
    pub struct TurnSeeded {
        pub seq: u64,
        pub turn: TurnId,
        pub text: String,
        /// Who is claimed to have written it; the writer itself is the event's actor.
        pub author: Author,
        pub class: TurnClass,
        pub effects: Effects,
        pub visibility: Visibility,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub claimed_at: Option<Timestamp>,
        /// Where the caller says that it comes from.
        pub origin: String,
        /// How far its writer was trusted.
        pub trust: Tier,
    }

    /// A turn of an imported chat.
    pub struct TurnImported {
        pub seq: u64,
        pub turn: TurnId,
        pub text: String,
        pub author: Author,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub claimed_at: Option<Timestamp>,
    }

    /// A generation takes the session's place for one; a higher fence takes over a dead one.
    pub struct GenerationStarted {
        pub generation: GenerationId,
        pub fence: u64,
        /// None: a caller's compaction, which makes no turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reply: Option<ReplyTarget>,
        /// Steers this reply only; never history.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub guidance: Option<String>,
    }

    /// The slot that a generation fills.
    pub struct ReplyTarget {
        pub seq: u64,
        pub turn: TurnId,
        /// The slot is made by this event.
        pub opens: bool,
        /// The user's message that it answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub own: Option<u64>,
    }

    /// Content enters the context.
    pub struct ContextAdded {
        /// None: the key is withdrawn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub content: Option<String>,
        pub tier: Tier,
        /// How its actor is named in the context.
        pub actor: Arc<str>,
        /// None: a message at the tail.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub keyed: Option<Keyed>,
    }

    /// Where a section goes and what it is.
    pub struct Keyed {
        pub key: Arc<str>,
        pub place: Place,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub supersedes: Option<u64>,
        /// The tier that first added the key.
        pub owner: Tier,
        /// Landed by the ledger for the loader.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub profile: Option<ProfileMark>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub quotes: Vec<u64>,
    }

    /// History is rewritten deliberately.
    pub struct ContextRewritten {
        pub op: Rewrite,
    }

    /// Everything before a turn is replaced.
    pub struct RangeRewrite {
        pub before: u64,
        /// None: trimmed without a summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub summary: Option<String>,
        /// The turns that the summary stands for, its predecessor's included.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub covers: Vec<u64>,
        /// Lore keys in effect; other lore is dropped.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub active: Vec<Arc<str>>,
        /// The compaction's own generation, which ends with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub closes: Option<GenerationId>,
    }

    /// A request to a model: its stamp.
    pub struct LlmRequestRequested {
        pub generation: GenerationId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub slot: Option<u64>,
        pub mode: ProfileMode,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub model: Option<ModelChoice>,
        pub versions: Versions,
        /// The hash of the blocks that were rendered.
        pub sent: Digest,
        /// Sampling and the like, as the compile gave it.
        pub call_config: serde_json::Value,
        /// Lore keys of the compile in force.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub active: Vec<Arc<str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub tail: Option<StampTail>,
        pub shared: SharedPrefix,
        /// Why the previous request's bytes do not begin this one's, where they do not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub broken: Option<Break>,
        /// What the provider's adapter had to add.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub normalizations: Vec<String>,
    }

    /// The forms that a session's requests keep.
    #[derive(Copy)]
    pub struct Versions {
        pub render: RenderVersion,
        pub adapter: u32,
    }

    /// A broken prefix.
    #[derive(Copy)]
    pub struct Break {
        pub cause: Cause,
        /// The first block that differs.
        pub block: u32,
    }

    /// A reply was generated to its end.
    pub struct TurnCompleted {
        pub generation: GenerationId,
        pub fence: u64,
        pub seq: u64,
        pub alternative: AlternativeId,
        pub text: String,
        pub usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub finish: Option<String>,
        /// Timed lore effects and variables after this reply, as the compile gave them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub carry: Option<serde_json::Value>,
    }

    /// Tokens as the provider counted them.
    #[derive(Copy, Default)]
    pub struct Usage {
        pub input_tokens: u64,
        pub output_tokens: u64,
        /// Of the input, read from the provider's cache.
        #[serde(default)]
        pub cached_tokens: u64,
    }

    /// A generation failed.
    pub struct TurnFailed {
        pub generation: GenerationId,
        pub fence: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub seq: Option<u64>,
        pub reason: Failure,
        /// For people: what the provider or the compile said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub detail: Option<String>,
        /// Kept for reading, never in the context.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub partial: Option<String>,
    }

    /// A generation was stopped.
    pub struct TurnAborted {
        pub generation: GenerationId,
        pub fence: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub seq: Option<u64>,
        pub reason: AbortReason,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub partial: Option<String>,
    }

    /// Another reply of a slot is shown.
    pub struct AlternativeSelected {
        pub seq: u64,
        pub alternative: AlternativeId,
    }

    /// A turn's text is replaced; of a slot, that of one alternative.
    pub struct TurnEdited {
        pub seq: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub alternative: Option<AlternativeId>,
        pub text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub summaries: Vec<NewSummary>,
    }

    /// A turn is taken back.
    pub struct TurnRetracted {
        pub seq: u64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub summaries: Vec<NewSummary>,
    }

    /// A summary that covered a taken-back turn, written anew without it.
    pub struct NewSummary {
        /// The summary's own offset.
        pub offset: u64,
        pub text: String,
    }

    /// A tool was asked to run.
    pub struct ToolRequested {
        pub name: Arc<str>,
        pub text: String,
    }

    /// A tool has answered.
    pub struct ToolSettled {
        /// The offset of the request.
        pub run: u64,
        pub ok: bool,
        pub text: String,
    }

    /// A finished turn's evaluation proposes changes of lore.
    pub struct WorldChangeProposed {
        pub seq: u64,
        pub alternative: AlternativeId,
        pub evaluation: EvaluationId,
        pub changesets: Vec<ProposedChangeset>,
    }

    /// One proposed changeset.
    pub struct ProposedChangeset {
        pub changeset: ChangesetId,
        pub world: WorldId,
        /// As it was called then.
        pub world_name: String,
        pub operations: u32,
        pub summary: String,
    }

    /// A lived turn was appraised; thousandths, from -1000 to 1000.
    pub struct AffectAppraised {
        pub seq: u64,
        pub alternative: AlternativeId,
        pub appraisal: Affect,
        /// Where the state stands after it.
        pub state: Affect,
    }

    /// Pleasure, arousal and dominance in thousandths.
    #[derive(Copy, Default)]
    pub struct Affect {
        pub pleasure: i32,
        pub arousal: i32,
        pub dominance: i32,
    }

    /// A turn became searchable memory.
    pub struct MemoryWritten {
        pub seq: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub alternative: Option<AlternativeId>,
        pub origin: MemoryOrigin,
        pub trust: Tier,
    }

    /// The session is hidden.
    pub struct SessionDeleted {}
}

macro_rules! words {
    ($($(#[$doc:meta])* pub enum $name:ident { $($(#[$vdoc:meta])* $variant:ident),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$vdoc])* $variant),* }
    )*};
}

words! {
    /// How a session relates to its parent.
    pub enum Relation { Forked, Delegated }

    /// What an authored turn may do beside being history.
    pub enum Effects { None, MemoryImport }

    /// Why a generation failed.
    pub enum Failure {
        /// The loader could not compile the profile.
        Compile,
        Provider,
        /// The owner died; somebody else's write closed it.
        Lease,
        /// The window is full and the session refuses to compact.
        Window,
        /// Stored bytes that the request needs do not match their hash.
        Damaged,
        /// The store stayed away.
        Store,
        Internal,
    }

    /// Who stopped a generation.
    pub enum AbortReason { Caller, Forked, Shutdown }

    /// Why a request does not begin with the previous one's bytes.
    pub enum Cause {
        Rewrite,
        Edit,
        Retract,
        Select,
        Regenerate,
        Compact,
        Trim,
        ModelChanged,
        ToolsChanged,
        Mode,
        Guidance,
        /// None of the allowed ones: a bug, recorded rather than hidden.
        Unexplained,
    }

    /// Where a memory comes from.
    pub enum MemoryOrigin { Lived, Authored, Imported }
}

/// Who sees an authored turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Visibility {
    pub model: bool,
    pub user: bool,
    pub memory_eligible: bool,
}

/// Where a new occurrence of a section goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Takes the place of the occurrence with this offset, which no request has sent.
    Edit(u64),
    /// Removes that unsent occurrence: it is withdrawn before anyone saw it.
    Drop(u64),
    /// Just before the item with this offset: the active generation's own user message.
    Before(u64),
    /// At the end of the leading run.
    Lead,
    Tail,
}

/// One deliberate rewrite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rewrite {
    Replace {
        key: Arc<str>,
        content: String,
    },
    DeleteKey {
        key: Arc<str>,
    },
    /// An unkeyed message by its offset.
    DeleteMessage {
        offset: u64,
    },
    /// Everything: sections, messages and stamps.
    DeleteAll,
    Range(RangeRewrite),
}

/// What a stamp's last block was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StampTail {
    /// The guidance of the `generation-started` at this offset.
    Guidance(u64),
    SummaryInstruction(String),
}

// === impl Rewrite ===

impl Rewrite {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Replace { content, .. } => Some(content),
            Self::Range(range) => range.summary.as_deref(),
            Self::DeleteKey { .. } | Self::DeleteMessage { .. } | Self::DeleteAll => None,
        }
    }
}

// === impl LlmRequestRequested ===

impl LlmRequestRequested {
    /// The instruction of a request that asks for a summary.
    pub fn instruction(&self) -> Option<&str> {
        match &self.tail {
            Some(StampTail::SummaryInstruction(text)) => Some(text),
            Some(StampTail::Guidance(_)) | None => None,
        }
    }
}
