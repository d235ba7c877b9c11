//! Brings the schema up to date: forward only, one starter at a time, all or nothing.

use redrive_store::{Result, StoreError};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, Row};

use crate::error::store_error;
use crate::sql::with_schema;

/// Schemas of another epoch are refused.
const EPOCH: i32 = 1;
/// The minors of this epoch, in order. Each one only adds.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/1_floor.sql"),
    include_str!("../migrations/2_batches.sql"),
    include_str!("../migrations/3_lanes.sql"),
    include_str!("../migrations/4_documents.sql"),
    include_str!("../migrations/5_single.sql"),
    include_str!("../migrations/6_drain.sql"),
    include_str!("../migrations/7_overview.sql"),
    include_str!("../migrations/8_tokens.sql"),
    include_str!("../migrations/9_trail.sql"),
    include_str!("../migrations/10_chores.sql"),
    include_str!("../migrations/11_replays.sql"),
];
/// "redrive" as a number: starters of every version wait for each other on it.
const LOCK: i64 = 0x0072_6564_7269_7665;

pub(crate) async fn migrate(options: &PgConnectOptions, schema: &str) -> Result<()> {
    let mut conn = options.clone().connect().await.map_err(store_error)?;
    let outcome = up(&mut conn, schema).await;
    let _ = conn.close().await;
    outcome
}

/// Looks whether the schema is there and is one that this version works with.
pub(crate) async fn look(options: &PgConnectOptions, schema: &str) -> Result<()> {
    let mut conn = options.clone().connect().await.map_err(store_error)?;
    let there: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL")
        .bind(format!("{schema}.schema_version"))
        .fetch_one(&mut conn)
        .await
        .map_err(store_error)?;
    let row = match there {
        false => None,
        true => sqlx::query(AssertSqlSafe(format!("SELECT epoch, minor FROM {schema}.schema_version")))
            .fetch_optional(&mut conn)
            .await
            .map_err(store_error)?,
    };
    let _ = conn.close().await;
    let Some(row) = row else {
        return Err(StoreError::NotFound { what: format!("schema {schema} in this database") });
    };
    let minor = check(row.try_get(0).map_err(store_error)?, row.try_get(1).map_err(store_error)?)?;
    if usize::try_from(minor).unwrap_or(0) < MIGRATIONS.len() {
        let text = "the schema is older than this version: redrive migrate brings it up to date";
        return Err(StoreError::Refused(text.into()));
    }
    Ok(())
}

async fn up(conn: &mut sqlx::PgConnection, schema: &str) -> Result<()> {
    let version: i32 = sqlx::query_scalar("SELECT current_setting('server_version_num')::int4")
        .fetch_one(&mut *conn)
        .await
        .map_err(store_error)?;
    if version < 140_000 {
        return Err(StoreError::Refused(format!(
            "Postgres {} is too old: 14 or newer is needed",
            version / 10_000
        )));
    }
    let mut tx = conn.begin().await.map_err(store_error)?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(LOCK)
        .execute(&mut *tx)
        .await
        .map_err(store_error)?;
    let frame = format!(
        "CREATE SCHEMA IF NOT EXISTS {schema};
         CREATE TABLE IF NOT EXISTS {schema}.schema_version (epoch integer NOT NULL, minor integer NOT NULL);"
    );
    tx.execute(sqlx::raw_sql(AssertSqlSafe(frame))).await.map_err(store_error)?;
    let row = sqlx::query(AssertSqlSafe(format!("SELECT epoch, minor FROM {schema}.schema_version")))
        .fetch_optional(&mut *tx)
        .await
        .map_err(store_error)?;
    let done = match row {
        None => 0,
        Some(row) => check(row.try_get(0).map_err(store_error)?, row.try_get(1).map_err(store_error)?)?,
    };
    for (minor, sql) in (1i32..).zip(MIGRATIONS) {
        if minor > done {
            tx.execute(sqlx::raw_sql(AssertSqlSafe(with_schema(sql, schema)))).await.map_err(store_error)?;
        }
    }
    // A newer minor that a later binary wrote stays: it only added things.
    let newest = i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX).max(done);
    let note = format!(
        "DELETE FROM {schema}.schema_version; INSERT INTO {schema}.schema_version VALUES ({EPOCH}, {newest})"
    );
    tx.execute(sqlx::raw_sql(AssertSqlSafe(note))).await.map_err(store_error)?;
    tx.commit().await.map_err(store_error)
}

fn check(epoch: i32, minor: i32) -> Result<i32> {
    if epoch == EPOCH {
        return Ok(minor);
    }
    Err(StoreError::Refused(format!(
        "the database has schema epoch {epoch}, this version works with epoch {EPOCH}: use the version that wrote it, or a \
         backup of your own epoch"
    )))
}
