//! The providers of one process, by name, made from its configuration.

use std::{path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    Abilities, ChatModel, Error, Scripted, abilities::Declared, anthropic::Anthropic, http::Timing,
    openai::OpenAi,
};

/// One provider as a configuration file states it.
///
/// ```toml
/// [[providers]]
/// name = "local"
/// kind = "openai"
/// base_url = "http://127.0.0.1:8080/v1"
/// api_key_env = "LOCAL_KEY"      # or api_key_file
/// [providers.abilities]
/// developer = "system"
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// What a session's `model.provider` says.
    pub name: String,
    pub kind: ProviderKind,
    /// Where the API begins, `/v1` included; required for `openai`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// The file that holds the key and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_file: Option<PathBuf>,
    /// The script of a `scripted` provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<PathBuf>,
    #[serde(default)]
    pub abilities: Declared,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// Anything that speaks OpenAI's chat completions.
    Openai,
    Anthropic,
    Scripted,
}

/// Why a provider could not be made of its configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("provider {name:?}: {detail}")]
pub struct InvalidProvider {
    pub name: String,
    pub detail: String,
}

/// Providers in the order of the configuration.
#[derive(Clone, Default)]
pub struct Registry {
    providers: Vec<(String, Arc<dyn ChatModel>)>,
}

// === impl Registry ===

impl Registry {
    /// Reads keys and scripts now, so that a wrong path is found at start.
    pub fn from_config(configs: &[ProviderConfig]) -> Result<Self, InvalidProvider> {
        let mut registry = Self::default();
        for config in configs {
            let invalid = |detail| InvalidProvider { name: config.name.clone(), detail };
            let provider = config.build().map_err(invalid)?;
            registry.insert(&config.name, provider).map_err(invalid)?;
        }
        Ok(registry)
    }

    /// Adds a provider that was made elsewhere: a built-in script, a test's own.
    #[must_use]
    pub fn with(mut self, name: &str, provider: Arc<dyn ChatModel>) -> Self {
        self.providers.retain(|(known, _)| known != name);
        self.providers.push((name.to_owned(), provider));
        self
    }

    pub fn get(&self, name: &str) -> Result<Arc<dyn ChatModel>, Error> {
        let found = self.providers.iter().find(|(known, _)| known == name);
        let unknown = || Error::ProviderNotConfigured(name.to_owned());
        found.map(|(_, provider)| provider.clone()).ok_or_else(unknown)
    }

    /// In configuration order; the first is what a session without a provider may be given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.providers.iter().map(|(name, _)| name.as_str())
    }

    fn insert(&mut self, name: &str, provider: Arc<dyn ChatModel>) -> Result<(), String> {
        if name.is_empty() {
            return Err("the name is empty".into());
        }
        if self.names().any(|known| known == name) {
            return Err("the name is taken twice".into());
        }
        self.providers.push((name.to_owned(), provider));
        Ok(())
    }
}

// === impl ProviderConfig ===

impl ProviderConfig {
    fn build(&self) -> Result<Arc<dyn ChatModel>, String> {
        let timing = Timing::default();
        Ok(match self.kind {
            ProviderKind::Openai => {
                let url = self.base_url.as_deref().ok_or("base_url is missing")?;
                let abilities = Abilities::openai_compatible().declared(&self.abilities);
                Arc::new(OpenAi::new(checked(url)?, self.key()?, abilities, timing)?)
            }
            ProviderKind::Anthropic => {
                let url = self.base_url.as_deref().unwrap_or("https://api.anthropic.com/v1");
                let abilities = Abilities::anthropic().declared(&self.abilities);
                Arc::new(Anthropic::new(checked(url)?, self.key()?, abilities, timing)?)
            }
            ProviderKind::Scripted => {
                let path = self.script.as_deref().ok_or("script is missing")?;
                let script =
                    Scripted::load(path).map_err(|error| format!("{}: {error}", path.display()))?;
                let abilities = script.abilities().clone().declared(&self.abilities);
                Arc::new(script.with_abilities(abilities))
            }
        })
    }

    fn key(&self) -> Result<Option<String>, String> {
        match (&self.api_key_env, &self.api_key_file) {
            (Some(_), Some(_)) => Err("api_key_env and api_key_file exclude each other".into()),
            (Some(variable), None) => match std::env::var(variable) {
                Ok(key) if !key.trim().is_empty() => Ok(Some(key.trim().to_owned())),
                _ => Err(format!("the environment variable {variable} holds no key")),
            },
            (None, Some(path)) => match std::fs::read_to_string(path) {
                Ok(key) if !key.trim().is_empty() => Ok(Some(key.trim().to_owned())),
                Ok(_) => Err(format!("{} holds no key", path.display())),
                Err(error) => Err(format!("{}: {error}", path.display())),
            },
            (None, None) => Ok(None),
        }
    }
}

fn checked(url: &str) -> Result<&str, String> {
    match reqwest::Url::parse(url) {
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => Ok(url),
        Ok(parsed) => Err(format!("base_url has the scheme {:?}", parsed.scheme())),
        Err(error) => Err(format!("base_url: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configs(toml: &str) -> Vec<ProviderConfig> {
        #[derive(Deserialize)]
        struct File {
            providers: Vec<ProviderConfig>,
        }
        toml::from_str::<File>(toml).expect("a configuration").providers
    }

    #[track_caller]
    fn refused(toml: &str, expected: &str) {
        let error = Registry::from_config(&configs(toml)).err().expect("a refusal").to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn with_none_configured_every_name_is_unknown() {
        let error = Registry::default().get("openai").err().expect("an error");
        assert_eq!(error, Error::ProviderNotConfigured("openai".into()));
        assert_eq!(error.reason(), "PROVIDER_NOT_CONFIGURED");
    }

    #[test]
    fn declared_abilities_stand_over_those_of_the_kind() {
        let registry = Registry::from_config(&configs(
            "[[providers]]\nname = 'a'\nkind = 'openai'\nbase_url = 'http://127.0.0.1:1/v1'\n\
             abilities = {tools = 'json_schema'}\n[[providers]]\nname = 'b'\nkind = 'anthropic'",
        ))
        .expect("two providers");
        assert_eq!(registry.names().collect::<Vec<_>>(), ["a", "b"]);
        let abilities = registry.get("a").expect("a").abilities().clone();
        assert_eq!(abilities.tools, crate::abilities::ToolSupport::JsonSchema);
        assert_eq!(abilities.developer, crate::abilities::DeveloperRole::System);
    }

    #[test]
    fn an_openai_provider_without_a_place_is_refused() {
        refused("[[providers]]\nname = 'a'\nkind = 'openai'", "base_url is missing");
    }

    #[test]
    fn a_name_taken_twice_is_refused() {
        let one = "[[providers]]\nname = 'a'\nkind = 'anthropic'\n";
        refused(&format!("{one}{one}"), "taken twice");
    }

    #[test]
    fn a_key_that_is_not_there_is_named() {
        refused(
            "[[providers]]\nname = 'a'\nkind = 'anthropic'\napi_key_env = 'SKALD_NO_SUCH_KEY'",
            "SKALD_NO_SUCH_KEY",
        );
    }

    #[test]
    fn a_place_that_is_no_url_is_refused() {
        refused("[[providers]]\nname = 'a'\nkind = 'openai'\nbase_url = 'ftp://x'", "ftp");
    }

    #[test]
    fn a_script_that_is_missing_is_named() {
        refused("[[providers]]\nname = 'a'\nkind = 'scripted'\nscript = 'no/such.toml'", "no/such");
    }
}
