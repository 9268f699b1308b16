//! The preset's order, one prompt after the other, then card, persona and lore in their markers.

use macros::Template;

use super::*;

/// A field on its way to its marker.
struct Filling<'p> {
    identifier: &'p str,
    key: &'p str,
    kind: SegmentKind,
    not_placed: Code,
    text: Text,
}

// === impl Composer: the order ===

impl<'p, 'i> Composer<'p, 'i> {
    /// Expands the order's prompts, one after the other.
    pub(super) fn walk(&mut self) {
        for (entry, found) in self.preset.ordered() {
            let identifier = entry.identifier.as_str();
            let prompt = match found {
                Ordered::Prompt(prompt) => prompt,
                Ordered::Again => {
                    self.expander.say(Code::PromptDuplicated, identifier);
                    self.again(entry);
                    continue;
                }
                Ordered::Unknown => {
                    self.expander.say(Code::PromptUnknown, identifier);
                    continue;
                }
            };
            let place = prompt_place(identifier);
            if entry.enabled && prompt.triggered_by(self.input.generation.name()) {
                let text = self.prompt_text(prompt, &place);
                self.slots.push(Slot::of(prompt, &place, text));
            } else if identifier == "main" {
                // Stays as the anchor of what stands next to it; not triggered, it can still be replaced.
                let text = match entry.enabled {
                    true => self.overridden(prompt, Text::default()),
                    false => Text::default(),
                };
                self.slots.push(Slot::of(prompt, &place, text));
            }
        }
        self.report_lost_overrides();
    }

    /// A prompt that an earlier line of the order has named: it is expanded again, and sent again only
    /// inside the history. What a marker opens is open if any of its lines is on.
    fn again(&mut self, entry: &'p OrderEntry) {
        let identifier = entry.identifier.as_str();
        let Some(prompt) = self.preset.prompt(identifier).filter(|_| entry.enabled) else { return };
        if !prompt.triggered_by(self.input.generation.name()) {
            return;
        }
        let place = prompt_place(identifier);
        let text = self.expander.expand(place.clone(), &prompt.content);
        let opens = matches!(identifier, "chatHistory" | "dialogueExamples")
            && !self.slots.iter().any(|slot| slot.identifier == identifier);
        if opens || prompt.injection != Injection::Relative {
            self.slots.push(Slot::of(prompt, &place, text));
        }
    }

    /// A prompt's text, or the card's in its place.
    fn prompt_text(&mut self, prompt: &'p Prompt, place: &Arc<str>) -> Text {
        let text = self.expander.expand(place.clone(), &prompt.content);
        self.overridden(prompt, text)
    }

    fn overridden(&mut self, prompt: &Prompt, text: Text) -> Text {
        let Some((own, from)) = self.override_of(&prompt.identifier) else { return text };
        if prompt.forbid_overrides {
            return text;
        }
        let reading = Reading { original: Some(&text.text), ..Reading::default() };
        let replaced = self.expander.expand_in(&from.into(), &own.into(), reading);
        if replaced.is_blank() { text } else { replaced }
    }

    /// What the card wants in a prompt's place, unless the selection switches it off.
    fn override_of(&self, identifier: &str) -> Option<(&'i str, &'static str)> {
        let card = &self.input.character.as_ref()?.model;
        let options = &self.input.options;
        let (own, from, off) = match identifier {
            "main" => (
                &card.system_prompt,
                "character:system-prompt",
                options.ignore_character_system_prompt,
            ),
            "jailbreak" => (
                &card.post_history_instructions,
                "character:post-history-instructions",
                options.ignore_character_post_history,
            ),
            _ => return None,
        };
        (!off && !own.trim().is_empty()).then_some((own.trim(), from))
    }

    fn report_lost_overrides(&mut self) {
        let Some(card) = self.input.character.as_ref().map(|card| &card.model) else { return };
        for (identifier, own, forbidden, suppressed, lost) in [
            (
                "main",
                &card.system_prompt,
                Code::CharacterSystemOverrideForbidden,
                Code::CharacterSystemSuppressed,
                Code::CharacterSystemNotPlaced,
            ),
            (
                "jailbreak",
                &card.post_history_instructions,
                Code::CharacterPostHistoryOverrideForbidden,
                Code::CharacterPostHistorySuppressed,
                Code::CharacterPostHistoryNotPlaced,
            ),
        ] {
            if own.trim().is_empty() {
                continue;
            }
            if self.override_of(identifier).is_none() {
                self.expander.say(suppressed, identifier);
            } else if !self.is_on(identifier) {
                self.expander.say(lost, identifier);
            } else if self.preset.prompt(identifier).is_some_and(|p| p.forbid_overrides) {
                self.expander.say(forbidden, identifier);
            }
        }
    }

    /// The scenario and the personality in their formats. They are expanded before any prompt, so that no
    /// prompt's variables are seen in them.
    pub(super) fn in_formats(&mut self) -> [Text; 2] {
        let formats = &self.preset.formats;
        let scenario = self.expander.fields.scenario.clone();
        let scenario = self.formatted(Field::Scenario, scenario, &formats.scenario);
        let personality = self.expander.fields.personality.clone();
        let personality = self.formatted(Field::Personality, personality, &formats.personality);
        [scenario, personality]
    }

    /// Puts card, persona and lore into their markers; those without one go to the very end.
    pub(super) fn fill(&mut self, in_formats: [Text; 2]) {
        for filling in self.fillings(in_formats) {
            let marker = self.preset.prompt(filling.identifier);
            if let Some(slot) = self.slots.iter_mut().find(|s| s.identifier == filling.identifier) {
                let role = marker.and_then(|marker| marker.role).unwrap_or(Role::System);
                slot.text = filling.text;
                (slot.role, slot.has_role, slot.kind) = (role, true, filling.kind);
                slot.key = filling.key.into();
                continue;
            }
            if filling.text.is_empty() {
                continue;
            }
            let entry = self.preset.order.iter().find(|e| e.identifier == filling.identifier);
            if entry.is_some_and(|entry| !entry.enabled) {
                self.expander.say(Code::MarkerDisabled, filling.identifier);
                continue;
            }
            let said = Diagnostic::new(filling.not_placed, filling.identifier);
            self.expander.diagnostics.push(said.with("sent", "at the very end"));
            self.slots.push(Slot {
                identifier: filling.identifier,
                key: filling.key.into(),
                kind: filling.kind,
                role: Role::System,
                has_role: true,
                injection: Injection::Relative,
                sendable: true,
                text: filling.text,
            });
        }
    }

    fn fillings(&mut self, [scenario, personality]: [Text; 2]) -> Vec<Filling<'p>> {
        let filling = |identifier, key, kind, not_placed, text| Filling {
            identifier,
            key,
            kind,
            not_placed,
            text,
        };
        let (lore, field) = (SegmentKind::Lore, SegmentKind::CharacterField);
        let before = self.world_info(lore::block(&self.lore.before));
        let after = self.world_info(lore::block(&self.lore.after));
        let description = self.expander.fields.description.clone();
        let (wi, cf) = (Code::WorldInfoNotPlaced, Code::CharacterFieldNotPlaced);
        let mut all = vec![
            filling("worldInfoBefore", "lore:before", lore, wi, before),
            filling("worldInfoAfter", "lore:after", lore, wi, after),
            filling("charDescription", "character:description", field, cf, description),
            filling("charPersonality", "character:personality", field, cf, personality),
            filling("scenario", "character:scenario", field, cf, scenario),
        ];
        let persona = self.expander.fields.persona.clone();
        if !persona.is_empty() {
            let code = Code::UserDescriptionNotPlaced;
            let kind = SegmentKind::UserField;
            all.push(filling("personaDescription", "user:description", kind, code, persona));
        }
        all
    }

    /// `wi_format` around the lore: blank is none, one without `{0}` loses the lore.
    fn world_info(&mut self, lore: Text) -> Text {
        let format = &self.preset.formats.world_info;
        if lore.is_empty() || format.trim().is_empty() || *format == *"{0}" {
            return lore;
        }
        let format = self.expander.expand("wi_format", format);
        if !format.text.contains("{0}") {
            let said = Diagnostic::new(Code::WorldInfoFormatWithoutPlace, "wi_format");
            self.expander.diagnostics.push(said.with("lore", "lost"));
        }
        lore.in_format(&format)
    }

    /// A field in its format, where both have a text.
    fn formatted(&mut self, field: Field, text: Text, format: &Template) -> Text {
        if text.is_empty() || format.is_empty() {
            return text;
        }
        let reading = Reading { format_of: Some(field), ..Reading::default() };
        let place = text.from.first().cloned().unwrap_or_default();
        let mut shown = self.expander.expand_in(&place, format, reading);
        shown.quotes.extend(text.quotes);
        shown.volatile |= text.volatile;
        shown
    }
}
