//! A look into the database, past the server.

use std::collections::BTreeSet;

use redrive::rusqlite;
use redrive::sqlx::{self, AssertSqlSafe, Connection, PgConnection, Row};

use super::world::World;

impl World {
    /// What these statements of one dialect answer, all of it text. Tables are named without their schema.
    pub(crate) async fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        let url = &self.settings()["DATABASE_URL"];
        let Some(path) = url.strip_prefix("sqlite:") else {
            let mut conn = PgConnection::connect(url).await.unwrap();
            sqlx::query("SET search_path TO redrive").execute(&mut conn).await.unwrap();
            let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(&mut conn).await.unwrap();
            return rows
                .iter()
                .map(|row| (0..row.len()).map(|n| row.get::<String, _>(n)).collect())
                .collect();
        };
        let conn = rusqlite::Connection::open(path).unwrap();
        let mut statement = conn.prepare(sql).unwrap();
        let many = statement.column_count();
        let rows =
            statement.query_map([], |row| (0..many).map(|n| row.get::<_, String>(n)).collect()).unwrap();
        rows.map(Result::unwrap).collect()
    }

    /// The columns of a table.
    pub(crate) async fn columns(&self, table: &str) -> BTreeSet<String> {
        let sql = match self.settings()["DATABASE_URL"].starts_with("sqlite:") {
            true => format!("SELECT name FROM pragma_table_info('{table}')"),
            false => format!(
                "SELECT CAST(column_name AS text) FROM information_schema.columns \
                 WHERE table_schema = 'redrive' AND table_name = '{table}'"
            ),
        };
        let columns: BTreeSet<String> = self.rows(&sql).await.into_iter().flatten().collect();
        assert!(!columns.is_empty(), "there is no table {table}");
        columns
    }
}
