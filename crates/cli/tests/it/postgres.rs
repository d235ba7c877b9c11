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
