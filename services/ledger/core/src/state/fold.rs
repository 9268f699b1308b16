//! Applying one event: the only way a state changes.

use prompt::item::{Commitment, Content, Item, Message, Section, Stamp, TextRef, Voice};

use super::{Alternative, Ended, Generation, Identity, Slot, State, Touched, Turn, TurnKind};
use crate::event::{
    Body, Cause, ContextAdded, Event, Failure, GenerationStarted, Keyed, LlmRequestRequested,
    Place, SessionCreated, StampTail, TurnCompleted, TurnSeeded,
};

/// An event that does not fit the log before it: the log is damaged or a rule has a bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the event at offset {offset} does not fit the log before it: {fault}")]
pub struct Inconsistent {
    pub offset: u64,
    pub fault: &'static str,
}

// === impl State ===

impl State {
    /// Folds the next event in. An error leaves the state unusable.
    pub fn apply(&mut self, event: &Event) -> Result<(), Inconsistent> {
        let offset = event.meta.offset;
        if offset != self.head.offset + 1 {
            return Err(Inconsistent { offset, fault: "its offset is not the next one" });
        }
        self.fold_body(event).map_err(|fault| Inconsistent { offset, fault })?;
        self.head = event.head();
        Ok(())
    }

    fn fold_body(&mut self, event: &Event) -> Result<(), &'static str> {
        let offset = event.meta.offset;
        match &event.body {
            Body::SessionCreated(body) => self.created(event, body),
            Body::SessionUpdated(body) => self.updated(body.settings.clone()),
            Body::SessionDeleted(_) => self.deleted = true,
            Body::TurnReceived(body) => {
                let text = main_text(offset, &body.text);
                let voice = Voice::Received { turn: body.seq };
                self.new_turn(event, body.seq, body.turn.clone(), TurnKind::Received { text });
                self.say(offset, voice, text);
            }
            Body::TurnImported(body) => {
                let (author, text) = (body.author, main_text(offset, &body.text));
                let kind = TurnKind::Imported { author, text };
                self.new_turn(event, body.seq, body.turn.clone(), kind);
                self.say(offset, Voice::Imported { turn: body.seq, author }, text);
            }
            Body::TurnSeeded(body) => self.seeded(event, body),
            Body::GenerationStarted(body) => return self.started(event, body),
            Body::ContextAdded(body) => return self.added(event, body),
            Body::ContextRewritten(body) => return self.rewritten(event, &body.op),
            Body::LlmRequestRequested(body) => self.requested(event, body),
            Body::TurnCompleted(body) => return self.completed(offset, body),
            Body::TurnFailed(body) => {
                if body.reason == Failure::Window {
                    self.set_unsent_aside();
                }
                return self.ended(body.seq, Ended { aborted: false, offset });
            }
            Body::TurnAborted(body) => {
                return self.ended(body.seq, Ended { aborted: true, offset });
            }
            Body::AlternativeSelected(body) => return self.selected(body),
            Body::TurnEdited(body) => return self.edited(offset, body),
            Body::TurnRetracted(body) => return self.retracted(offset, body),
            Body::ToolRequested(body) => {
                let voice = Voice::ToolRequested { name: body.name.clone() };
                self.say(offset, voice, main_text(offset, &body.text));
                self.tool_runs.insert(offset, event.meta.recorded_at);
            }
            Body::ToolSettled(body) => {
                let asked = self.tool_runs.remove(&body.run).ok_or("its tool run is not open")?;
                let took_ms = event.meta.recorded_at.millis() - asked.millis();
                let voice = Voice::ToolSettled { run: body.run, took_ms };
                self.say(offset, voice, main_text(offset, &body.text));
            }
            Body::WorldChangeProposed(_) | Body::AffectAppraised(_) | Body::MemoryWritten(_) => {}
        }
        Ok(())
    }

    fn created(&mut self, event: &Event, body: &SessionCreated) {
        self.identity = Some(Identity {
            session: event.meta.session.clone(),
            owner: body.owner.clone(),
            created_at: event.meta.recorded_at,
            parent: body.parent.clone(),
        });
        self.settings = body.settings.clone();
        self.deleted = false;
    }

    fn updated(&mut self, settings: crate::Settings) {
        if settings.model != self.settings.model {
            self.cause(Cause::ModelChanged, Touched::Everything);
        }
        if settings.profile_mode != self.settings.profile_mode {
            self.cause(Cause::Mode, Touched::Everything);
        }
        self.settings = settings;
    }

    fn new_turn(&mut self, event: &Event, seq: u64, id: kernel::TurnId, kind: TurnKind) {
        let turn = Turn {
            id,
            offset: event.meta.offset,
            recorded_at: event.meta.recorded_at,
            kind,
            retracted: false,
            in_context: true,
            revision: 0,
        };
        self.turns.insert(seq, turn);
        self.next_seq = seq + 1;
    }

    fn say(&mut self, offset: u64, voice: Voice, text: TextRef) {
        self.items.push(Item::Message(Message { offset, voice, text: Some(text) }));
    }

    fn seeded(&mut self, event: &Event, body: &TurnSeeded) {
        let text = main_text(event.meta.offset, &body.text);
        let (author, class, visibility) = (body.author, body.class, body.visibility);
        let kind = TurnKind::Seeded { author, class, visibility, text };
        self.new_turn(event, body.seq, body.turn.clone(), kind);
        if visibility.model {
            self.say(event.meta.offset, Voice::Authored { turn: body.seq, author, class }, text);
        } else if let Some(turn) = self.turns.get_mut(&body.seq) {
            turn.in_context = false;
        }
    }

    fn started(&mut self, event: &Event, body: &GenerationStarted) -> Result<(), &'static str> {
        let offset = event.meta.offset;
        if let Some(reply) = &body.reply {
            if reply.opens {
                let slot =
                    Slot { own: reply.own, alternatives: vec![], selected: None, ended: None };
                self.new_turn(event, reply.seq, reply.turn.clone(), TurnKind::Slot(slot));
            }
            let turn = self.turns.get_mut(&reply.seq).ok_or("its slot does not exist")?;
            turn.revision += u64::from(!reply.opens);
            let shown = turn.slot().ok_or("its turn is no slot")?.shown();
            if let Some(text) = shown.map(|shown| shown.text) {
                let mut touched = vec![text.offset];
                touched.extend(self.take_back_quotes(reply.seq));
                self.cause(Cause::Regenerate, Touched::Offsets(touched));
            }
        }
        self.generation = Some(Generation {
            id: body.generation.clone(),
            fence: body.fence,
            slot: body.reply.as_ref().map(|reply| reply.seq),
            own: body.reply.as_ref().and_then(|reply| reply.own),
            started: offset,
            guidance: body.guidance.as_ref().map(|text| main_text(offset, text)),
            requested: false,
        });
        Ok(())
    }

    fn added(&mut self, event: &Event, body: &ContextAdded) -> Result<(), &'static str> {
        let offset = event.meta.offset;
        let Some(keyed) = &body.keyed else {
            let content = body.content.as_deref().ok_or("a fact needs a content")?;
            let voice = Voice::Fact { tier: body.tier, actor: body.actor.clone() };
            self.say(offset, voice, main_text(offset, content));
            return Ok(());
        };
        let section = Section {
            offset,
            key: keyed.key.clone(),
            profile: keyed.profile.clone(),
            owner: keyed.owner,
            supersedes: keyed.supersedes,
            content: body.content.as_deref().map(|content| content_of(event, content)),
            quotes: keyed.quotes.clone(),
            rewritten: false,
        };
        self.put(keyed, Item::Section(section))
    }

    fn put(&mut self, keyed: &Keyed, item: Item) -> Result<(), &'static str> {
        match keyed.place {
            Place::Edit(at) => *self.item_mut(at)? = item,
            Place::Drop(at) => {
                let index = self.index_of(at)?;
                self.items.remove(index);
            }
            Place::Before(at) => {
                let index = self.index_of(at)?;
                self.items.insert(index, item);
            }
            Place::Lead => self.items.insert(self.leading_run(), item),
            Place::Tail => self.items.push(item),
        }
        Ok(())
    }

    fn requested(&mut self, event: &Event, body: &LlmRequestRequested) {
        let offset = event.meta.offset;
        self.items.push(Item::Stamp(Stamp { offset, slot: body.slot, at: event.meta.recorded_at }));
        self.last_stamp = offset;
        self.stamped = true;
        self.causes.clear();
        self.active_lore.clone_from(&body.active);
        self.versions = Some(body.versions);
        if body.tail.is_some() {
            self.cause(Cause::Guidance, Touched::Tail);
        }
        if let Some(generation) = &mut self.generation
            && !matches!(body.tail, Some(StampTail::SummaryInstruction(_)))
        {
            generation.requested = true;
            generation.guidance = None;
        }
    }

    fn completed(&mut self, offset: u64, body: &TurnCompleted) -> Result<(), &'static str> {
        let turn = self.turns.get_mut(&body.seq).ok_or("its slot does not exist")?;
        turn.revision += 1;
        let slot = turn.slot_mut().ok_or("its turn is no slot")?;
        slot.alternatives.push(Alternative {
            id: body.alternative.clone(),
            generation: body.generation.clone(),
            completed: offset,
            text: main_text(offset, &body.text),
        });
        slot.selected = Some(slot.alternatives.len() - 1);
        slot.ended = None;
        self.generation = None;
        Ok(())
    }

    /// A message that no request could hold leaves the context: every later request would fail for it too.
    fn set_unsent_aside(&mut self) {
        let own = self.generation.as_ref().and_then(|generation| generation.own);
        let (last_stamp, held) = (self.last_stamp, self.items.len());
        self.items.retain(|item| match item {
            Item::Message(message) => {
                own.is_none() || message.voice.turn() != own || message.offset < last_stamp
            }
            Item::Section(_) | Item::Stamp(_) => true,
        });
        if let Some(turn) = own.and_then(|seq| self.turns.get_mut(&seq)) {
            turn.in_context &= self.items.len() == held;
        }
    }

    fn ended(&mut self, seq: Option<u64>, ended: Ended) -> Result<(), &'static str> {
        if let Some(seq) = seq {
            let turn = self.turns.get_mut(&seq).ok_or("its slot does not exist")?;
            turn.revision += 1;
            turn.slot_mut().ok_or("its turn is no slot")?.ended = Some(ended);
        }
        self.generation = None;
        Ok(())
    }

    fn index_of(&self, offset: u64) -> Result<usize, &'static str> {
        let found = self.items.iter().rposition(|item| item.offset() == offset);
        found.ok_or("the item that it names is not in the context")
    }

    fn item_mut(&mut self, offset: u64) -> Result<&mut Item, &'static str> {
        let index = self.index_of(offset)?;
        Ok(&mut self.items[index])
    }
}

/// The main text of an event.
pub(super) fn main_text(offset: u64, text: &str) -> TextRef {
    part_text(offset, 0, text)
}

/// One of an event's texts.
pub(super) fn part_text(offset: u64, part: u16, text: &str) -> TextRef {
    TextRef { offset, part, bytes: u32::try_from(text.len()).unwrap_or(u32::MAX) }
}

/// A section's content: where it lies, and its commitment under the event's own salt.
pub(super) fn content_of(event: &Event, content: &str) -> Content {
    Content {
        text: main_text(event.meta.offset, content),
        commitment: Commitment::new(event.salt, content),
    }
}
