//! A scripted model that remembers what it was shown.

use std::sync::{Arc, Mutex};

use model::{Abilities, ChatModel, Error, EventStream, Request, Scripted, Tool, ToolCall};

/// Role and text of each block of one call, as the provider took them.
pub type Blocks = Vec<(String, String)>;

/// Follows a script and keeps every call; clones share what they keep.
#[derive(Clone)]
pub struct Recording {
    model: Arc<Scripted>,
    calls: Arc<Mutex<Calls>>,
}

#[derive(Default)]
struct Calls {
    replies: Vec<Blocks>,
    verdicts: Vec<Blocks>,
}

// === impl Recording ===

impl Recording {
    pub fn of(script: &str) -> Self {
        Self::with_abilities(script, Abilities::everything())
    }

    pub fn with_abilities(script: &str, abilities: Abilities) -> Self {
        let model = Scripted::parse(script).expect("a script").with_abilities(abilities);
        Self { model: Arc::new(model), calls: Arc::default() }
    }

    /// How often it was called, for replies and for verdicts.
    pub fn calls(&self) -> usize {
        let calls = self.calls.lock().expect("nobody panicked");
        calls.replies.len() + calls.verdicts.len()
    }

    /// What it was shown each time that it was asked for a reply.
    pub fn replies(&self) -> Vec<Blocks> {
        self.calls.lock().expect("nobody panicked").replies.clone()
    }

    /// What it was shown each time that it was asked for a verdict.
    pub fn verdicts(&self) -> Vec<Blocks> {
        self.calls.lock().expect("nobody panicked").verdicts.clone()
    }
}

fn blocks(request: &Request) -> Blocks {
    let blocks = request.prompt.blocks().iter();
    blocks.map(|block| (block.role.name().to_owned(), block.text.clone())).collect()
}

#[tonic::async_trait]
impl ChatModel for Recording {
    fn abilities(&self) -> &Abilities {
        self.model.abilities()
    }

    async fn stream(&self, request: Request) -> Result<EventStream, Error> {
        self.calls.lock().expect("nobody panicked").replies.push(blocks(&request));
        self.model.stream(request).await
    }

    async fn call_tool(&self, request: Request, tool: &Tool) -> Result<ToolCall, Error> {
        self.calls.lock().expect("nobody panicked").verdicts.push(blocks(&request));
        self.model.call_tool(request, tool).await
    }
}
