//! A fresh schema per test, with the clock's function replaced by one that reads a row the test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use redrive_model::{Timestamp, instant};
use redrive_store::Store;
use redrive_store::intake::IntakeStore;
use redrive_store_conformance::{Backend, Harness};
use redrive_store_postgres::{Options, PostgresStore};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

static NEXT: AtomicU32 = AtomicU32::new(0);
pub(crate) const START: i64 = 1_800_000_000_000;

/// Where the private server is.
#[expect(clippy::disallowed_methods, reason = "the test script says here where its server is")]
pub(crate) fn url() -> String {
    std::env::var("REDRIVE_TEST_POSTGRES")
        .expect("REDRIVE_TEST_POSTGRES is not set: run ./test, or start a server with scripts/postgres.sh")
}

/// A schema name that no other test has.
pub(crate) fn schema_name() -> String {
    use std::hash::BuildHasher;
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("t{:x}_{n}", std::collections::hash_map::RandomState::new().hash_one(std::process::id()))
}

/// Runs statements on a connection of its own.
pub(crate) async fn execute(sql: String) {
    let mut conn = PgConnection::connect(&url()).await.unwrap();
    conn.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await.unwrap();
}

/// One fresh schema.
pub(crate) struct Postgres {
    pub(crate) schema: String,
    pub(crate) store: Arc<PostgresStore>,
}

impl Postgres {
    pub(crate) async fn fresh() -> Self {
        Self::with(Options::default()).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        let schema = schema_name();
        let store = options.connections(4).schema(&schema).unwrap().open(&url()).await.unwrap();
        execute(format!(
            "CREATE TABLE {schema}.test_clock (ms bigint NOT NULL); INSERT INTO {schema}.test_clock VALUES ({START});
             CREATE OR REPLACE FUNCTION {schema}.now_ms() RETURNS bigint LANGUAGE sql VOLATILE
                 AS $$ SELECT ms FROM {schema}.test_clock $$"
        ))
        .await;
        Self { schema, store: Arc::new(store) }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The server is thrown away after the tests; dropping the schema only keeps it small meanwhile.
        let (schema, store) = (self.schema.clone(), self.store.clone());
        if let Ok(handle) = tokio::runtime::Handle::try_current() {
            handle.spawn(async move {
                store.close().await;
                execute(format!("DROP SCHEMA IF EXISTS {schema} CASCADE")).await;
            });
        }
    }
}

#[async_trait]
impl Harness for Postgres {
    fn backend(&self) -> Backend {
        Backend::Postgres
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    fn intake(&self) -> Arc<dyn IntakeStore> {
        self.store.clone()
    }

    async fn second(&self) -> Arc<dyn Store> {
        Arc::new(Options::default().connections(2).schema(&self.schema).unwrap().open(&url()).await.unwrap())
    }

    async fn advance(&self, by: Duration) {
        execute(format!("UPDATE {}.test_clock SET ms = ms + {}", self.schema, instant::millis(by))).await;
    }

    async fn set_clock(&self, at: Timestamp) {
        execute(format!("UPDATE {}.test_clock SET ms = {}", self.schema, instant::to_millis(at))).await;
    }

    async fn raw(&self, sql: &str) -> Result<(), String> {
        let mut conn = PgConnection::connect(&url()).await.map_err(|e| e.to_string())?;
        let sql = format!("SET search_path = {}; {sql}", self.schema);
        conn.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await.map(drop).map_err(|e| e.to_string())
    }
}
