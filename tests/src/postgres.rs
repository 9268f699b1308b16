//! The PostgreSQL schemas of a Skald, changed from outside.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// As if time had passed: whoever holds a reply or a job at this moment is given up.
pub async fn let_leases_run_out(url: &str) {
    let mut connection = PgConnection::connect(url).await.expect("a living server");
    for held in [
        "ledger.generations set lease_until = 0 where status = 'running'",
        "ledger.jobs set lease_until = 0 where status = 'leased'",
    ] {
        let update = AssertSqlSafe(format!("update {held}"));
        sqlx::query(update).execute(&mut connection).await.expect("given up");
    }
    connection.close().await.expect("closed");
}
