//! A database of its own on the server that tests may use.

use redrive::sqlx::{self, AssertSqlSafe, Connection, Executor, PgConnection};

/// Gone when dropped.
pub(crate) struct Database {
    server: String,
    name: String,
    pub(crate) url: String,
}

impl Database {
    /// Nothing without a server; the test says so and skips.
    #[expect(clippy::print_stderr, reason = "a test that skips says so")]
    #[expect(clippy::disallowed_methods, reason = "the test script says here where its server is")]
    pub(crate) fn new() -> Option<Self> {
        let Ok(server) = std::env::var("REDRIVE_TEST_POSTGRES") else {
            eprintln!("skipped: REDRIVE_TEST_POSTGRES names no server");
            return None;
        };
        let name =
            format!("cli_{}_{}", std::process::id(), std::time::UNIX_EPOCH.elapsed().unwrap().as_micros());
        say(&server, &format!("CREATE DATABASE {name}"));
        let (address, settings) =
            server.split_once('?').map_or((&*server, String::new()), |(a, s)| (a, format!("?{s}")));
        let (host, _) = address.rsplit_once('/').unwrap();
        Some(Self { url: format!("{host}/{name}{settings}"), server: server.clone(), name })
    }

    /// Says something to it.
    pub(crate) fn say(&self, sql: &str) {
        say(&self.url, sql);
    }

    /// Asks it for a number.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        on(async {
            let mut connection = PgConnection::connect(&self.url).await.unwrap();
            sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(&mut connection).await.unwrap()
        })
    }

    /// Takes a lock in a transaction that stays open.
    pub(crate) fn hold(&self, lock: &str) -> Held {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let connection = runtime.block_on(async {
            let mut connection = PgConnection::connect(&self.url).await.unwrap();
            let begun = format!("BEGIN; {lock}");
            connection.execute(sqlx::raw_sql(AssertSqlSafe(begun))).await.unwrap();
            connection
        });
        Held { runtime, connection }
    }
}

/// A lock that is held.
pub(crate) struct Held {
    runtime: tokio::runtime::Runtime,
    connection: PgConnection,
}

impl Held {
    pub(crate) fn release(mut self) {
        self.runtime.block_on(self.connection.execute("COMMIT")).unwrap();
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        say(&self.server, &format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

fn say(url: &str, sql: &str) {
    on(async {
        let mut connection = PgConnection::connect(url).await.unwrap();
        connection.execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))).await.unwrap();
    });
}

fn on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}
