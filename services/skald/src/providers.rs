//! Model providers, read from their file.

use std::path::Path;

use host::config::of_toml;
use model::{ProviderConfig, Registry, registry::InvalidProvider};
use serde::Deserialize;

/// The file: a list of `[[providers]]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    providers: Vec<ProviderConfig>,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProvidersError {
    #[error("the providers file {0} (SKALD_PROVIDERS) cannot be read")]
    Unreadable(String, #[source] std::io::Error),
    #[error("the providers file {0} (SKALD_PROVIDERS) is not valid: {words}", words = of_toml(.1))]
    Invalid(String, toml::de::Error),
    #[error("the providers file {0} (SKALD_PROVIDERS) is not valid: {1}")]
    Provider(String, InvalidProvider),
}

/// The providers of the file; none without one.
pub(crate) fn load(path: Option<&Path>) -> Result<Registry, ProvidersError> {
    let Some(path) = path else { return Ok(Registry::default()) };
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| ProvidersError::Unreadable(name.clone(), error))?;
    let file = toml::from_str::<File>(&text);
    let file = file.map_err(|error| ProvidersError::Invalid(name.clone(), error))?;
    Registry::from_config(&file.providers).map_err(|error| ProvidersError::Provider(name, error))
}
