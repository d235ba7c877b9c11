//! Where a measurement happens: a database that was empty and goes away afterwards.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use redrive::sqlx::{self, AssertSqlSafe, Connection, Executor, PgConnection};
use redrive::{Engine, Options};
use tempfile::TempDir;

const FILE: &str = "jobs.db";

/// A fresh database.
#[derive(Debug)]
pub(crate) struct Place {
    /// What [`Engine::open`] takes.
    pub(crate) url: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Sqlite { folder: TempDir },
    Postgres { server: String, name: String },
}

static NEXT: AtomicUsize = AtomicUsize::new(1);

impl Place {
    /// A new file in a folder of its own below this one.
    pub(crate) fn sqlite(folder: &Path) -> Result<Self> {
        let made = tempfile::tempdir_in(folder);
        let folder = made.with_context(|| format!("cannot make a database in {}", folder.display()))?;
        let url = format!("sqlite:{}", folder.path().join(FILE).display());
        Ok(Self { url, kind: Kind::Sqlite { folder } })
    }

    /// A new database on this server, beside those that are there.
    pub(crate) async fn postgres(server: &str) -> Result<Self> {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("redrive_bench_{}_{n}", std::process::id());
        let made = say(server, &format!("CREATE DATABASE {name}")).await;
        made.with_context(|| {
            format!("cannot make a database on {}", redrive::model::redact::redact(server))
        })?;
        let url = beside(server, &name)?;
        Ok(Self { url, kind: Kind::Postgres { server: server.to_owned(), name } })
    }

    /// Which database this is.
    #[must_use]
    pub(crate) const fn on(&self) -> &'static str {
        match self.kind {
            Kind::Sqlite { .. } => "sqlite",
            Kind::Postgres { .. } => "postgres",
        }
    }

    /// An engine with default settings.
    pub(crate) async fn engine(&self) -> Result<Engine> {
        Ok(Engine::open(&self.url).await?)
    }

    /// An engine whose leases last this long.
    pub(super) async fn engine_with(url: &str, ttl: Duration) -> Result<Engine> {
        Ok(Engine::open_with(url, Options { lease_ttl: ttl, ..Options::default() }).await?)
    }

    /// What a database in use has done long ago (statistics), and what a server would otherwise begin somewhere within the
    /// measurement. Every peer gets the same.
    pub(crate) async fn settle(&self) -> Result<()> {
        match &self.kind {
            Kind::Postgres { .. } => {
                say(&self.url, "VACUUM (ANALYZE)").await?;
                say(&self.url, "CHECKPOINT").await
            }
            Kind::Sqlite { folder } => {
                let database = redrive::rusqlite::Connection::open(folder.path().join(FILE))?;
                Ok(database.execute_batch("ANALYZE")?)
            }
        }
    }

    /// Removes it.
    pub(crate) async fn remove(self) -> Result<()> {
        if let Kind::Postgres { server, name } = &self.kind {
            say(server, &format!("DROP DATABASE {name} WITH (FORCE)")).await?;
        }
        Ok(())
    }
}

async fn say(url: &str, sql: &str) -> Result<()> {
    let mut connection = PgConnection::connect(url).await?;
    connection.execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))).await?;
    connection.close().await?;
    Ok(())
}

/// The same server, another database.
fn beside(server: &str, name: &str) -> Result<String> {
    let (address, settings) =
        server.split_once('?').map_or((server, String::new()), |(a, s)| (a, format!("?{s}")));
    let (host, _) = address.rsplit_once('/').context("the URL names no database")?;
    Ok(format!("{host}/{name}{settings}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_database_keeps_the_rest_of_the_url() {
        assert_eq!(beside("postgres://u@h:1/a?x=y", "b").unwrap(), "postgres://u@h:1/b?x=y");
        assert_eq!(beside("postgres://u@h:1/a", "b").unwrap(), "postgres://u@h:1/b");
    }
}
