//! Profiles: read the rows of one instant, let the lorebook activate, compose.

use std::{collections::HashMap, sync::Arc};

use host::caller::Caller;
use kernel::{Digest, GenerationId, Owner, SessionId, Timestamp, limits::GENERATION_DEADLINE_MS};
use loader_core::{
    compile::{self, GenerationType, Input, Loaded, Model, Profile},
    diagnostic::{Code, Diagnostic},
    preset::Sampling,
    selection::{Rp, Selection, effective_worlds},
};
use macros::Variables;
use prompt::ProfileMode;
use wire::{common::v1 as common, mesh::v1 as mesh};

use crate::{
    Loader,
    error::Error,
    store::{Lease, Snapshot},
};

mod activation;
mod window;

/// What one compile is asked for.
#[derive(Debug, Clone)]
pub struct Job {
    pub session: SessionId,
    /// The generation that takes the session's lease; `None` for a preview.
    pub generation: Option<GenerationId>,
    pub generation_type: GenerationType,
    pub mode: ProfileMode,
    /// Oldest first; the newest within the bounds of the scan take part.
    pub messages: Vec<ChatMessage>,
    /// Messages of the whole path.
    pub message_count: u64,
    pub has_real_reply: bool,
    pub has_authored_opening: bool,
    /// As an earlier compile of this path returned it; empty for none.
    pub timed_state_json: String,
    pub variables: Variables,
    /// Profile sections that are live in the context, with the hashes that they landed with.
    pub live: HashMap<String, Digest>,
    pub seed: [u8; 32],
    pub model: Model,
    pub overrides: Sampling,
    pub profile_bytes_max: Option<usize>,
    pub now: Timestamp,
}

/// One message of the chat.
#[derive(Debug, Clone)]
pub struct ChatMessage {
    pub id: String,
    pub author: common::Author,
    /// Empty: the selected user's or character's name.
    pub name: String,
    pub text: String,
}

/// A profile with what the lorebook said of it.
#[derive(Debug)]
pub struct Compiled {
    pub profile: Profile,
    pub worlds: Vec<CompiledWorld>,
    /// The lorebook's own, behind the profile's.
    pub lore_diagnostics: Vec<common::Diagnostic>,
    pub timed_state_json: String,
    pub user_name: String,
    pub character_name: String,
}

/// A world that took part.
#[derive(Debug)]
pub struct CompiledWorld {
    pub used: mesh::WorldUsed,
    pub sources: Vec<&'static str>,
}

impl Loader {
    /// Takes the session's lease for the job's generation, or none, and compiles.
    pub async fn compile(&self, caller: &Caller, job: Job) -> Result<Compiled, Error> {
        let owner = &caller.principal.owner;
        let snapshot = match &job.generation {
            Some(generation) => {
                let lease =
                    Lease { generation: generation.clone(), for_ms: GENERATION_DEADLINE_MS };
                self.store.begin_compile(owner, &job.session, &lease).await?
            }
            None => {
                let snapshot = self.store.peek(owner, &job.session).await?;
                snapshot.ok_or_else(|| Error::not_found("session", &job.session))?
            }
        };
        let worlds = effective_worlds(&snapshot.selection, &snapshot.bindings);
        let selection = snapshot.selection.clone();
        let input = self.input(owner, &job, snapshot).await?;
        let (mut input, prepared) = tokio::task::spawn_blocking(move || {
            let prepared = compile::prepare(&input);
            (input, prepared)
        })
        .await?;
        let request = activation::request(&job, &input, &prepared, &selection, &worlds);
        input.prepared = Some(prepared);
        let activated = activation::activate(self, caller, request).await?;
        let user_name = input.user_name().to_owned();
        let character_name = input.character_name().to_owned();
        let (used, summary) = activation::merge(&mut input, activated, worlds)?;
        let profile = tokio::task::spawn_blocking(move || compile::compile(&input)).await??;
        Ok(Compiled {
            profile,
            worlds: used,
            lore_diagnostics: summary.diagnostics,
            timed_state_json: summary.timed_state_json,
            user_name,
            character_name,
        })
    }

    pub async fn release(
        &self,
        caller: &Caller,
        session: &SessionId,
        generation: &GenerationId,
    ) -> Result<(), Error> {
        Ok(self.store.release(&caller.principal.owner, session, generation).await?)
    }

    /// Everything that is known before lore activates.
    async fn input(&self, owner: &Owner, job: &Job, snapshot: Snapshot) -> Result<Input, Error> {
        let mut diagnostics = missing(&snapshot);
        let preset = match &snapshot.preset {
            Some(row) => Some(Loaded {
                id: row.id.clone(),
                name: row.name.clone(),
                revision: row.hash.to_hex(),
                model: self.documents.preset(owner, row).await?,
            }),
            None => None,
        };
        let character = match &snapshot.character {
            Some(row) => {
                let model = self.documents.character(owner, row).await?;
                if model.book.is_some() && row.embedded_world.is_none() {
                    let place = "data.character_book";
                    diagnostics.push(Diagnostic::new(Code::EmbeddedWorldBookInvalid, place));
                }
                let (id, name) = (row.id.clone(), row.name.clone());
                Some(Loaded { id, name, revision: row.hash.to_hex(), model })
            }
            None => None,
        };
        let user = snapshot.user.map(|row| Loaded {
            id: row.id,
            name: row.user.name().to_owned(),
            revision: row.revision.to_string(),
            model: Arc::new(row.user),
        });
        let Selection { options, rp, .. } = snapshot.selection;
        let policy = || snapshot.rp_policy.unwrap_or_else(|| Rp::POLICY_DEFAULT.to_owned());
        let window = window::Window::of(&options.activation);
        let messages = window.newest(&job.messages);
        let unknown = job.message_count.saturating_sub(job.messages.len() as u64);
        let mut input = Input {
            mode: job.mode,
            generation: job.generation_type,
            options,
            preset,
            character,
            user,
            rp_policy: rp.active.then(policy),
            messages_before: job.message_count.saturating_sub(messages.len() as u64),
            user_message_count: users_of(&job.messages) + unknown / 2,
            has_real_reply: job.has_real_reply,
            has_authored_opening: job.has_authored_opening,
            now: job.now,
            seed: number(&job.seed),
            pick_seed: number(kernel::digest_parts(&pick_parts(owner, &job.session)).as_bytes()),
            variables: job.variables.clone(),
            model: job.model.clone(),
            overrides: job.overrides.clone(),
            live: job.live.clone(),
            profile_bytes_max: job.profile_bytes_max,
            diagnostics,
            ..Input::default()
        };
        input.messages = messages.into_iter().map(|message| named(message, &input)).collect();
        Ok(input)
    }
}

/// What the selection names and the owner no longer has.
fn missing(snapshot: &Snapshot) -> Vec<Diagnostic> {
    let Snapshot { selection, preset, character, user, .. } = snapshot;
    let mut missing = Vec::new();
    let mut check = |selected: Option<String>, found: bool, code| {
        if let (Some(id), false) = (selected, found) {
            missing.push(Diagnostic::new(code, id));
        }
    };
    let id = |id: &dyn std::fmt::Display| id.to_string();
    check(selection.preset.as_ref().map(|p| id(p)), preset.is_some(), Code::PresetNotFound);
    check(
        selection.character.as_ref().map(|c| id(c)),
        character.is_some(),
        Code::CharacterNotFound,
    );
    check(selection.user.as_ref().map(|u| id(u)), user.is_some(), Code::UserNotFound);
    missing
}

/// A message with its speaker's name filled in.
fn named(message: ChatMessage, input: &Input) -> compile::Message {
    let is_user = message.author == common::Author::User;
    let name = match (message.name.is_empty(), is_user) {
        (false, _) => message.name,
        (true, true) => input.user_name().to_owned(),
        (true, false) => input.character_name().to_owned(),
    };
    compile::Message { id: message.id, name, is_user, text: message.text, at: None }
}

fn users_of(messages: &[ChatMessage]) -> u64 {
    messages.iter().filter(|message| message.author == common::Author::User).count() as u64
}

/// A session draws the same picks for its whole life.
fn pick_parts<'a>(owner: &'a Owner, session: &'a SessionId) -> [&'a [u8]; 3] {
    [
        owner.tenant.as_str().as_bytes(),
        owner.subject.as_str().as_bytes(),
        session.as_str().as_bytes(),
    ]
}

fn number(bytes: &[u8; 32]) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&bytes[..8]);
    u64::from_be_bytes(first)
}
