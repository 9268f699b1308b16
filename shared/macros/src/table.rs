//! Every macro: its names, how many arguments it takes, and what family evaluates it.

use crate::expansion::Field;

/// A macro that this crate knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Id {
    User,
    Char,
    Group,
    GroupNotMuted,
    NotChar,
    Description,
    Personality,
    Scenario,
    Persona,
    CharPrompt,
    CharInstruction,
    CharDepthPrompt,
    CreatorNotes,
    Version,
    MesExamplesRaw,
    MesExamples,
    Greeting,
    Original,
    Newline,
    Space,
    Noop,
    Trim,
    Comment,
    Reverse,
    Banned,
    Random,
    Pick,
    Roll,
    Time,
    Date,
    Weekday,
    IsoTime,
    IsoDate,
    DateTimeFormat,
    TimeDiff,
    IdleDuration,
    LastMessage,
    LastUserMessage,
    LastCharMessage,
    MessageNumber,
    FirstIncluded,
    FirstDisplayed,
    SwipeCount,
    SwipeNumber,
    AllChatRange,
    Set(crate::Scope),
    Add(crate::Scope),
    Increment(crate::Scope),
    Decrement(crate::Scope),
    Get(crate::Scope),
    Has(crate::Scope),
    Delete(crate::Scope),
    SetKey(crate::Scope),
    GetKey(crate::Scope),
    If,
    Else,
    Outlet,
    Input,
    Model,
    MaxPrompt,
    MaxContext,
    MaxResponse,
    IsMobile,
    LastGenerationType,
    HasExtension,
    /// What text completion puts between examples and before a chat.
    Separator,
    /// The card's system prompt in the template of text completion.
    SystemPrompt,
    /// Templates of text completion, which do not exist here.
    TextCompletion,
}

/// How many arguments a macro takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arity {
    Between(usize, usize),
    /// Any number, and no scope.
    List,
}

/// No name is longer.
const NAME_BYTES_MAX: usize = 32;

/// The macro of a name in any case.
pub(crate) fn find(name: &str) -> Option<Id> {
    let mut lower = [0; NAME_BYTES_MAX];
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    by_lower_name(std::str::from_utf8(lower).ok()?)
}

/// A macro with so many arguments takes a scope as one more. Unknown ones do.
pub(crate) fn accepts_scope(id: Option<Id>, arguments: usize) -> bool {
    match id.map(Id::arity) {
        None => true,
        Some(Arity::List) => false,
        Some(Arity::Between(least, most)) => (least..=most).contains(&(arguments + 1)),
    }
}

fn by_lower_name(name: &str) -> Option<Id> {
    use crate::Scope::{Global, Local};
    Some(match name {
        "user" => Id::User,
        "char" => Id::Char,
        "group" | "charifnotgroup" => Id::Group,
        "groupnotmuted" => Id::GroupNotMuted,
        "notchar" => Id::NotChar,
        "description" | "chardescription" => Id::Description,
        "personality" | "charpersonality" => Id::Personality,
        "scenario" | "charscenario" => Id::Scenario,
        "persona" => Id::Persona,
        "charprompt" => Id::CharPrompt,
        "charinstruction" => Id::CharInstruction,
        "chardepthprompt" => Id::CharDepthPrompt,
        "creatornotes" | "charcreatornotes" => Id::CreatorNotes,
        "charversion" | "version" | "char_version" => Id::Version,
        "mesexamplesraw" => Id::MesExamplesRaw,
        "mesexamples" => Id::MesExamples,
        "greeting" | "charfirstmessage" => Id::Greeting,
        "original" => Id::Original,
        "newline" => Id::Newline,
        "space" => Id::Space,
        "noop" => Id::Noop,
        "trim" => Id::Trim,
        "//" | "comment" => Id::Comment,
        "reverse" => Id::Reverse,
        "banned" => Id::Banned,
        "random" => Id::Random,
        "pick" => Id::Pick,
        "roll" => Id::Roll,
        "time" => Id::Time,
        "date" => Id::Date,
        "weekday" => Id::Weekday,
        "isotime" => Id::IsoTime,
        "isodate" => Id::IsoDate,
        "datetimeformat" => Id::DateTimeFormat,
        "timediff" => Id::TimeDiff,
        "idleduration" | "idle_duration" => Id::IdleDuration,
        "lastmessage" => Id::LastMessage,
        "lastusermessage" => Id::LastUserMessage,
        "lastcharmessage" => Id::LastCharMessage,
        "lastmessageid" => Id::MessageNumber,
        "firstincludedmessageid" => Id::FirstIncluded,
        "firstdisplayedmessageid" => Id::FirstDisplayed,
        "lastswipeid" => Id::SwipeCount,
        "currentswipeid" => Id::SwipeNumber,
        "allchatrange" => Id::AllChatRange,
        "setvar" => Id::Set(Local),
        "addvar" => Id::Add(Local),
        "incvar" => Id::Increment(Local),
        "decvar" => Id::Decrement(Local),
        "getvar" => Id::Get(Local),
        "hasvar" | "varexists" => Id::Has(Local),
        "deletevar" | "flushvar" => Id::Delete(Local),
        "setvarkey" | "setvarindex" => Id::SetKey(Local),
        "getvarkey" | "getvarindex" => Id::GetKey(Local),
        "setglobalvar" => Id::Set(Global),
        "addglobalvar" => Id::Add(Global),
        "incglobalvar" => Id::Increment(Global),
        "decglobalvar" => Id::Decrement(Global),
        "getglobalvar" => Id::Get(Global),
        "hasglobalvar" | "globalvarexists" => Id::Has(Global),
        "deleteglobalvar" | "flushglobalvar" => Id::Delete(Global),
        "setglobalvarkey" | "setglobalvarindex" => Id::SetKey(Global),
        "getglobalvarkey" | "getglobalvarindex" => Id::GetKey(Global),
        "if" => Id::If,
        "else" => Id::Else,
        "outlet" => Id::Outlet,
        "input" => Id::Input,
        "model" => Id::Model,
        "maxprompt" | "maxprompttokens" => Id::MaxPrompt,
        "maxcontext" | "maxcontexttokens" => Id::MaxContext,
        "maxresponse" | "maxresponsetokens" => Id::MaxResponse,
        "ismobile" => Id::IsMobile,
        "lastgenerationtype" => Id::LastGenerationType,
        "hasextension" => Id::HasExtension,
        "systemprompt" => Id::SystemPrompt,
        "exampleseparator" | "chatseparator" | "chatstart" => Id::Separator,
        "defaultsystemprompt"
        | "instructsystem"
        | "instructsystemprompt"
        | "instructstorystringprefix"
        | "instructstorystringsuffix"
        | "instructuserprefix"
        | "instructinput"
        | "instructusersuffix"
        | "instructassistantprefix"
        | "instructoutput"
        | "instructassistantsuffix"
        | "instructseparator"
        | "instructsystemprefix"
        | "instructsystemsuffix"
        | "instructfirstassistantprefix"
        | "instructfirstoutputprefix"
        | "instructlastassistantprefix"
        | "instructlastoutputprefix"
        | "instructstop"
        | "instructuserfiller"
        | "instructsysteminstructionprefix"
        | "instructfirstuserprefix"
        | "instructfirstinput"
        | "instructlastuserprefix"
        | "instructlastinput" => Id::TextCompletion,
        _ => return None,
    })
}

// === impl Id ===

impl Id {
    pub fn arity(self) -> Arity {
        match self {
            Self::Random | Self::Pick => Arity::List,
            Self::Trim | Self::Newline | Self::Space | Self::Greeting | Self::Time => {
                Arity::Between(0, 1)
            }
            Self::Comment
            | Self::Reverse
            | Self::Banned
            | Self::Roll
            | Self::DateTimeFormat
            | Self::Outlet
            | Self::HasExtension
            | Self::Increment(_)
            | Self::Decrement(_)
            | Self::Get(_)
            | Self::Has(_)
            | Self::Delete(_) => Arity::Between(1, 1),
            Self::If | Self::TimeDiff | Self::Set(_) | Self::Add(_) | Self::GetKey(_) => {
                Arity::Between(2, 2)
            }
            Self::SetKey(_) => Arity::Between(3, 3),
            _ => Arity::Between(0, 0),
        }
    }

    /// The field that it reads.
    pub fn field(self) -> Option<Field> {
        Some(match self {
            Self::Description => Field::Description,
            Self::Personality => Field::Personality,
            Self::Scenario => Field::Scenario,
            Self::Persona => Field::Persona,
            Self::CharPrompt | Self::SystemPrompt => Field::SystemPrompt,
            Self::CharInstruction => Field::PostHistory,
            Self::CharDepthPrompt => Field::DepthPrompt,
            Self::CreatorNotes => Field::CreatorNotes,
            Self::Version => Field::Version,
            Self::MesExamples | Self::MesExamplesRaw => Field::MesExamples,
            Self::Greeting => Field::Greeting,
            _ => return None,
        })
    }

    /// The value depends on the clock, on chance or on the newest messages.
    pub fn is_volatile(self) -> bool {
        matches!(
            self,
            Self::Random
                | Self::Pick
                | Self::Roll
                | Self::Time
                | Self::Date
                | Self::Weekday
                | Self::IsoTime
                | Self::IsoDate
                | Self::DateTimeFormat
                | Self::IdleDuration
                | Self::LastMessage
                | Self::LastUserMessage
                | Self::LastCharMessage
                | Self::MessageNumber
                | Self::FirstIncluded
                | Self::FirstDisplayed
                | Self::SwipeCount
                | Self::SwipeNumber
                | Self::AllChatRange
                | Self::Input
                | Self::LastGenerationType
        )
    }
}

// === impl Arity ===

impl Arity {
    pub fn allows(self, arguments: usize) -> bool {
        match self {
            Self::List => true,
            Self::Between(least, most) => (least..=most).contains(&arguments),
        }
    }
}
