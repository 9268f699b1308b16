//! The main job from end to end: real files in, one conversation, one proposal, its review and undo.
//!
//! Everything goes through the public gRPC surface of a house in this process; what it leaves in the
//! data folder can be looked at with grpcurl afterwards.

use std::sync::Arc;

use host::{
    auth::{AuthMode, Authenticator, mesh::MeshToken},
    database::{DataFolder, Place},
    link,
    shutdown::Shutdown,
};
use kernel::SystemClock;
use model::{ProviderConfig, Registry, Scripted};

use crate::{
    Failure,
    cli::DemoArgs,
    house::{self, Common},
};

pub mod clients;
mod page;
mod review;
mod story;

use clients::Clients;
use page::Page;

/// The sample files, written for this demo.
pub mod samples {
    pub const CARD: &[u8] = include_bytes!("../samples/card.png");
    pub const WORLD: &[u8] = include_bytes!("../samples/world.json");
    pub const PRESET: &[u8] = include_bytes!("../samples/preset.json");
    pub const USER: &str = include_str!("../samples/user.toml");
    pub const SCRIPT: &str = include_str!("../samples/script.toml");
}

/// Runs the demo and prints it.
pub(crate) async fn run(args: DemoArgs) -> Result<(), Failure> {
    let shutdown = Shutdown::new();
    let (models, model) = models(&args)?;
    let mesh = MeshToken::random().map_err(Failure::run)?;
    let folder = DataFolder::open(&args.data_dir).map_err(Failure::run)?;
    let common = Common {
        place: Place::Folder(folder),
        auth: Authenticator::open(&AuthMode::None, &mesh).map_err(Failure::run)?,
        mesh,
        clock: Arc::new(SystemClock),
        shutdown: shutdown.clone(),
        models,
        judges: 1,
    };
    let door = house::all_in_one(&common).await.map_err(Failure::run)?;
    let page = Page::new();
    let story = story::Story::new(Clients::new(link::local(door)), page.clone(), model);
    let told = story.tell().await;
    shutdown.begin();
    shutdown.tasks_ended().await;
    common.place.settle().await;
    told.map_err(Failure::run)?;
    page.closing(&args.data_dir);
    page.written()
}

/// The providers, and the model that the session names.
fn models(args: &DemoArgs) -> Result<(Registry, wire::ledger::v1::Model), Failure> {
    let model = |provider: &str, name: &str| wire::ledger::v1::Model {
        provider: provider.to_owned(),
        name: name.to_owned(),
        window_tokens: 0,
    };
    match args.provider.as_str() {
        "scripted" => {
            let script = Scripted::parse(samples::SCRIPT).map_err(Failure::run)?;
            let registry = Registry::default().with("scripted", Arc::new(script));
            Ok((registry, model("scripted", "sample")))
        }
        "openai" => {
            let named = |value: &Option<String>, flag| {
                value
                    .clone()
                    .ok_or_else(|| Failure::usage(format!("--provider openai needs {flag}")))
            };
            let config = ProviderConfig {
                name: "openai".to_owned(),
                kind: model::ProviderKind::Openai,
                base_url: Some(named(&args.base_url, "--base-url")?),
                api_key_env: args.api_key_env.clone(),
                api_key_file: None,
                script: None,
                abilities: Default::default(),
            };
            let registry = Registry::from_config(&[config]).map_err(Failure::usage)?;
            Ok((registry, model("openai", &named(&args.model, "--model")?)))
        }
        other => {
            Err(Failure::usage(format!("--provider {other} is not known; scripted and openai are")))
        }
    }
}
