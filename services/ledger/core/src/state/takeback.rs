//! Taking turns back: edit, retract, select, and what they do to summaries and quoting sections.

use prompt::item::{Item, TextRef, Voice};

use super::{
    State, Touched, TurnKind,
    fold::{main_text, part_text},
};
use crate::event::{AlternativeSelected, Cause, NewSummary, TurnEdited, TurnRetracted};

// === impl State ===

impl State {
    pub(super) fn selected(&mut self, body: &AlternativeSelected) -> Result<(), &'static str> {
        let turn = self.turns.get_mut(&body.seq).ok_or("its slot does not exist")?;
        turn.revision += 1;
        let slot = turn.slot_mut().ok_or("its turn is no slot")?;
        let mut touched: Vec<u64> =
            slot.shown().map(|shown| shown.text.offset).into_iter().collect();
        let chosen = slot.find(&body.alternative).ok_or("its alternative does not exist")?;
        slot.selected = Some(chosen);
        touched.extend(self.take_back_quotes(body.seq));
        self.cause(Cause::Select, Touched::Offsets(touched));
        Ok(())
    }

    pub(super) fn edited(&mut self, offset: u64, body: &TurnEdited) -> Result<(), &'static str> {
        let new = main_text(offset, &body.text);
        let turn = self.turns.get_mut(&body.seq).ok_or("its turn does not exist")?;
        turn.revision += 1;
        let mut touched = Vec::new();
        match &mut turn.kind {
            TurnKind::Received { text }
            | TurnKind::Seeded { text, .. }
            | TurnKind::Imported { text, .. } => *text = new,
            TurnKind::Slot(slot) => {
                let at = body.alternative.as_ref().and_then(|id| slot.find(id));
                let edited = at.and_then(|at| slot.alternatives.get_mut(at));
                let edited = edited.ok_or("its alternative does not exist")?;
                touched.push(std::mem::replace(&mut edited.text, new).offset);
            }
        }
        for item in &mut self.items {
            if let Item::Message(message) = item
                && message.voice.turn() == Some(body.seq)
            {
                message.text = Some(new);
                touched.push(message.offset);
            }
        }
        touched.extend(self.take_back_summaries(offset, body.seq, &body.summaries));
        touched.extend(self.take_back_quotes(body.seq));
        self.cause(Cause::Edit, Touched::Offsets(touched));
        Ok(())
    }

    pub(super) fn retracted(
        &mut self,
        offset: u64,
        body: &TurnRetracted,
    ) -> Result<(), &'static str> {
        let turn = self.turns.get_mut(&body.seq).ok_or("its turn does not exist")?;
        turn.revision += 1;
        turn.retracted = true;
        let mut touched: Vec<u64> = match turn.slot() {
            Some(slot) => slot.alternatives.iter().map(|reply| reply.text.offset).collect(),
            None => Vec::new(),
        };
        self.items.retain(|item| match item {
            Item::Message(message) if message.voice.turn() == Some(body.seq) => {
                touched.push(message.offset);
                false
            }
            _ => true,
        });
        touched.extend(self.take_back_summaries(offset, body.seq, &body.summaries));
        touched.extend(self.take_back_quotes(body.seq));
        self.cause(Cause::Retract, Touched::Offsets(touched));
        Ok(())
    }

    /// Every section whose macros quoted the turn becomes an empty withdrawn one; answers their offsets.
    pub(super) fn take_back_quotes(&mut self, seq: u64) -> Vec<u64> {
        let mut touched = Vec::new();
        for item in &mut self.items {
            if let Item::Section(section) = item
                && section.quotes.contains(&seq)
            {
                section.take_back();
                touched.push(section.offset);
            }
        }
        touched
    }

    /// Every summary that covers the turn gets its new text, or becomes one fixed line.
    fn take_back_summaries(&mut self, offset: u64, seq: u64, new: &[NewSummary]) -> Vec<u64> {
        let mut touched = Vec::new();
        for item in &mut self.items {
            let Item::Message(message) = item else { continue };
            let Voice::Summary { covers } = &mut message.voice else { continue };
            if !covers.contains(&seq) {
                continue;
            }
            message.text = summary_text(offset, message.offset, new);
            if message.text.is_none() {
                covers.clear();
            }
            touched.push(message.offset);
        }
        touched
    }
}

fn summary_text(offset: u64, summary: u64, new: &[NewSummary]) -> Option<TextRef> {
    let at = new.iter().position(|new| new.offset == summary)?;
    let part = u16::try_from(at + 1).ok()?;
    Some(part_text(offset, part, &new[at].text))
}
