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

/// As if the server went away whenever an event of this kind is written, and came back after so many times.
pub async fn go_away(url: &str, kind: &str, times: u32) {
    let name = kind.replace('-', "_");
    let mut connection = PgConnection::connect(url).await.expect("a living server");
    let refusing = format!(
        "create sequence ledger.{name};
        create function ledger.away_{name}() returns trigger language plpgsql as $$
        begin
            if new.kind = '{kind}' and nextval('ledger.{name}') <= {times} then
                raise exception 'away' using errcode = '57P03';
            end if;
            return new;
        end $$;
        create trigger away_{name} before insert on ledger.events
        for each row execute function ledger.away_{name}();"
    );
    sqlx::raw_sql(AssertSqlSafe(refusing)).execute(&mut connection).await.expect("refusing");
    connection.close().await.expect("closed");
}

/// As if the server had restarted: every connection that anybody has to this database is dead.
pub async fn end_connections(url: &str) {
    let mut connection = PgConnection::connect(url).await.expect("a living server");
    let end = "select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()";
    sqlx::query(end).execute(&mut connection).await.expect("ended");
    connection.close().await.expect("closed");
}
