//! The reviewer's part: read a proposal beside what it would replace, edit, apply, undo; and look at requests.

use tonic::Status;
use wire::{ledger::v1 as ledger, lorebook::v1 as lorebook, proposal::v1 as proposal};

use super::story::{Story, Told};

/// Characters of a block that are printed.
const BLOCK_CHARS: usize = 900;

/// What the reviewer makes of the second sentence.
const EDIT: (&str, &str) = ("until spring", "until the thaw");

// === impl Story ===

impl Story {
    /// Reviews what a turn proposed; answers the changeset that was applied.
    pub(super) async fn review(
        &mut self,
        session: &str,
        told: &Told,
    ) -> Result<Option<String>, Status> {
        let Some(change) = told.proposed.first() else {
            self.no_proposal(session, told.reply_seq).await?;
            return Ok(None);
        };
        let id = change.changeset_id.clone();
        let changeset = self.changeset(&id).await?;
        self.page.fact("proposed", &format!("{} — {}", changeset.world_name, changeset.summary));
        for operation in &changeset.operations {
            self.operation(operation);
        }
        let changeset = self.edit(changeset).await?;
        let request = proposal::ApplyChangesetRequest {
            changeset_id: id.clone(),
            request_id: format!("{id}-apply"),
            etag: changeset.etag,
            ..Default::default()
        };
        let applied = self.clients.changesets.apply_changeset(request).await?.into_inner();
        let change = applied.change.unwrap_or_default();
        self.page.fact(
            "applied",
            &format!("revision {} → {}", change.base_revision, change.applied_revision),
        );
        Ok(Some(id))
    }

    async fn no_proposal(&mut self, session: &str, turn_seq: u64) -> Result<(), Status> {
        let request = proposal::GetEvaluationRequest { session_id: session.to_owned(), turn_seq };
        match self.clients.evaluations.get_evaluation(request).await {
            Ok(response) => {
                let evaluation = response.into_inner().evaluation.unwrap_or_default();
                let outcome = evaluation.outcome().as_str_name();
                self.page.note(&format!("no proposal: {outcome} {}", evaluation.reason));
                for rejected in &evaluation.rejected {
                    self.page.fact("rejected", &rejected.reason);
                }
                Ok(())
            }
            Err(status) if status.code() == tonic::Code::NotFound => {
                self.page.note("no proposal yet: the evaluation has not ended");
                Ok(())
            }
            Err(status) => Err(status),
        }
    }

    async fn changeset(&mut self, id: &str) -> Result<proposal::Changeset, Status> {
        let request = proposal::GetChangesetRequest { changeset_id: id.to_owned() };
        let response = self.clients.changesets.get_changeset(request).await?;
        Ok(response.into_inner().changeset.unwrap_or_default())
    }

    fn operation(&self, proposed: &proposal::ProposedOperation) {
        let operation = proposed.operation.clone().unwrap_or_default();
        let name = operation.name.clone().unwrap_or_else(|| proposed.current_name.clone());
        let kind = operation.kind().as_str_name().trim_start_matches("OPERATION_KIND_");
        self.page.fact(&kind.to_lowercase(), &format!("{name} — {}", operation.rationale));
        match proposed.diff.as_str() {
            "" => self.page.diff(&format!("+{}", operation.content.unwrap_or_default())),
            diff => self.page.diff(diff),
        }
        if !proposed.problem.is_empty() {
            self.page.note(&proposed.problem);
        }
    }

    /// A reviewer's correction, kept with the changeset.
    async fn edit(
        &mut self,
        changeset: proposal::Changeset,
    ) -> Result<proposal::Changeset, Status> {
        let (from, to) = EDIT;
        let mut operations: Vec<lorebook::Operation> =
            changeset.operations.iter().filter_map(|proposed| proposed.operation.clone()).collect();
        let edited = operations.iter_mut().filter_map(|operation| operation.content.as_mut());
        let mut count = 0;
        for content in edited.filter(|content| content.contains(from)) {
            *content = content.replace(from, to);
            count += 1;
        }
        if count == 0 {
            return Ok(changeset);
        }
        let request = proposal::UpdateChangesetRequest {
            request_id: format!("{}-edit", changeset.changeset_id),
            changeset_id: changeset.changeset_id,
            operations,
            summary: None,
            etag: changeset.etag,
        };
        let response = self.clients.changesets.update_changeset(request).await?;
        self.page.fact("edited", &format!("“{from}” → “{to}”"));
        Ok(response.into_inner().changeset.unwrap_or_default())
    }

    pub(super) async fn undo(&mut self, changeset: &str) -> Result<(), Status> {
        let request = proposal::UndoChangesetRequest {
            changeset_id: changeset.to_owned(),
            request_id: format!("{changeset}-undo"),
        };
        let undone = self.clients.changesets.undo_changeset(request).await?.into_inner();
        let revision = undone.change.unwrap_or_default().applied_revision;
        self.page.fact("undone", &format!("revision {revision}"));
        Ok(())
    }

    /// The blocks that a request adds to the one before it.
    pub(super) async fn show_new_blocks(
        &mut self,
        session: &str,
        before: &Told,
        after: &Told,
    ) -> Result<(), Status> {
        let (_, earlier) = self.request(session, before.request).await?;
        let (_, later) = self.request(session, after.request).await?;
        self.page.fact("new blocks", &format!("of request @{}", after.request));
        self.blocks(&later[earlier.len().min(later.len())..]);
        Ok(())
    }

    pub(super) async fn show_request(&mut self, session: &str, offset: u64) -> Result<(), Status> {
        let (record, blocks) = self.request(session, offset).await?;
        self.page.fact("hash", &hex(&record.content_hash));
        self.page.fact("rebuilt", record.replay().as_str_name());
        self.blocks(&blocks);
        let request = ledger::VerifySessionRequest { session_id: session.to_owned() };
        let verified = self.clients.events.verify_session(request).await?.into_inner();
        self.page.fact(
            "verified",
            &format!(
                "{} events, {} requests, {} damaged or drifted",
                verified.head,
                verified.requests_checked,
                verified.drifted_requests.len() + usize::from(verified.first_bad_offset > 0)
            ),
        );
        Ok(())
    }

    async fn request(
        &mut self,
        session: &str,
        offset: u64,
    ) -> Result<(ledger::RequestRecord, Vec<ledger::BlockPart>), Status> {
        use ledger::get_request_response::Part;
        let request = ledger::GetRequestRequest { session_id: session.to_owned(), offset };
        let mut parts = self.clients.contexts.get_request(request).await?.into_inner();
        let (mut record, mut blocks) = (ledger::RequestRecord::default(), Vec::new());
        while let Some(response) = parts.message().await? {
            match response.part {
                Some(Part::Record(part)) => record = part,
                Some(Part::Block(part)) => push(&mut blocks, part),
                None => {}
            }
        }
        Ok((record, blocks))
    }

    fn blocks(&self, blocks: &[ledger::BlockPart]) {
        for block in blocks {
            let origins: Vec<String> = block.origins.iter().map(origin).collect();
            let text: String = block.text.chars().take(BLOCK_CHARS).collect();
            let rest = block.text.len() - text.len();
            let more = if rest > 0 { format!(" … and {rest} bytes more") } else { String::new() };
            let text = format!("{text}{more}");
            self.page.block(block.index, &block.role, &origins, &text);
        }
    }
}

fn origin(origin: &ledger::Origin) -> String {
    let place = if origin.key.is_empty() { origin.kind.clone() } else { shortened(&origin.key) };
    let at = if origin.offset > 0 { format!(" @{}", origin.offset) } else { String::new() };
    let why =
        if origin.reason.is_empty() { String::new() } else { format!(" ({})", origin.reason) };
    format!("{place}{at}{why}")
}

/// A key with its long ids cut to what a person tells apart.
fn shortened(key: &str) -> String {
    let part = |part: &str| match uuid::Uuid::try_parse(part) {
        Ok(_) => format!("{}…", &part[..8]),
        Err(_) => part.to_owned(),
    };
    key.split(':').map(part).collect::<Vec<_>>().join(":")
}

/// Joins the parts of one block.
fn push(blocks: &mut Vec<ledger::BlockPart>, part: ledger::BlockPart) {
    match blocks.last_mut().filter(|last| last.index == part.index) {
        Some(last) => {
            last.text.push_str(&part.text);
            last.origins.extend(part.origins);
        }
        None => blocks.push(part),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
