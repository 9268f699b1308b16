//! The six steps, in the order in which a person would take them.

use serde::Deserialize;
use tonic::Status;
use wire::{
    common::v1::{Author, ImportReport, Severity},
    ledger::v1 as ledger,
    loader::v1 as loader,
    lorebook::v1 as lorebook,
};

use super::{clients::Clients, page::Page, samples};

/// What the user says, turn by turn.
const FIRST: &str =
    "I climb to the lamp, two stairs at a time. Is the old bell still in the harbour?";
const SECOND: &str = "Show me where it went down. The bell, I mean.";
const THIRD: &str = "And in fog, what will they ring when there is a bell no more?";

/// Characters of a reply that are shown while it comes.
const TAIL_CHARS: usize = 60;

/// How long a turn waits for its judgement: a small machine's own model takes minutes for it.
const JUDGED_WITHIN_MS: u32 = 5 * 60 * 1_000;

pub(super) struct Story {
    pub(super) clients: Clients,
    pub(super) page: Page,
    model: ledger::Model,
    /// Names this run's attempts, so that a second run is a second conversation.
    run: String,
}

/// Why the story does not go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoryError {
    #[error("{}", .0.message())]
    Refused(Status),
    #[error("the reply failed, {reason}: {message}")]
    Failed { reason: String, message: String },
    #[error("the sample user is not valid")]
    Sample(#[from] toml::de::Error),
}

/// The resources of the conversation.
struct Cast {
    preset: String,
    character: loader::Character,
    user: loader::User,
    world: lorebook::World,
}

/// What one turn showed.
pub(super) struct Told {
    pub request: u64,
    pub proposed: Vec<ledger::WorldChangeProposed>,
    pub reply_seq: u64,
}

#[derive(Deserialize)]
struct User {
    name: String,
    description: String,
}

// === impl StoryError ===

impl From<Status> for StoryError {
    fn from(status: Status) -> Self {
        Self::Refused(status)
    }
}

// === impl Story ===

impl Story {
    pub(super) fn new(clients: Clients, page: Page, model: ledger::Model) -> Self {
        use kernel::Clock;
        let run = kernel::SystemClock.fresh().simple().to_string();
        Self { clients, page, model, run }
    }

    pub(super) async fn tell(mut self) -> Result<(), StoryError> {
        let cast = self.import().await?;
        let session = self.open(&cast).await?;

        self.page.heading(3, "A turn: the profile is compiled, lore fires, the model answers");
        let first = self.turn(&session, "turn-1", FIRST).await?;

        self.page.heading(4, "What the turn may have changed");
        let applied = self.review(&session, &first).await?;

        self.page.heading(5, "The next request carries the change; undone, it does not");
        let second = self.turn(&session, "turn-2", SECOND).await?;
        self.show_new_blocks(&session, &first, &second).await?;
        match applied {
            Some(changeset) => {
                self.undo(&changeset).await?;
                let third = self.turn(&session, "turn-3", THIRD).await?;
                self.show_new_blocks(&session, &second, &third).await?;
            }
            None => self.page.note("nothing was applied, so there is nothing to undo"),
        }

        self.page.heading(6, "The first request again, as it was sent");
        Ok(self.show_request(&session, first.request).await?)
    }

    async fn import(&mut self) -> Result<Cast, StoryError> {
        self.page.heading(1, "Import a card, a world and a preset; create a user");
        let preset = self.clients.import_preset("preset.json", samples::PRESET).await?;
        self.report("preset", preset.report.as_ref());
        let character = self.clients.import_character("card.png", samples::CARD).await?;
        self.report("card", character.report.as_ref());
        let character_id = character.character.unwrap_or_default().character_id;
        let get = loader::GetCharacterRequest { character_id };
        let character = self.clients.characters.get_character(get).await?.into_inner().character;
        let world = self.clients.import_world("world.json", samples::WORLD).await?;
        self.report("world", world.report.as_ref());

        let User { name, description } = toml::from_str(samples::USER)?;
        let request_id = format!("{}-user", self.run);
        let user = loader::CreateUserRequest { request_id, name, description };
        let user = self.clients.users.create_user(user).await?.into_inner().user;
        let user = user.unwrap_or_default();
        self.page.fact("user", &user.name);

        let world = self.opt_in(world.world.unwrap_or_default()).await?;
        Ok(Cast {
            preset: preset.preset.unwrap_or_default().preset_id,
            character: character.unwrap_or_default(),
            user,
            world,
        })
    }

    fn report(&self, what: &str, report: Option<&ImportReport>) {
        let Some(report) = report else { return };
        let counts: Vec<String> =
            report.counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        self.page.fact(what, &format!("{} ({})", report.format, counts.join(", ")));
        // Defaults taken and formats recognised are as designed.
        for finding in report.findings.iter().filter(|found| found.severity() > Severity::Info) {
            self.page.note(&format!("{what}: {} {}", finding.place, finding.message));
        }
    }

    /// The user hands the agent a pen for this world.
    async fn opt_in(&mut self, world: lorebook::World) -> Result<lorebook::World, Status> {
        let request = lorebook::UpdateWorldRequest {
            world: Some(lorebook::World { dynamic_enabled: true, ..world }),
            update_mask: Some(field_mask("dynamic_enabled")),
            request_id: format!("{}-opt-in", self.run),
        };
        let world = self.clients.worlds.update_world(request).await?.into_inner().world;
        let world = world.unwrap_or_default();
        self.page.fact("opted in", &format!("{}, revision {}", world.name, world.content_revision));
        Ok(world)
    }

    async fn open(&mut self, cast: &Cast) -> Result<String, Status> {
        self.page.heading(2, "Open a conversation with an authored greeting");
        // A greeting is a template, and history is written as it was said.
        let greeting = cast.character.greetings.first().map(|greeting| {
            let named = greeting.replace("{{char}}", &cast.character.name);
            named.replace("{{user}}", &cast.user.name)
        });
        let request = ledger::CreateSessionWithOpeningRequest {
            request_id: format!("{}-session", self.run),
            title: "An evening at the lighthouse".to_owned(),
            settings: Some(ledger::SessionSettings {
                model: Some(self.model.clone()),
                proposal: Some(ledger::ProposalSettings {
                    wait_ms: JUDGED_WITHIN_MS,
                    ..Default::default()
                }),
                ..Default::default()
            }),
            selection: Some(loader::Selection {
                preset_id: cast.preset.clone(),
                character_id: cast.character.character_id.clone(),
                user_id: cast.user.user_id.clone(),
                world_ids: vec![cast.world.world_id.clone()],
                ..Default::default()
            }),
            opening: Some(ledger::AuthoredTurn {
                author: Author::Assistant.into(),
                content: greeting.unwrap_or_default(),
                origin: "the card's first message".to_owned(),
                ..Default::default()
            }),
        };
        let opened = self.clients.authored.create_session_with_opening(request).await?;
        let opened = opened.into_inner();
        let (session, opening) =
            (opened.session.unwrap_or_default(), opened.opening.unwrap_or_default());
        self.page.said(&cast.character.name, &opening.content);
        let provenance = opening.provenance.clone().unwrap_or_default();
        self.page.fact(
            "turn 0",
            &format!(
                "{}, written by {}, origin: {}",
                opening.phase().as_str_name(),
                provenance.write_actor,
                provenance.origin
            ),
        );
        Ok(session.session_id)
    }

    /// Submits a message and prints what comes.
    async fn turn(&mut self, session: &str, name: &str, content: &str) -> Result<Told, StoryError> {
        use ledger::turn_frame::Frame;
        self.page.said("You", content);
        let request = ledger::SubmitTurnRequest {
            session_id: session.to_owned(),
            request_id: format!("{}-{name}", self.run),
            content: Some(content.to_owned()),
            ..Default::default()
        };
        let waiting = self.page.waiting("the model is answering");
        let mut reply = String::new();
        let mut told = Told { request: 0, proposed: Vec::new(), reply_seq: 0 };
        let mut frames = self.clients.turns.submit_turn(request).await?.into_inner();
        while let Some(response) = frames.message().await? {
            match response.frame.and_then(|frame| frame.frame) {
                Some(Frame::TurnStarted(started)) => told.reply_seq = started.reply_seq,
                Some(Frame::RequestSent(sent)) => {
                    told.request = sent.offset;
                    let prefix = sent.shared_prefix.unwrap_or_default();
                    waiting.suspend(|| self.sent(sent.offset, &prefix, &sent.normalizations));
                }
                Some(Frame::TurnCompleted(completed)) => {
                    let turn = completed.turn.unwrap_or_default();
                    waiting.suspend(|| self.page.said("Reply", &turn.content));
                    waiting.set_message("the turn is being judged");
                }
                Some(Frame::WorldChangeProposed(change)) => told.proposed.push(change),
                Some(Frame::Failed(failed) | Frame::Aborted(failed)) => {
                    waiting.finish_and_clear();
                    let ledger::TurnFailed { reason, message, .. } = failed;
                    return Err(StoryError::Failed { reason, message });
                }
                Some(Frame::Delta(delta)) => {
                    reply.push_str(&delta.text);
                    waiting.set_message(format!("the model is answering: {}", tail(&reply)));
                }
                Some(Frame::Profile(_) | Frame::Done(_)) | None => {}
            }
        }
        waiting.finish_and_clear();
        Ok(told)
    }

    fn sent(&self, offset: u64, prefix: &ledger::SharedPrefix, normalizations: &[String]) {
        let shared = match (prefix.blocks, prefix.break_cause()) {
            (0, ledger::BreakCause::Unspecified) => "the first of this conversation".to_owned(),
            (blocks, ledger::BreakCause::Unspecified) => format!(
                "begins with the whole request before it: {blocks} blocks, {} of {} bytes",
                prefix.bytes, prefix.total_bytes
            ),
            (blocks, cause) => format!(
                "shares {blocks} blocks, {} of {} bytes ({})",
                prefix.bytes,
                prefix.total_bytes,
                cause.as_str_name()
            ),
        };
        self.page.fact("request", &format!("@{offset}, {shared}"));
        for normalization in normalizations {
            self.page.fact("adapted", normalization);
        }
    }
}

/// The last words of what has come so far, on one line.
fn tail(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let skipped = line.chars().count().saturating_sub(TAIL_CHARS);
    line.chars().skip(skipped).collect()
}

fn field_mask(path: &str) -> prost_types::FieldMask {
    prost_types::FieldMask { paths: vec![path.to_owned()] }
}
