//! Looks for canaries, as they are and as they are written in headers, addresses and dumps.

use std::collections::BTreeSet;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use redrive::sqlx::{self, AssertSqlSafe, Connection, PgConnection, Row};
use rusqlite::types::ValueRef;

use super::settings::{SETTING, USER};

/// Where a handler finds what it shall do: links and headers that were handed in must be there, and nowhere else.
const MUST_BE_THERE: &str = "payloads";

/// What was found so far.
#[derive(Default)]
pub(super) struct Searched {
    /// Secrets that were made on the way.
    exact: Vec<(String, String)>,
    found: BTreeSet<String>,
    looked_at: usize,
}

impl Searched {
    /// From now on this is a secret too.
    pub(super) fn also(&mut self, what: &str, secret: &str) {
        assert!(secret.len() >= 16, "{what}: {secret}");
        self.exact.push((what.to_owned(), secret.to_owned()));
    }

    /// Looks at text.
    pub(super) fn text(&mut self, place: &str, text: &str) {
        self.bytes(place, text.as_bytes());
    }

    /// Looks at bytes.
    pub(super) fn bytes(&mut self, place: &str, bytes: &[u8]) {
        self.look(place, bytes, &[SETTING, USER]);
    }

    /// The same where links and headers that were handed in must be.
    pub(super) fn bytes_with_links(&mut self, place: &str, bytes: &[u8]) {
        self.look(place, bytes, &[SETTING]);
    }

    fn look(&mut self, place: &str, bytes: &[u8], marks: &[&str]) {
        self.looked_at += bytes.len();
        let text = String::from_utf8_lossy(bytes).to_lowercase();
        for mark in marks {
            for form in forms(mark) {
                if let Some(at) = text.find(&form) {
                    let around = context(&text, at);
                    self.found.insert(format!("{place}: {mark} in …{around}…"));
                }
            }
        }
        for (what, secret) in &self.exact {
            if text.contains(&secret.to_lowercase()) {
                self.found.insert(format!("{place}: {what}"));
            }
        }
    }

    /// Looks at every file below a folder. `server.json` holds the token of this start, for whoever may read it.
    pub(super) fn files(&mut self, folder: &Path) {
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap().flatten() {
                let path = entry.path();
                let name = path.display().to_string();
                if path.is_dir() {
                    folders.push(path);
                } else if !["redrive.toml", "server.json", "redrive.db", "redrive.db-wal", "redrive.db-shm"]
                    .contains(&entry.file_name().to_str().unwrap())
                {
                    let bytes = std::fs::read(&path).unwrap();
                    match name.contains("/manifests/") {
                        true => self.bytes_with_links(&name, &bytes),
                        false => self.bytes(&name, &bytes),
                    }
                    self.text("a file's name", &name);
                }
            }
        }
    }

    /// Looks at every row of an SQLite file.
    pub(super) fn sqlite(&mut self, file: &Path) {
        let db = rusqlite::Connection::open(file).unwrap();
        let mut tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").unwrap();
        let tables: Vec<String> =
            tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert!(tables.len() > 15, "{tables:?}");
        for table in tables {
            let mut rows = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let columns = rows.column_count();
            let mut rows = rows.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                for n in 0..columns {
                    if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = row.get_ref(n).unwrap() {
                        self.cell(&table, bytes);
                    }
                }
            }
        }
    }

    /// Looks at every row of our schema in Postgres.
    pub(super) fn postgres(&mut self, url: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let rows = runtime.block_on(async {
            let mut connection = PgConnection::connect(url).await.unwrap();
            let tables =
                "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'redrive'";
            let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut connection).await.unwrap();
            assert!(tables.len() > 15, "{tables:?}");
            let mut all = Vec::new();
            for table in tables {
                let rows = AssertSqlSafe(format!("SELECT t::text FROM redrive.{table} AS t"));
                for row in sqlx::query(rows).fetch_all(&mut connection).await.unwrap() {
                    all.push((table.clone(), row.get::<String, _>(0)));
                }
            }
            all
        });
        for (table, row) in rows {
            self.cell(&table, row.as_bytes());
        }
    }

    fn cell(&mut self, table: &str, bytes: &[u8]) {
        let place = format!("table {table}");
        match table == MUST_BE_THERE {
            true => self.bytes_with_links(&place, bytes),
            false => self.bytes(&place, bytes),
        }
    }

    /// Nothing was found.
    pub(super) fn is_clean(&self) {
        assert!(self.looked_at > 1_000, "nothing was looked at");
        assert!(self.found.is_empty(), "{} places hold secrets: {:#?}", self.found.len(), self.found);
    }
}

/// How a canary may be written: as it is, in hexadecimal digits, in base64 wherever it begins.
fn forms(mark: &str) -> Vec<String> {
    let hex: String = mark.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut forms = vec![mark.to_owned(), hex];
    for before in ["", "x", "xx"] {
        let skip = (before.len() * 4).div_ceil(3);
        let whole = format!("{before}{mark}");
        for coded in [STANDARD.encode(&whole), URL_SAFE.encode(&whole)] {
            // The last digits depend on what follows.
            let sure = whole.len() * 8 / 6;
            forms.push(coded[skip..sure].to_lowercase());
        }
    }
    forms
}

fn context(text: &str, at: usize) -> String {
    let start = (0..=at.saturating_sub(60)).rev().find(|n| text.is_char_boundary(*n)).unwrap_or(0);
    let end = (at + 60..=text.len()).find(|n| text.is_char_boundary(*n)).unwrap_or(text.len());
    text[start..end].to_owned()
}

#[test]
fn a_canary_is_found_however_it_is_written() {
    for form in [
        "a cnry-secret b".to_owned(),
        "CNRY-SETTING".to_owned(),
        STANDARD.encode("cnry-smtp-user:cnry-smtp-password"),
        STANDARD.encode("\0cnry-smtp-user"),
        URL_SAFE.encode("ab:cnry-smtp-password"),
        "\\x20636e72792d7320".to_owned(),
    ] {
        let mut searched = Searched::default();
        searched.text("here", &form);
        assert_eq!(searched.found.len(), 1, "{form}");
    }
    let mut searched = Searched::default();
    searched.text("here", "nothing of that kind");
    assert!(searched.found.is_empty());
}
