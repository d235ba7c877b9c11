//! How to connect: pools, timeouts, and planner settings that keep every plan on its index.

use std::str::FromStr;
use std::time::Duration;

use redrive_store::{Result, StoreError};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

use crate::error::store_error;
use crate::hot::Hot;
use crate::store::PostgresStore;

/// How to open a store.
#[derive(Debug, Clone)]
pub struct Options {
    schema: String,
    connections: u32,
    planner: Vec<(&'static str, &'static str)>,
}

impl Default for Options {
    fn default() -> Self {
        Self { schema: "redrive".into(), connections: 8, planner: PLANNER.to_vec() }
    }
}

/// Connections for looking and acting by hand.
const READERS: u32 = 4;

/// Every statement here is meant to walk an index; on a table that was never analysed the planner may think otherwise
/// and sort the whole backlog. One plan per statement, made once.
const PLANNER: &[(&str, &str)] = &[
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_mergejoin", "off"),
    ("jit", "off"),
    ("plan_cache_mode", "force_generic_plan"),
];

/// Nothing may hang: not a statement, not a lock, not a forgotten transaction.
const TIMEOUTS: &[(&str, &str)] = &[
    ("statement_timeout", "10s"),
    ("lock_timeout", "2s"),
    ("idle_in_transaction_session_timeout", "30s"),
    ("tcp_keepalives_idle", "15"),
    ("tcp_user_timeout", "15s"),
];

impl Options {
    /// Another schema than `redrive`: a plain lower-case identifier.
    pub fn schema(mut self, name: &str) -> Result<Self> {
        let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if name.is_empty() || name.len() > 48 || !plain || name.starts_with(|c: char| c.is_ascii_digit()) {
            let text = format!(
                "{name:?} cannot be a schema: use a-z, 0-9 and '_', at most 48 of them, no digit first"
            );
            return Err(StoreError::Invalid(text));
        }
        self.schema = name.to_owned();
        Ok(self)
    }

    /// How many connections for the work itself, beside the few for looking, leases and hints.
    #[must_use]
    pub const fn connections(mut self, n: u32) -> Self {
        self.connections = if n == 0 { 1 } else { n };
        self
    }

    /// Leaves the planner alone, to show that no limit depends on our settings.
    #[must_use]
    pub fn planner(mut self, settings: &[(&'static str, &'static str)]) -> Self {
        self.planner = settings.to_vec();
        self
    }

    /// Connects, and brings the schema up to date.
    pub async fn open(self, url: &str) -> Result<PostgresStore> {
        let base = parse(url)?;
        crate::migrate::migrate(&base, &self.schema).await?;
        self.connect(base, &[]).await
    }

    /// Connects only for looking, also while others work. The schema must be there already; every write is refused.
    pub async fn read_only(self, url: &str) -> Result<PostgresStore> {
        let base = parse(url)?;
        crate::migrate::look(&base, &self.schema).await?;
        self.connect(base, &[("default_transaction_read_only", "on")]).await
    }

    async fn connect(
        self,
        base: PgConnectOptions,
        more: &[(&'static str, &'static str)],
    ) -> Result<PostgresStore> {
        let connect = base.clone().options(TIMEOUTS.iter().chain(&self.planner).chain(more).copied());
        let pool = pool(READERS, connect.clone()).await?;
        // Heartbeats have a connection that no slow query can take.
        let leases = Hot::new(1, connect.clone());
        let hot = Hot::new(self.connections, connect);
        Ok(PostgresStore::start(hot, pool, leases, base, &self.schema))
    }
}

fn parse(url: &str) -> Result<PgConnectOptions> {
    let bad = |error: sqlx::Error| StoreError::Invalid(format!("the database URL cannot be used: {error}"));
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(StoreError::Invalid("the database URL must start with postgres://".into()));
    }
    Ok(PgConnectOptions::from_str(url).map_err(bad)?.application_name("redrive"))
}

async fn pool(max: u32, options: PgConnectOptions) -> Result<PgPool> {
    PgPoolOptions::new()
        .max_connections(max)
        .acquire_timeout(Duration::from_secs(5))
        // A ping before every call would double the round trips; a broken connection shows at its first use.
        .test_before_acquire(false)
        .connect_with(options)
        .await
        .map_err(store_error)
}
