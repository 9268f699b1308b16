//! What every store keeps: one suite, run on SQLite and on PostgreSQL.

/// Runs each test on a fresh store of either database.
macro_rules! contract {
    ($($name:ident)*) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $name() {
                let (_folder, store) = $crate::support::sqlite().await;
                super::$name(&store).await;
            })*
        }

        mod on_postgres {
            $(#[tokio::test]
            async fn $name() {
                let Some(store) = $crate::support::postgres().await else { return };
                super::$name(&store).await;
            })*
        }
    };
}

mod changes;
mod edits;
mod guards;
mod laws;
mod support;
mod worlds;
