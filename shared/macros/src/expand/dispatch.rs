//! Which family evaluates which macro.

use std::borrow::Cow;

use super::{Evaluator, Value};
use crate::expansion::Code;
use crate::parse::Macro;
use crate::table::Id;
use crate::{chance, chat, names_fields, settings, text, time, variables};

// === impl Evaluator ===

impl<'e> Evaluator<'_, 'e> {
    /// Evaluates a known macro whose arguments are counted.
    pub fn run(
        &mut self,
        id: Id,
        arguments: &[&str],
        one: &Macro,
        is_scoped: bool,
    ) -> Result<Value<'e>, Code> {
        use Id as I;
        self.report.volatile |= id.is_volatile();
        match id {
            I::User | I::Char | I::Group | I::GroupNotMuted | I::NotChar => {
                Ok(names_fields::name(self.environment, id))
            }
            I::Random | I::Pick | I::Roll => chance::evaluate(self, id, arguments, one),
            I::LastMessage | I::LastUserMessage | I::LastCharMessage => Ok(chat::text(self, id)),
            I::MessageNumber
            | I::FirstIncluded
            | I::FirstDisplayed
            | I::SwipeCount
            | I::SwipeNumber
            | I::AllChatRange => Ok(chat::number(self.environment, id)),
            I::Time
            | I::Date
            | I::Weekday
            | I::IsoTime
            | I::IsoDate
            | I::DateTimeFormat
            | I::TimeDiff
            | I::IdleDuration => time::evaluate(self, id, arguments, one),
            I::Set(_)
            | I::Add(_)
            | I::Increment(_)
            | I::Decrement(_)
            | I::Get(_)
            | I::Has(_)
            | I::Delete(_)
            | I::SetKey(_)
            | I::GetKey(_) => variables::evaluate(self, id, arguments),
            I::Newline
            | I::Space
            | I::Noop
            | I::Trim
            | I::Comment
            | I::Reverse
            | I::Banned
            | I::If
            | I::Else
            | I::Separator
            | I::TextCompletion => text::evaluate(self, id, arguments, is_scoped),
            I::Outlet
            | I::Input
            | I::Model
            | I::MaxPrompt
            | I::MaxContext
            | I::MaxResponse
            | I::IsMobile
            | I::LastGenerationType
            | I::HasExtension => Ok(settings::evaluate(self.environment, id, arguments)),
            I::Original => self.take_original(),
            _ => names_fields::field(self, id, arguments),
        }
    }

    fn take_original(&mut self) -> Result<Value<'e>, Code> {
        let text = self.original.ok_or(Code::MacroOriginalUnavailable)?;
        self.original = Some("");
        self.report.original_used = true;
        Ok(Cow::Borrowed(text))
    }
}
