//! The model role of every item: one pure function of where it comes from (20-ledger, rule 5.8).
//!
//! No caller sends a role. What may be claimed is decided at the gate; what it looks like, here.

use serde::{Deserialize, Serialize};

use crate::message::Role;

/// How far a caller of the context door is trusted; the order is the order of trust, highest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    Worker,
    Agent,
    Owner,
    Platform,
}

/// Who a turn says wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    User,
    Assistant,
    System,
}

/// What an authored turn is to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnClass {
    /// A reply that sets the tone by example.
    AssistantOutput,
    /// What happens in the scene.
    Narration,
    /// What the model is told to do.
    Instruction,
}

/// Where a block of a JOURNAL request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The fixed text that explains the form.
    Protocol,
    /// The leading run of sections.
    StandingDocument,
    /// A section behind the standing document.
    LaterSection,
    /// The line of one request.
    Stamp,
    /// A tool run, requested or settled.
    ToolRun,
    /// Context without a key.
    Fact(Tier),
    /// A user's message.
    Received,
    /// A generated reply.
    Reply,
    /// A turn written without generation.
    Authored(TurnClass),
    /// A turn of an imported chat.
    Imported(Author),
    /// What stands for a compacted range.
    Summary,
    /// The last block of one request, never history.
    Guidance,
    /// The last block of a request that asks for a summary.
    SummaryInstruction,
}

/// The role that a block of this source has.
pub const fn role(source: Source) -> Role {
    match source {
        Source::Protocol | Source::StandingDocument => Role::System,
        Source::LaterSection
        | Source::Stamp
        | Source::ToolRun
        | Source::Fact(Tier::Platform | Tier::Agent | Tier::Worker)
        | Source::Authored(TurnClass::Narration | TurnClass::Instruction)
        | Source::Imported(Author::System)
        | Source::Guidance
        | Source::SummaryInstruction => Role::Developer,
        Source::Fact(Tier::Owner)
        | Source::Received
        | Source::Imported(Author::User)
        | Source::Summary => Role::User,
        Source::Reply
        | Source::Authored(TurnClass::AssistantOutput)
        | Source::Imported(Author::Assistant) => Role::Assistant,
    }
}

/// The class that an imported turn is rendered as, where it is wrapped: only the system's are.
pub const fn imported_class(author: Author) -> Option<TurnClass> {
    match author {
        Author::System => Some(TurnClass::Narration),
        Author::User | Author::Assistant => None,
    }
}

/// Whether this author may write a turn of this class (20-ledger, section 4). A user never may.
pub const fn may_author(author: Author, class: TurnClass) -> bool {
    match author {
        Author::User => false,
        Author::Assistant => matches!(class, TurnClass::AssistantOutput | TurnClass::Narration),
        Author::System => matches!(class, TurnClass::Narration | TurnClass::Instruction),
    }
}

// === impl Tier ===

impl Tier {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Agent => "agent",
            Self::Owner => "owner",
            Self::Platform => "platform",
        }
    }

    /// Whether an unkeyed fact of this tier begins with a line that names its actor.
    pub const fn names_its_actor(self) -> bool {
        matches!(self, Self::Agent | Self::Worker)
    }
}

// === impl Author ===

impl Author {
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
        }
    }
}

// === impl TurnClass ===

impl TurnClass {
    /// The value of the `class` attribute.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AssistantOutput => "assistant_output",
            Self::Narration => "narration",
            Self::Instruction => "instruction",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: Source, expected: Role) {
        assert_eq!(role(source), expected);
    }

    #[test]
    fn what_stands_is_the_systems() {
        check(Source::Protocol, Role::System);
        check(Source::StandingDocument, Role::System);
    }

    #[test]
    fn what_lands_later_is_the_developers() {
        check(Source::LaterSection, Role::Developer);
        check(Source::Stamp, Role::Developer);
        check(Source::ToolRun, Role::Developer);
        check(Source::Guidance, Role::Developer);
        check(Source::SummaryInstruction, Role::Developer);
    }

    #[test]
    fn only_the_owners_unkeyed_context_speaks_as_the_user() {
        check(Source::Fact(Tier::Owner), Role::User);
        check(Source::Fact(Tier::Platform), Role::Developer);
        check(Source::Fact(Tier::Agent), Role::Developer);
        check(Source::Fact(Tier::Worker), Role::Developer);
    }

    #[test]
    fn only_agents_and_workers_are_named() {
        assert!(Tier::Agent.names_its_actor() && Tier::Worker.names_its_actor());
        assert!(!Tier::Owner.names_its_actor() && !Tier::Platform.names_its_actor());
    }

    #[test]
    fn turns_speak_as_who_wrote_them() {
        check(Source::Received, Role::User);
        check(Source::Summary, Role::User);
        check(Source::Reply, Role::Assistant);
        check(Source::Authored(TurnClass::AssistantOutput), Role::Assistant);
        check(Source::Authored(TurnClass::Narration), Role::Developer);
        check(Source::Authored(TurnClass::Instruction), Role::Developer);
        check(Source::Imported(Author::User), Role::User);
        check(Source::Imported(Author::Assistant), Role::Assistant);
        check(Source::Imported(Author::System), Role::Developer);
    }

    #[test]
    fn a_user_is_never_injectable_and_only_the_system_instructs() {
        let allowed: Vec<_> = [Author::User, Author::Assistant, Author::System]
            .into_iter()
            .flat_map(|author| {
                [TurnClass::AssistantOutput, TurnClass::Narration, TurnClass::Instruction]
                    .into_iter()
                    .filter(move |&class| may_author(author, class))
                    .map(move |class| (author, class))
            })
            .collect();
        assert_eq!(
            allowed,
            [
                (Author::Assistant, TurnClass::AssistantOutput),
                (Author::Assistant, TurnClass::Narration),
                (Author::System, TurnClass::Narration),
                (Author::System, TurnClass::Instruction),
            ]
        );
    }
}
