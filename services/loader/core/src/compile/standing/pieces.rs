//! The places of a standing profile: what each holds, what it is called, and what falls back where.

use super::*;

/// A place for one piece or one group of lore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slot {
    UserDescription,
    LoreBefore,
    SystemPrompt,
    Description,
    Personality,
    Scenario,
    LoreAfter,
    Examples,
    AuthorNote,
    DepthPrompt,
    Greeting,
    PostHistory,
}

/// What the preset has no place for comes behind its prompts, in this order (30-loader, section 4).
const FALLBACK: [Slot; 12] = [
    Slot::UserDescription,
    Slot::LoreBefore,
    Slot::SystemPrompt,
    Slot::Description,
    Slot::Personality,
    Slot::Scenario,
    Slot::LoreAfter,
    Slot::Examples,
    Slot::AuthorNote,
    Slot::DepthPrompt,
    Slot::Greeting,
    Slot::PostHistory,
];

// === impl Slot ===

impl Slot {
    /// The place that a marker opens; `userDescription` and `userPersona` are other names of the seed's.
    pub fn of_marker(identifier: &str) -> Option<Self> {
        Some(match identifier {
            "personaDescription" | "userDescription" | "userPersona" => Self::UserDescription,
            "worldInfoBefore" => Self::LoreBefore,
            "worldInfoAfter" => Self::LoreAfter,
            "charDescription" => Self::Description,
            "charPersonality" => Self::Personality,
            "scenario" => Self::Scenario,
            "dialogueExamples" => Self::Examples,
            _ => return None,
        })
    }

    pub fn of_field(field: Field) -> Option<Self> {
        Some(match field {
            Field::Description => Self::Description,
            Field::Personality => Self::Personality,
            Field::Scenario => Self::Scenario,
            Field::Persona => Self::UserDescription,
            Field::SystemPrompt => Self::SystemPrompt,
            Field::PostHistory => Self::PostHistory,
            Field::DepthPrompt => Self::DepthPrompt,
            Field::MesExamples => Self::Examples,
            Field::Greeting => Self::Greeting,
            Field::CreatorNotes | Field::Version => return None,
        })
    }

    fn field(self) -> Option<Field> {
        Some(match self {
            Self::Description => Field::Description,
            Self::Personality => Field::Personality,
            Self::Scenario => Field::Scenario,
            Self::UserDescription => Field::Persona,
            Self::SystemPrompt => Field::SystemPrompt,
            Self::PostHistory => Field::PostHistory,
            Self::DepthPrompt => Field::DepthPrompt,
            Self::Examples => Field::MesExamples,
            Self::Greeting => Field::Greeting,
            Self::LoreBefore | Self::LoreAfter | Self::AuthorNote => return None,
        })
    }

    /// The `name` of its element.
    const fn name(self) -> &'static str {
        match self {
            Self::UserDescription => "persona-description",
            Self::LoreBefore => "before",
            Self::LoreAfter => "after",
            Self::SystemPrompt => "system-prompt",
            Self::Description => "description",
            Self::Personality => "personality",
            Self::Scenario => "scenario",
            Self::Examples => "message-example",
            Self::AuthorNote => "author-note",
            Self::DepthPrompt => "depth-prompt",
            Self::Greeting => "greeting-reference",
            Self::PostHistory => "post-history-instructions",
        }
    }

    /// Its section key, which is also what diagnostics and the audit call it.
    pub fn place(self) -> Arc<str> {
        match self {
            Self::UserDescription => "user:description".into(),
            Self::AuthorNote => note::KEY.into(),
            Self::LoreBefore | Self::LoreAfter => ["lore:", self.name()].concat().into(),
            _ => ["character:", self.name()].concat().into(),
        }
    }

    /// What is said when the preset keeps its own text.
    pub const fn forbidden(self) -> Code {
        match self {
            Self::PostHistory => Code::CharacterPostHistoryOverrideForbidden,
            _ => Code::CharacterSystemOverrideForbidden,
        }
    }

    const fn kind(self) -> SegmentKind {
        match self {
            Self::UserDescription => SegmentKind::UserField,
            Self::Examples => SegmentKind::Example,
            Self::Greeting => SegmentKind::Greeting,
            _ => SegmentKind::CharacterField,
        }
    }
}

// === impl Composer: the places ===

impl<'p, 'i> Composer<'p, 'i> {
    /// Lore that has no place of its own here joins the nearest one (seeds-notes 1.5).
    pub(super) fn gather_lore(&mut self) {
        let mut before = std::mem::take(&mut self.lore.examples_top);
        let mut after = std::mem::take(&mut self.lore.examples_bottom);
        if self.note.text.is_blank() {
            before.append(&mut self.lore.note_top);
            after.append(&mut self.lore.note_bottom);
        }
        for block in std::mem::take(&mut self.lore.at_depth) {
            after.extend(block.entries);
        }
        if self.is_contract() {
            for entry in before.iter().chain(&after) {
                let said = Diagnostic::new(Code::WorldBookPositionApproximated, entry.key());
                self.expander.diagnostics.push(said.with("position", entry.position.name()));
            }
        }
        self.lore.before.append(&mut before);
        self.lore.after.append(&mut after);
        let contract = self.is_contract();
        for list in [&mut self.lore.before, &mut self.lore.after] {
            // All entries lie in one slice, in the order of their rank.
            list.sort_by_key(|entry| (entry.dynamic, contract.then(|| std::ptr::from_ref(*entry))));
        }
    }

    /// What the selection switches off is suppressed, not moved.
    pub(super) fn suppress(&mut self) {
        let options = &self.input.options;
        for (off, slot, code) in [
            (
                options.ignore_character_system_prompt,
                Slot::SystemPrompt,
                Code::CharacterSystemSuppressed,
            ),
            (
                options.ignore_character_post_history,
                Slot::PostHistory,
                Code::CharacterPostHistorySuppressed,
            ),
        ] {
            if off {
                self.settled.insert(slot);
                self.expander.used.extend(slot.field());
                if !self.own_text(slot).trim().is_empty() {
                    self.expander.say(code, &slot.place());
                }
            }
        }
    }

    /// The raw text of what a card wants in a prompt's place.
    pub(super) fn own_text(&self, slot: Slot) -> &'i str {
        let Some(card) = &self.input.character else { return "" };
        match slot {
            Slot::SystemPrompt => &card.model.system_prompt,
            Slot::PostHistory => &card.model.post_history_instructions,
            _ => "",
        }
    }

    pub(super) fn fall_back(&mut self) {
        for slot in FALLBACK {
            if self.settled.contains(&slot) || !self.holds(slot) {
                continue;
            }
            if !matches!(slot, Slot::AuthorNote | Slot::DepthPrompt | Slot::Greeting) {
                self.expander.say(Code::MarkerAbsentFallback, &slot.place());
            }
            self.slot(slot, None);
        }
    }

    /// Fills a place, once.
    pub(super) fn slot(&mut self, slot: Slot, marker: Option<&'p Prompt>) {
        if self.settled.contains(&slot) {
            if self.holds(slot) && marker.is_some() {
                self.expander.say(Code::FieldAlreadyUsed, &slot.place());
            }
            return;
        }
        self.settled.insert(slot);
        self.expander.used.extend(slot.field());
        match slot {
            Slot::LoreBefore => {
                let entries = std::mem::take(&mut self.lore.before);
                self.lore_group(&entries, slot);
            }
            Slot::LoreAfter => {
                let entries = std::mem::take(&mut self.lore.after);
                self.lore_group(&entries, slot);
            }
            Slot::AuthorNote => self.author_note(),
            _ => self.field(slot, marker),
        }
    }

    /// Drops what a switched-off marker would hold. Lore that only came near it keeps its fallback.
    pub(super) fn drop_slot(&mut self, slot: Slot, identifier: &str) {
        let said = self.holds(slot);
        match slot {
            Slot::LoreBefore => {
                self.lore.before.retain(|e| e.position != LorePosition::BeforeCharacter);
            }
            Slot::LoreAfter => {
                self.lore.after.retain(|e| e.position != LorePosition::AfterCharacter);
            }
            _ => {}
        }
        let lore = matches!(slot, Slot::LoreBefore | Slot::LoreAfter);
        if !lore || !self.holds(slot) {
            self.settled.insert(slot);
            self.expander.used.extend(slot.field());
        }
        if said {
            self.expander.say(Code::MarkerDisabled, identifier);
        }
    }

    /// Whether there is something to place.
    fn holds(&self, slot: Slot) -> bool {
        let fields = &self.expander.fields;
        match slot {
            Slot::UserDescription => !fields.persona.is_blank(),
            Slot::LoreBefore => !self.lore.before.is_empty(),
            Slot::LoreAfter => !self.lore.after.is_empty(),
            Slot::SystemPrompt | Slot::PostHistory => !self.own_text(slot).trim().is_empty(),
            Slot::Description => !fields.description.is_blank(),
            Slot::Personality => !fields.personality.is_blank(),
            Slot::Scenario => !fields.scenario.is_blank(),
            Slot::Examples => !fields.examples.is_blank(),
            Slot::AuthorNote => !self.note.text.is_blank(),
            Slot::DepthPrompt => !fields.depth_prompt.is_blank(),
            // Never beside an opening that somebody wrote, never after a reply.
            Slot::Greeting => {
                !fields.greeting.is_blank()
                    && !self.input.has_real_reply
                    && !self.input.has_authored_opening
            }
        }
    }

    fn field(&mut self, slot: Slot, marker: Option<&'p Prompt>) {
        if !self.holds(slot) {
            return;
        }
        let fields = &self.expander.fields;
        let text = match slot {
            Slot::UserDescription => fields.persona.clone(),
            Slot::Description => fields.description.clone(),
            Slot::Personality => {
                let text = fields.personality.clone();
                self.formatted(Field::Personality, text)
            }
            Slot::Scenario => {
                let text = fields.scenario.clone();
                self.formatted(Field::Scenario, text)
            }
            Slot::Examples => fields.examples.clone(),
            Slot::DepthPrompt => fields.depth_prompt.clone(),
            Slot::Greeting => fields.greeting.clone(),
            // Nothing is overridden here.
            Slot::SystemPrompt | Slot::PostHistory => {
                let reading = Reading { original: Some(""), ..Reading::default() };
                self.expander.expand_in(&slot.place(), &self.own_text(slot).into(), reading)
            }
            Slot::LoreBefore | Slot::LoreAfter | Slot::AuthorNote => return,
        };
        if text.is_blank() {
            return;
        }
        let (placement, role) = self.field_place(slot, marker);
        let name = slot.name();
        let label = match slot {
            Slot::UserDescription => Label::UserField { name },
            _ => Label::CharacterField { name },
        };
        let piece = Piece::new(slot.place(), slot.kind(), role, text).at(placement);
        self.pieces.push(Wrapped { piece, label });
    }

    /// Where a field wants to be, and as whom; CONTRACT says that it does not get there.
    fn field_place(&mut self, slot: Slot, marker: Option<&Prompt>) -> (Placement, Role) {
        let role = marker.and_then(|marker| marker.role).unwrap_or(Role::System);
        let (placement, role, code) = match slot {
            Slot::DepthPrompt => {
                let wanted =
                    self.input.character.as_ref().and_then(|c| c.model.depth_prompt.as_ref());
                let (depth, role) = wanted.map_or((0, Role::System), |w| (w.depth, w.role));
                let code = Code::CharacterDepthPromptPositionApproximated;
                (Placement::InChat { depth }, role, Some(code))
            }
            Slot::PostHistory => {
                (Placement::After, role, Some(Code::CharacterPostHistoryPositionApproximated))
            }
            Slot::Examples => {
                (Placement::Before, role, Some(Code::DialogueExamplesPositionApproximated))
            }
            _ => match marker.map(|marker| marker.injection) {
                Some(Injection::Absolute { depth: Some(depth), .. }) => {
                    (Placement::InChat { depth }, role, Some(Code::PromptPositionApproximated))
                }
                _ => (Placement::Before, role, None),
            },
        };
        if let Some(code) = code.filter(|_| self.is_contract()) {
            self.expander.say(code, &slot.place());
        }
        (placement, role)
    }

    /// A field in the preset's format.
    fn formatted(&mut self, field: Field, text: Text) -> Text {
        let Some(preset) = self.preset else { return text };
        let format = match field {
            Field::Personality => &preset.formats.personality,
            _ => &preset.formats.scenario,
        };
        if format.trim().is_empty() {
            return text;
        }
        let reading = Reading { format_of: Some(field), ..Reading::default() };
        let place = text.from.first().cloned().unwrap_or_default();
        let shown = self.expander.expand_in(&place, format, reading);
        // A format that forgets its field does not lose it.
        let shown = if shown.text.contains(text.text.as_str()) { shown } else { text.clone() };
        Text { volatile: shown.volatile || text.volatile, quotes: text.quotes, ..shown }
    }

    fn author_note(&mut self) {
        if self.note.text.is_blank() {
            return;
        }
        let top = std::mem::take(&mut self.lore.note_top);
        let bottom = std::mem::take(&mut self.lore.note_bottom);
        self.lore_entries(&top, Slot::LoreBefore, None);
        let (role, placement) = (self.note.role, self.note.placement());
        if self.is_contract() && placement != Placement::Before {
            self.expander.say(Code::AuthorNotePositionApproximated, note::KEY);
        }
        let text = self.note.text.clone();
        let piece = Piece::new(note::KEY, SegmentKind::AuthorNote, role, text).at(placement);
        let identifier = Slot::AuthorNote.name();
        self.pieces.push(Wrapped { piece, label: Label::Prompt { identifier } });
        self.lore_entries(&bottom, Slot::LoreAfter, None);
    }

    /// The lore of one marker, each entry in `wi_format`.
    fn lore_group(&mut self, entries: &[&'i LoreEntry], slot: Slot) {
        if entries.is_empty() {
            return;
        }
        let format = self.preset.map(|preset| &preset.formats.world_info);
        let format = format.filter(|format| !format.trim().is_empty() && ***format != *"{0}");
        let format = format.map(|format| self.expander.expand("wi_format", format));
        if format.as_ref().is_some_and(|format| !format.text.contains("{0}")) {
            let said = Diagnostic::new(Code::WorldInfoFormatWithoutPlace, "wi_format");
            self.expander.diagnostics.push(said.with("lore", "kept, without the format"));
        }
        let format = format.filter(|format| format.text.contains("{0}"));
        self.lore_entries(entries, slot, format.as_ref());
    }

    fn lore_entries(&mut self, entries: &[&'i LoreEntry], side: Slot, format: Option<&Text>) {
        for entry in entries {
            let exact = matches!(
                entry.position,
                LorePosition::BeforeCharacter | LorePosition::AfterCharacter
            );
            let format = format.filter(|_| exact);
            let (placement, role) = match entry.position {
                LorePosition::AtDepth { depth, role } => (Placement::InChat { depth }, role),
                LorePosition::AuthorNoteTop | LorePosition::AuthorNoteBottom => {
                    (self.note.placement(), Role::System)
                }
                _ => (Placement::Before, Role::System),
            };
            let text = match format {
                Some(format) => entry.text().in_format(format),
                None => entry.text(),
            };
            let key = text.from.first().cloned().unwrap_or_else(|| entry.key().into());
            let piece = Piece::new(key, SegmentKind::Lore, role, text).at(placement);
            let hash = Some(entry.segment_hash(format.map_or("{0}", Text::stable)));
            let piece = Piece { dynamic: entry.dynamic, hash, ..piece };
            self.pieces.push(Wrapped { piece, label: Label::Lore { position: side.name() } });
        }
    }
}
