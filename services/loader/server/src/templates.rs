//! Templates: selections under a name, checked for what is gone before a session gets them.

use host::caller::Caller;
use kernel::{SessionId, TemplateId, WorldId};
use loader_core::{
    diagnostic::{Code, Diagnostic},
    selection::Selection,
};
use wire::mesh::v1::{BatchGetWorldsRequest, lore_service_client::LoreServiceClient};

use crate::{
    Loader,
    error::Error,
    store::{After, Attempt, Done, StoredSelection, TemplateRow, WriteError},
};

/// What a new template holds.
#[derive(Debug, Clone)]
pub enum TemplateSource {
    /// A session's selection as it is now.
    Session(SessionId),
    Given(Selection),
}

/// A session that gets a template's selection.
#[derive(Debug, Clone)]
pub struct Application {
    pub template: TemplateId,
    pub session: SessionId,
    pub expected_revision: Option<u64>,
}

impl Loader {
    pub async fn create_template(
        &self,
        caller: &Caller,
        name: String,
        source: TemplateSource,
        attempt: Option<Attempt>,
    ) -> Result<Done<TemplateRow>, Error> {
        let owner = &caller.principal.owner;
        let id = attempt.as_ref().map(|attempt| attempt.derive(TemplateId::derived));
        let id = id.unwrap_or_else(|| self.clock.fresh().into());
        let known = self.store.template(owner, &id).await?;
        let selection = match (known, source) {
            (Some(known), _) => known.selection,
            (None, TemplateSource::Given(selection)) => {
                self.refuse_dangling(caller, &selection).await?;
                selection
            }
            (None, TemplateSource::Session(session)) => {
                let stored = self.store.selection(owner, &session).await?;
                stored.ok_or_else(|| Error::not_found("session", &session))?.selection
            }
        };
        let row = TemplateRow { id, name, selection, created_at: self.clock.now() };
        Ok(self.store.add_template(owner, &row, attempt.as_ref()).await?)
    }

    pub async fn template(&self, caller: &Caller, id: &TemplateId) -> Result<TemplateRow, Error> {
        let row = self.store.template(&caller.principal.owner, id).await?;
        row.ok_or_else(|| Error::not_found("template", id))
    }

    /// A page of templates, and whether more follow.
    pub async fn templates(
        &self,
        caller: &Caller,
        after: &After,
        size: usize,
    ) -> Result<(Vec<TemplateRow>, bool), Error> {
        let mut page = self.store.templates(&caller.principal.owner, after, size + 1).await?;
        let more = page.len() > size;
        page.truncate(size);
        Ok((page, more))
    }

    /// Everything is checked, and then it is written once.
    pub async fn apply_template(
        &self,
        caller: &Caller,
        application: Application,
        attempt: Option<Attempt>,
    ) -> Result<Done<StoredSelection>, Error> {
        let owner = &caller.principal.owner;
        let Application { template, session, expected_revision } = application;
        let selection = self.template(caller, &template).await?.selection;
        if !self.answered(attempt.as_ref()).await? {
            self.refuse_missing(caller, &template, &selection).await?;
        }
        let set = self.store.set_selection(
            owner,
            &session,
            &selection,
            expected_revision,
            attempt.as_ref(),
        );
        set.await.map_err(running)
    }

    /// What `apply_template` would refuse; nothing is written.
    pub async fn check_application(
        &self,
        caller: &Caller,
        application: Application,
    ) -> Result<Selection, Error> {
        let owner = &caller.principal.owner;
        let Application { template, session, expected_revision } = application;
        let selection = self.template(caller, &template).await?.selection;
        self.refuse_missing(caller, &template, &selection).await?;
        let check = self.store.check_selection(owner, &session, &selection, expected_revision);
        check.await.map_err(running)?;
        Ok(selection)
    }

    pub async fn delete_template(
        &self,
        caller: &Caller,
        id: &TemplateId,
        attempt: Option<Attempt>,
    ) -> Result<Done<()>, Error> {
        Ok(self.store.delete_template(&caller.principal.owner, id, attempt.as_ref()).await?)
    }

    /// What a selection names and is gone, each with its id.
    pub async fn dangling(
        &self,
        caller: &Caller,
        selection: &Selection,
    ) -> Result<Vec<Diagnostic>, Error> {
        let owner = &caller.principal.owner;
        let mut dangling = Vec::new();
        if let Some(id) = &selection.preset
            && self.store.preset(owner, id).await?.is_none()
        {
            dangling.push(Diagnostic::new(Code::PresetNotFound, id.as_str()));
        }
        if let Some(id) = &selection.character {
            match self.store.character(owner, id).await? {
                None => dangling.push(Diagnostic::new(Code::CharacterNotFound, id.as_str())),
                Some(row) => {
                    let card = self.documents.character(owner, &row).await?;
                    let index = selection.options.greeting_index;
                    if usize::try_from(index).ok().and_then(|at| card.greeting(at)).is_none() {
                        let said = Diagnostic::new(Code::GreetingOutOfRange, id.as_str());
                        dangling.push(said.with("greeting_index", index));
                    }
                }
            }
        }
        if let Some(id) = &selection.user
            && self.store.user(owner, id).await?.is_none()
        {
            dangling.push(Diagnostic::new(Code::UserNotFound, id.as_str()));
        }
        for world in self.missing_worlds(caller, selection.worlds.as_slice()).await? {
            dangling.push(Diagnostic::new(Code::WorldBookNotFound, world.as_str()));
        }
        Ok(dangling)
    }

    /// Worlds live in the lorebook: those that are not there.
    pub async fn missing_worlds<'a>(
        &self,
        caller: &Caller,
        worlds: &'a [WorldId],
    ) -> Result<Vec<&'a WorldId>, Error> {
        if worlds.is_empty() {
            return Ok(Vec::new());
        }
        let world_ids: Vec<String> = worlds.iter().map(WorldId::to_string).collect();
        let mut lorebook = LoreServiceClient::new(self.lorebook.acting_for(caller));
        let answer = lorebook.batch_get_worlds(BatchGetWorldsRequest { world_ids }).await;
        let known = answer.map_err(Error::peer)?.into_inner().worlds;
        let is_known = |id: &&WorldId| known.iter().any(|world| world.world_id == id.as_str());
        Ok(worlds.iter().filter(|id| !is_known(id)).collect())
    }

    async fn refuse_missing(
        &self,
        caller: &Caller,
        template: &TemplateId,
        selection: &Selection,
    ) -> Result<(), Error> {
        let dangling = self.dangling(caller, selection).await?;
        if dangling.is_empty() {
            return Ok(());
        }
        Err(Error::TemplateDangling { template: template.clone(), dangling })
    }

    /// A selection that is sent names only what is there; the first that is not is named.
    async fn refuse_dangling(&self, caller: &Caller, selection: &Selection) -> Result<(), Error> {
        let kind = |code| match code {
            Code::PresetNotFound => "preset",
            Code::CharacterNotFound => "character",
            Code::UserNotFound => "user",
            Code::WorldBookNotFound => "world",
            _ => "greeting",
        };
        match self.dangling(caller, selection).await?.first() {
            Some(first) => Err(Error::not_found(kind(first.code), &first.place)),
            None => Ok(()),
        }
    }
}

/// The session that a template would configure is running, whatever part would change first.
fn running(error: WriteError) -> Error {
    match error {
        WriteError::Running { sessions, .. } => Error::TemplateRunning(sessions),
        other => other.into(),
    }
}
