//! The lorebook as its callers meet it: through the door, over generated clients, on either database.

/// Runs each test on a fresh lorebook over SQLite, and over PostgreSQL.
macro_rules! both {
    ($($name:ident)*) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name(&$crate::support::on_sqlite().await).await;
            })*
        }

        mod on_postgres {
            $(#[tokio::test]
            async fn $name() {
                let Some(skald) = $crate::support::on_postgres().await else { return };
                super::$name(&skald).await;
            })*
        }
    };
}

mod activate;
mod entries;
mod files;
mod history;
mod import;
mod revision;
mod support;
mod worlds;
