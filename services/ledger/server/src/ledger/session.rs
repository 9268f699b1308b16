//! Sessions: create (empty or with an opening), read, list.
//!
//! Creating is a saga with one commit point, the session's first append: the id is derived from the
//! attempt, the attempt is recorded as pending, the loader takes the selection under that id, and the
//! events make the session live. A crash in between is finished by a retry or by the sweeper.

use std::future;

use host::{caller::Caller, idempotency};
use kernel::{Owner, RequestId, SessionId, Timestamp};
use ledger_core::{
    Envelope, Lease, Settings, State, decide,
    decide::{AuthoredTurn, Create, CreateWithOpening},
};
use wire::{loader::v1 as loader_pb, mesh::v1 as mesh_pb};

use super::{Ledger, actor_of, load::Loaded, turns::TurnView};
use crate::{
    attempt::Attempt,
    error::{Error, Result},
    store::{self, Append, AppendError, ListedSession, PendingSession, SessionCursor},
};

/// What a caller wants created.
#[derive(Clone)]
pub struct NewSession {
    pub attempt: Attempt,
    pub request_id: Option<RequestId>,
    pub title: String,
    pub settings: Settings,
    /// None: the owner's defaults.
    pub selection: Option<loader_pb::Selection>,
    pub opening: Option<Opening>,
}

/// An authored first turn; whether its provider wants a user first is looked up here.
#[derive(Debug, Clone)]
pub struct Opening(pub AuthoredTurn);

/// A session as its callers see it.
#[derive(Debug, Clone)]
pub struct SessionView {
    pub session: SessionId,
    pub title: String,
    pub created_at: Timestamp,
    pub settings: Settings,
    pub head: u64,
    pub turn_count: u64,
    pub active_generation: Option<kernel::GenerationId>,
}

// === impl Ledger ===

impl Ledger {
    /// Creates a session; the flag tells that this attempt had created it before. A saga that has begun
    /// comes to its end, whether or not the caller is still there.
    pub async fn create_session(
        &self,
        caller: &Caller,
        new: NewSession,
    ) -> Result<(SessionView, Option<TurnView>, bool)> {
        let (ledger, caller) = (self.clone(), caller.clone());
        let create = async move { ledger.create(&caller, new).await };
        self.whole(create, |_| future::ready(())).await
    }

    async fn create(
        &self,
        caller: &Caller,
        new: NewSession,
    ) -> Result<(SessionView, Option<TurnView>, bool)> {
        let owner = &caller.principal.owner;
        let session = match &new.attempt.scope {
            Some(scope) => SessionId::derived(&scope.parts()),
            None => SessionId::from(self.inner.clock.fresh()),
        };
        if self.answered(&new.attempt).await?.is_some() {
            return self.created(owner, &session, true).await;
        }
        let decision = self.decide_creation(caller, &session, &new)?;

        self.store()
            .begin_session(&PendingSession {
                owner: owner.clone(),
                session: session.clone(),
                recorded_at: self.now(),
            })
            .await?;
        if let Err(error) = self.init_selection(caller, &session, new.selection.clone()).await {
            self.store().drop_pending(owner, &session).await?;
            return Err(error);
        }

        let append = Append {
            answer: new.attempt.entry(session.as_str().as_bytes()),
            creates: Some(store::NewSession { title: new.title.clone(), created_at: self.now() }),
            ..Append::to(owner, &session).with(decision.events, &decision.state)
        };
        match self.store().append(append).await {
            Ok(()) => self.created(owner, &session, false).await,
            // The same attempt, elsewhere, was faster.
            Err(AppendError::Answered | AppendError::SessionExists) => {
                self.answered(&new.attempt).await?;
                self.created(owner, &session, true).await
            }
            Err(other) => Err(other.into()),
        }
    }

    fn decide_creation(
        &self,
        caller: &Caller,
        session: &SessionId,
        new: &NewSession,
    ) -> Result<ledger_core::Decision<()>> {
        let envelope = Envelope {
            now: self.now(),
            actor: actor_of(caller),
            scopes: caller.principal.scopes.clone(),
            request_id: new.request_id.clone(),
            entropy: self.entropy(),
            lease: Lease::Alive,
        };
        let create = Create {
            session: session.clone(),
            owner: caller.principal.owner.clone(),
            settings: new.settings.clone(),
            parent: None,
        };
        let state = State::default();
        let Some(Opening(opening)) = new.opening.clone() else {
            return Ok(decide(&state, &envelope, create)?);
        };
        let opening = self.with_provider_rule(opening, &new.settings);
        let decision = decide(&state, &envelope, CreateWithOpening { create, opening })?;
        Ok(ledger_core::Decision { events: decision.events, state: decision.state, outcome: () })
    }

    async fn init_selection(
        &self,
        caller: &Caller,
        session: &SessionId,
        selection: Option<loader_pb::Selection>,
    ) -> Result<()> {
        let link = self.inner.loader.acting_for(caller);
        let mut client = mesh_pb::compile_service_client::CompileServiceClient::new(link);
        let request = mesh_pb::InitSelectionRequest {
            session_id: session.to_string(),
            selection,
            parent_session_id: String::new(),
        };
        client.init_selection(request).await.map(drop).map_err(Error::Peer)
    }

    async fn created(
        &self,
        owner: &Owner,
        session: &SessionId,
        replayed: bool,
    ) -> Result<(SessionView, Option<TurnView>, bool)> {
        let loaded = self.load(owner, session).await?;
        let opening = match loaded.state.turn(0) {
            Some(_) => Some(self.turn_view(owner, session, &loaded.state, 0).await?),
            None => None,
        };
        Ok((view(&loaded), opening, replayed))
    }

    pub async fn session(&self, owner: &Owner, session: &SessionId) -> Result<SessionView> {
        Ok(view(&self.load(owner, session).await?))
    }

    /// Up to `limit` sessions after the cursor, newest first. Costs one read, however long they are.
    pub async fn sessions(
        &self,
        owner: &Owner,
        after: Option<&SessionCursor>,
        limit: u32,
    ) -> Result<Vec<SessionView>> {
        let listed = self.store().sessions(owner, after, limit).await?;
        Ok(listed.into_iter().map(SessionView::from).collect())
    }

    /// The stored answer to an attempt: its reference, if the attempt is the same request.
    pub(super) async fn answered(&self, attempt: &Attempt) -> Result<Option<Vec<u8>>> {
        let Some(scope) = &attempt.scope else { return Ok(None) };
        let stored = self.store().answer(scope).await?;
        Ok(idempotency::decide(stored, scope, &attempt.request)?)
    }

    /// The provider of this name.
    pub(super) fn model(&self, provider: &str) -> Result<std::sync::Arc<dyn model::ChatModel>> {
        self.inner
            .models
            .get(provider)
            .map_err(|_| Error::ProviderNotConfigured(provider.to_owned()))
    }

    /// Tells the rule of §4 what the session's provider wants; one that is not configured wants nothing.
    pub(super) fn with_provider_rule(
        &self,
        turn: AuthoredTurn,
        settings: &Settings,
    ) -> AuthoredTurn {
        let provider = settings.model.as_ref().and_then(|model| self.model(&model.provider).ok());
        let wants = provider.is_some_and(|provider| provider.abilities().user_first);
        AuthoredTurn { provider_wants_user_first: wants, ..turn }
    }
}

// === impl SessionView ===

impl From<ListedSession> for SessionView {
    fn from(listed: ListedSession) -> Self {
        Self {
            session: listed.row.session,
            title: listed.row.title,
            created_at: listed.row.created_at,
            settings: listed.settings,
            head: listed.row.head,
            turn_count: listed.turn_count,
            active_generation: listed.active_generation,
        }
    }
}

fn view(loaded: &Loaded) -> SessionView {
    SessionView {
        session: loaded.row.session.clone(),
        title: loaded.row.title.clone(),
        created_at: loaded.row.created_at,
        settings: loaded.state.settings().clone(),
        head: loaded.row.head,
        turn_count: loaded.state.next_seq(),
        active_generation: loaded.state.generation().map(|generation| generation.id.clone()),
    }
}
