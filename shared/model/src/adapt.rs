//! Fits blocks and parameters to a provider's abilities: pure, deterministic, versioned, reported.
//!
//! The prefix law holds through here (20-ledger, section 5): a block is decided by itself and by what
//! lies ahead of it, blocks are added and never joined, so the adaptation of a longer list begins with
//! the adaptation of a shorter one. A block folded into another role is wrapped in the reserved `note`
//! tag, which untrusted text cannot forge.

use std::collections::BTreeMap;

use prompt::{Block, Role};
use serde::{Deserialize, Serialize};

use crate::{
    abilities::{Abilities, DeveloperRole, Names, SystemRole},
    call::{CallConfig, Parameter},
};

/// The version that new sessions are adapted with. Older ones stay callable by [`adapt_as`].
pub const ADAPTER_VERSION: u32 = 1;

/// The block put in front of a history that its provider would refuse for not beginning with a user.
pub const USER_FIRST_TEXT: &str = "(The conversation begins here.)";

/// Longest name in a `name` field, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Blocks and parameters as one provider takes them. Only this module makes one, so a provider never
/// sees blocks that were not adapted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Adapted {
    version: u32,
    blocks: Vec<Block>,
    call: CallConfig,
    normalizations: Vec<Normalization>,
}

/// What the adaptation had to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Normalization {
    pub rule: Rule,
    /// Which parameter, or how many blocks.
    pub detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// One fixed user block was put ahead of the history.
    UserFirst,
    DeveloperAsSystem,
    DeveloperAsUser,
    SystemAsUser,
    /// A speaker's name lost characters that a `name` field cannot hold.
    NameSanitized,
    /// A speaker's name went to the beginning of the text.
    NameInText,
    ParameterDropped,
    TemperatureLowered,
}

/// Adapts with the newest version.
pub fn adapt(blocks: &[Block], call: &CallConfig, abilities: &Abilities) -> Adapted {
    let mut adapter = Adapter {
        abilities,
        out: Vec::with_capacity(blocks.len() + 1),
        leading: true,
        counts: BTreeMap::new(),
    };
    for block in blocks {
        adapter.push(block);
    }
    let counted = adapter.counts.iter().map(|(&rule, count)| {
        let noun = if *count == 1 { "block" } else { "blocks" };
        Normalization { rule, detail: format!("{count} {noun}") }
    });
    let mut normalizations: Vec<Normalization> = counted.collect();
    let call = fit_call(call.clone(), abilities, &mut normalizations);
    Adapted { version: ADAPTER_VERSION, blocks: adapter.out, call, normalizations }
}

/// Adapts as an earlier request was adapted; `None` when this build does not know the version.
pub fn adapt_as(
    version: u32,
    blocks: &[Block],
    call: &CallConfig,
    abilities: &Abilities,
) -> Option<Adapted> {
    (version == ADAPTER_VERSION).then(|| adapt(blocks, call, abilities))
}

/// The state of one adaptation: everything that a block's fate depends on lies ahead of it.
struct Adapter<'a> {
    abilities: &'a Abilities,
    out: Vec<Block>,
    /// Only system blocks so far.
    leading: bool,
    counts: BTreeMap<Rule, u32>,
}

// === impl Rule ===

impl Rule {
    /// As it is told to people and kept on records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserFirst => "user_first",
            Self::DeveloperAsSystem => "developer_as_system",
            Self::DeveloperAsUser => "developer_as_user",
            Self::SystemAsUser => "system_as_user",
            Self::NameSanitized => "name_sanitized",
            Self::NameInText => "name_in_text",
            Self::ParameterDropped => "parameter_dropped",
            Self::TemperatureLowered => "temperature_lowered",
        }
    }
}

// === impl Adapted ===

impl Adapted {
    pub fn version(&self) -> u32 {
        self.version
    }

    /// What is sent, in order; a longer request begins with a shorter one's.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The parameters that are sent.
    pub fn call(&self) -> &CallConfig {
        &self.call
    }

    pub fn normalizations(&self) -> &[Normalization] {
        &self.normalizations
    }
}

// === impl Adapter ===

impl Adapter<'_> {
    fn push(&mut self, block: &Block) {
        let mut out = block.clone();
        self.fit_name(&mut out);
        self.fit_role(&mut out);
        if self.leading && out.role != Role::System {
            self.leading = false;
            if self.abilities.user_first && out.role != Role::User {
                self.count(Rule::UserFirst);
                self.out.push(Block::new(Role::User, USER_FIRST_TEXT));
            }
        }
        self.out.push(out);
    }

    fn fit_role(&mut self, block: &mut Block) {
        let origin = block.role;
        if origin == Role::Developer && self.abilities.developer == DeveloperRole::System {
            block.role = Role::System;
        }
        let to_user = match block.role {
            Role::Developer => self.abilities.developer == DeveloperRole::User,
            Role::System => match self.abilities.system {
                SystemRole::Anywhere => false,
                SystemRole::Leading => !self.leading,
                SystemRole::Absent => true,
            },
            Role::User | Role::Assistant => false,
        };
        if to_user {
            block.role = Role::User;
        }
        if block.role != origin {
            self.count(match (origin, block.role) {
                (Role::Developer, Role::System) => Rule::DeveloperAsSystem,
                (Role::Developer, _) => Rule::DeveloperAsUser,
                _ => Rule::SystemAsUser,
            });
            block.text = format!("<note role=\"{}\">\n{}\n</note>", origin.name(), block.text);
        }
    }

    fn fit_name(&mut self, block: &mut Block) {
        let Some(name) = block.name.take().filter(|name| !name.is_empty()) else { return };
        match self.abilities.names {
            Names::InText => {
                self.count(Rule::NameInText);
                block.text = format!("{name}: {}", block.text);
            }
            Names::Field => {
                let allowed = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
                let fitted: String = name
                    .chars()
                    .take(NAME_CHARS_MAX)
                    .map(|c| if allowed(c) { c } else { '_' })
                    .collect();
                if fitted != name {
                    self.count(Rule::NameSanitized);
                }
                block.name = Some(fitted);
            }
        }
    }

    fn count(&mut self, rule: Rule) {
        *self.counts.entry(rule).or_default() += 1;
    }
}

fn fit_call(
    mut call: CallConfig,
    abilities: &Abilities,
    normalizations: &mut Vec<Normalization>,
) -> CallConfig {
    for parameter in Parameter::ALL {
        if !abilities.parameters.contains(&parameter) && call.remove(parameter) {
            let detail = parameter.name().to_owned();
            normalizations.push(Normalization { rule: Rule::ParameterDropped, detail });
        }
    }
    if let Some(asked) = call.temperature.filter(|&asked| asked > abilities.temperature_max) {
        let detail = format!("{asked} to {}", abilities.temperature_max);
        normalizations.push(Normalization { rule: Rule::TemperatureLowered, detail });
        call.temperature = Some(abilities.temperature_max);
    }
    call
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `s`, `d`, `u`, `a`: one block each, its text the letter's place.
    fn blocks(roles: &str) -> Vec<Block> {
        let role = |letter| match letter {
            's' => Role::System,
            'd' => Role::Developer,
            'u' => Role::User,
            _ => Role::Assistant,
        };
        roles.chars().enumerate().map(|(at, c)| Block::new(role(c), at.to_string())).collect()
    }

    /// The adapted roles as letters, upper case where wrapped, `f` for the fixed user block.
    fn letters(adapted: &Adapted) -> String {
        let letter = |block: &Block| {
            let plain = if block.role == Role::Developer {
                'd'
            } else {
                block.role.name().as_bytes()[0] as char
            };
            match block.text.as_str() {
                USER_FIRST_TEXT => 'f',
                text if text.starts_with("<note role=") => plain.to_ascii_uppercase(),
                _ => plain,
            }
        };
        adapted.blocks().iter().map(letter).collect()
    }

    #[track_caller]
    fn check(abilities: Abilities, roles: &str, expected: &str) {
        let adapted = adapt(&blocks(roles), &CallConfig::default(), &abilities);
        assert_eq!(letters(&adapted), expected);
    }

    fn compatible() -> Abilities {
        Abilities::openai_compatible()
    }

    #[test]
    fn a_provider_that_takes_everything_gets_everything_as_it_is() {
        check(Abilities::everything(), "sduasad", "sduasad");
    }

    #[test]
    fn a_missing_developer_role_becomes_a_noted_system_block() {
        check(compatible(), "sduda", "sSuSa");
    }

    #[test]
    fn a_developer_block_goes_to_the_user_where_that_is_declared() {
        check(Abilities { developer: DeveloperRole::User, ..compatible() }, "sdua", "sUua");
    }

    #[test]
    fn a_late_system_block_becomes_a_note_where_only_leading_ones_are_taken() {
        check(Abilities { system: SystemRole::Leading, ..compatible() }, "ssdusad", "ssSuUaU");
    }

    #[test]
    fn without_a_system_role_all_of_it_goes_to_the_user() {
        check(Abilities { system: SystemRole::Absent, ..compatible() }, "sdua", "UUua");
    }

    #[test]
    fn an_assistant_first_history_gets_the_fixed_user_block_once() {
        check(Abilities::anthropic(), "ssaua", "ssfaua");
    }

    #[test]
    fn a_user_first_history_gets_none() {
        check(Abilities::anthropic(), "sua", "sua");
    }

    #[test]
    fn a_note_to_the_user_counts_as_the_user() {
        check(Abilities::anthropic(), "sda", "sUa");
    }

    #[test]
    fn the_user_block_stands_even_without_any_system_block() {
        check(Abilities::anthropic(), "a", "fa");
    }

    #[test]
    fn every_change_is_reported_with_its_number() {
        let adapted = adapt(&blocks("sadd"), &CallConfig::default(), &Abilities::anthropic());
        let told: Vec<_> =
            adapted.normalizations().iter().map(|n| (n.rule, n.detail.as_str())).collect();
        assert_eq!(told, [(Rule::UserFirst, "1 block"), (Rule::DeveloperAsUser, "2 blocks")]);
    }

    #[test]
    fn a_note_says_whose_it_was() {
        let adapted = adapt(&blocks("d"), &CallConfig::default(), &compatible());
        assert_eq!(adapted.blocks()[0].text, "<note role=\"developer\">\n0\n</note>");
    }

    #[test]
    fn a_name_goes_where_the_provider_can_carry_it() {
        let named = [Block { name: Some("Ann Lee".into()), ..Block::new(Role::User, "hi") }];
        let declared = Abilities { names: Names::Field, ..compatible() };
        let field = adapt(&named, &CallConfig::default(), &declared);
        assert_eq!(field.blocks()[0].name.as_deref(), Some("Ann_Lee"));
        let text = adapt(&named, &CallConfig::default(), &compatible());
        assert_eq!(text.blocks()[0], Block::new(Role::User, "Ann Lee: hi"));
    }

    #[test]
    fn a_parameter_that_is_not_taken_is_dropped_and_named_unless_it_is_neutral() {
        let call = CallConfig {
            temperature: Some(1.5),
            top_k: Some(40),
            min_p: Some(0.0),
            ..CallConfig::default()
        };
        let adapted = adapt(&[], &call, &compatible());
        assert_eq!((adapted.call().top_k, adapted.call().min_p), (None, None));
        let told: Vec<_> = adapted.normalizations().iter().map(|n| n.detail.as_str()).collect();
        assert_eq!(told, ["top_k"]);
        let lowered = adapt(&[], &call, &Abilities::anthropic());
        assert_eq!(lowered.call().temperature, Some(1.0));
    }

    #[test]
    fn an_unknown_version_is_not_guessed() {
        assert!(adapt_as(99, &[], &CallConfig::default(), &compatible()).is_none());
    }

    fn any_abilities() -> impl Strategy<Value = Abilities> {
        use DeveloperRole as D;
        use SystemRole as S;
        (
            prop::sample::select(vec![D::Native, D::System, D::User]),
            prop::sample::select(vec![S::Anywhere, S::Leading, S::Absent]),
            any::<bool>(),
            prop::sample::select(vec![Names::Field, Names::InText]),
        )
            .prop_map(|(developer, system, user_first, names)| Abilities {
                developer,
                system,
                user_first,
                names,
                ..compatible()
            })
    }

    proptest! {
        #[test]
        fn the_adaptation_of_a_longer_list_begins_with_that_of_a_shorter_one(
            roles in "[sdua]{0,24}", cut in 0usize..25, abilities in any_abilities(),
        ) {
            let all = blocks(&roles);
            let call = CallConfig::default();
            let shorter = adapt(&all[..cut.min(all.len())], &call, &abilities);
            let longer = adapt(&all, &call, &abilities);
            prop_assert!(longer.blocks().starts_with(shorter.blocks()));
        }

        #[test]
        fn no_block_is_lost_or_joined(roles in "[sdua]{0,24}", abilities in any_abilities()) {
            let adapted = adapt(&blocks(&roles), &CallConfig::default(), &abilities);
            let added = usize::from(letters(&adapted).contains('f'));
            prop_assert_eq!(adapted.blocks().len(), roles.len() + added);
        }
    }
}
