//! The settings that every process has, whichever services it serves.

use std::{io, net::SocketAddr, path::PathBuf, time::Duration};

use clap::value_parser;
use http::HeaderValue;
use kernel::limits::{
    DRAIN_SECONDS_DEFAULT, POSTGRES_CONNECTIONS_DEFAULT, POSTGRES_CONNECTIONS_MAX,
};

use crate::{
    auth::{AuthError, AuthMode, Authenticator, mesh::MeshToken},
    database::{DataFolder, DatabaseError, Place, PostgresUrl},
    serve::ServeOptions,
    telemetry::{LogFilter, LogFormat},
};

/// Flatten into a command: `#[command(flatten)] host: HostArgs`.
#[derive(Debug, Clone, clap::Args)]
pub struct HostArgs {
    /// Address to serve on; without --tokens only a loopback address.
    #[arg(long, env = "SKALD_LISTEN", default_value = "127.0.0.1:50051")]
    pub listen: SocketAddr,

    #[command(flatten)]
    pub place: PlaceArgs,

    /// File of hashed tokens and of the tenants' grants; without it everybody is the one local user.
    #[arg(long, env = "SKALD_TOKENS")]
    pub tokens: Option<PathBuf>,

    /// Token that services in other processes know this one by, and this one them.
    #[arg(long, env = "SKALD_MESH_TOKEN", hide_env_values = true)]
    pub mesh_token: Option<MeshToken>,

    /// Web origins whose pages may call, separated by commas: https://app.example
    #[arg(long, env = "SKALD_CORS_ORIGINS", value_delimiter = ',', value_parser = origin)]
    pub cors_origins: Vec<HeaderValue>,

    /// Seconds that open calls may take to end when the process is asked to.
    #[arg(long, env = "SKALD_DRAIN_SECONDS", default_value_t = DRAIN_SECONDS_DEFAULT)]
    pub drain_seconds: u64,

    /// How log lines look.
    #[arg(long, env = "SKALD_LOG_FORMAT", value_enum, default_value_t = LogFormat::Pretty)]
    pub log_format: LogFormat,

    /// What is logged: a level, or levels by module such as `warn,ledger=debug`.
    #[arg(long, env = "SKALD_LOG", default_value = "info,sqlx=warn")]
    pub log: LogFilter,
}

/// Where rows live.
#[derive(Debug, Clone, clap::Args)]
pub struct PlaceArgs {
    /// Folder that holds everything, where no PostgreSQL is named.
    #[arg(long, env = "SKALD_DATA_DIR", default_value = "./data")]
    pub data_dir: PathBuf,

    /// PostgreSQL to use in place of the folder: postgres://user:password@host/database.
    #[arg(long, env = "SKALD_DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<PostgresUrl>,

    /// PostgreSQL connections of each service.
    #[arg(long, env = "SKALD_DATABASE_CONNECTIONS", default_value_t = POSTGRES_CONNECTIONS_DEFAULT,
        value_parser = value_parser!(u32).range(1..=i64::from(POSTGRES_CONNECTIONS_MAX)))]
    pub database_connections: u32,
}

/// A browser's `Origin` header: scheme and authority, nothing behind them.
fn origin(text: &str) -> Result<HeaderValue, String> {
    let refuse = || format!("{text:?} is no web origin such as https://app.example");
    let uri: http::Uri = text.parse().map_err(|_| refuse())?;
    let bare = matches!(uri.scheme_str(), Some("http" | "https"))
        && uri.authority().is_some()
        && uri.path_and_query().is_none_or(|path| path == "/")
        && !text.ends_with('/');
    let value = HeaderValue::from_str(text).map_err(|_| refuse())?;
    if bare { Ok(value) } else { Err(refuse()) }
}

// === impl PlaceArgs ===

impl PlaceArgs {
    /// The data folder, locked, or PostgreSQL.
    pub fn open(&self) -> Result<Place, DatabaseError> {
        match &self.database_url {
            Some(url) => {
                Ok(Place::Postgres { url: url.clone(), connections: self.database_connections })
            }
            None => DataFolder::open(&self.data_dir).map(Place::Folder),
        }
    }
}

// === impl HostArgs ===

impl HostArgs {
    /// The token of this process: the configured one, or one that only it knows.
    pub fn mesh_token(&self) -> io::Result<MeshToken> {
        self.mesh_token.clone().map_or_else(MeshToken::random, Ok)
    }

    /// Refuses, before anything is opened, to serve the world without authentication.
    pub fn authenticator(&self, mesh: &MeshToken) -> Result<Authenticator, AuthError> {
        let mode = self.tokens.clone().map_or(AuthMode::None, AuthMode::Tokens);
        let auth = Authenticator::open(&mode, mesh)?;
        auth.allows(self.listen)?;
        Ok(auth)
    }

    pub fn serve_options(&self) -> ServeOptions {
        let drain = Duration::from_secs(self.drain_seconds);
        ServeOptions { origins: self.cors_origins.clone(), drain, ..ServeOptions::default() }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::config::load;

    #[derive(Debug, Parser)]
    struct Process {
        #[command(flatten)]
        host: HostArgs,
    }

    fn host(line: &str) -> HostArgs {
        let args = format!("skald {line}");
        let loaded = load::<Process>(args.split_whitespace().map(Into::into)).expect("valid");
        loaded.args.host
    }

    #[test]
    fn secrets_are_in_no_debug_output() {
        let host =
            host("--database-url postgres://a:hunter2@h/d --mesh-token hunter2-hunter2-hunter2");
        assert!(!format!("{host:?}").contains("hunter2"), "{host:?}");
    }

    #[test]
    fn a_web_origin_is_a_scheme_and_an_authority() {
        for good in ["https://app.example", "http://localhost:5173"] {
            assert_eq!(origin(good).expect("an origin"), good);
        }
        for bad in ["not an origin", "app.example", "https://a.example/", "https://a/x", "ftp://a"]
        {
            assert!(origin(bad).expect_err("no origin").contains(bad), "{bad}");
        }
    }

    #[test]
    fn an_open_address_needs_tokens_before_anything_else_happens() {
        let host = host("--listen 0.0.0.0:50051");
        let refused = host.authenticator(&host.mesh_token().expect("random"));
        assert!(matches!(refused, Err(AuthError::OpenBind(_))));
    }

    #[test]
    fn a_database_address_takes_the_place_of_the_folder() {
        let place = host("--database-url postgres://a@h/d --database-connections 3").place.open();
        let place = place.expect("an address");
        assert!(matches!(place, Place::Postgres { connections: 3, .. }), "{place:?}");
    }
}
