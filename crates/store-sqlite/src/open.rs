//! Opening the file: what is checked, which pragmas hold, how the schema comes up to date.
//!
//! A file that is not ours, is damaged, is of another epoch or lies on a network file system is refused with one line.
//! Nothing is ever created over something that exists.

use std::path::Path;
use std::time::Duration;

use redrive_store::StoreError;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, config::DbConfig};

use crate::error::store_error;

/// Earlier ones can corrupt a database when a write-ahead log is reset.
const OLDEST_SQLITE: i32 = 3_051_003;
/// "RDRV": marks our files.
const APPLICATION_ID: i64 = 0x5244_5256;
/// Schemas of another epoch are refused.
pub(crate) const EPOCH: i64 = 1;
/// The minors of this epoch, in order. Each one only adds, or says the same in another way.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/1_floor.sql"),
    include_str!("../migrations/2_batches.sql"),
    include_str!("../migrations/3_documents.sql"),
    include_str!("../migrations/4_single.sql"),
    include_str!("../migrations/5_twins.sql"),
    include_str!("../migrations/6_drain.sql"),
    include_str!("../migrations/7_overview.sql"),
    include_str!("../migrations/8_tokens.sql"),
    include_str!("../migrations/9_trail.sql"),
    include_str!("../migrations/10_chores.sql"),
    include_str!("../migrations/11_replays.sql"),
];
/// KiB of the file that the writer keeps in memory.
const WRITER_KEEPS: i64 = 4 << 10;
/// And a reader: little, because what it keeps is thrown away at its next read after any commit.
const READER_KEEPS: i64 = 2 << 10;
/// A larger file is checked in the background.
pub(crate) const CHECK_AT_ONCE: u64 = 64 << 20;
const NETWORK_FILE_SYSTEMS: &[&str] =
    &["nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "glusterfs", "ceph", "afs"];

/// Where the database is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'a> {
    /// A file.
    File(&'a Path),
    /// Nowhere: gone with the connection.
    Memory,
}

/// How often the log is synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    /// Before every commit is answered.
    EachCommit,
    /// When it is folded into the file.
    Seldom,
}

/// Opens the one connection that writes, and brings the schema up to date.
pub(crate) fn open_writer(place: Place<'_>, sync: Sync) -> Result<Connection, StoreError> {
    refuse_old_sqlite(rusqlite::version_number())?;
    let mut conn = match place {
        Place::Memory => Connection::open_in_memory().map_err(store_error)?,
        Place::File(path) => {
            refuse_network(path, &std::fs::read_to_string("/proc/mounts").unwrap_or_default())?;
            refuse_empty_beside_log(path)?;
            refuse_stub(path)?;
            Connection::open(path).map_err(|e| cannot_open(path, e))?
        }
    };
    pragmas(&conn)?;
    keep(&conn, WRITER_KEEPS)?;
    // Before anything is changed: a file that is not ours stays as it is, down to its journal mode.
    if !is_empty(&conn)? {
        check_version(&conn)?;
    }
    if let Place::File(path) = place {
        let bytes = std::fs::metadata(path).map(|m| m.len()).unwrap_or(0);
        if bytes > 0 && bytes <= CHECK_AT_ONCE {
            quick_check(&conn)?;
        }
    }
    conn.pragma_update(None, "journal_mode", "WAL").map_err(store_error)?;
    let level = match sync {
        Sync::EachCommit => "FULL",
        Sync::Seldom => "NORMAL",
    };
    conn.pragma_update(None, "synchronous", level).map_err(store_error)?;
    conn.pragma_update(None, "journal_size_limit", 64 << 20).map_err(store_error)?;
    // A hot page is folded into the file once per 32 MiB of log, not once per 4.
    conn.pragma_update(None, "wal_autocheckpoint", 8_192).map_err(store_error)?;
    migrate(&mut conn)?;
    Ok(conn)
}

/// Opens a connection that only reads. The schema must be there already, and none of an older version.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let conn = Connection::open_with_flags(path, flags).map_err(|e| cannot_open(path, e))?;
    pragmas(&conn)?;
    keep(&conn, READER_KEEPS)?;
    if check_version(&conn)? < newest() {
        let text = "the schema is older than this version: redrive migrate brings it up to date";
        return Err(StoreError::Refused(text.into()));
    }
    Ok(conn)
}

/// The schema of this version.
fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Looks for damage. One clear line when there is some.
pub(crate) fn quick_check(conn: &Connection) -> Result<(), StoreError> {
    let verdict: String =
        conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(store_error)?;
    if verdict == "ok" {
        return Ok(());
    }
    let first = verdict.lines().next().unwrap_or_default().to_owned();
    Err(StoreError::Refused(format!("the database file is damaged ({first}): restore a backup")))
}

fn pragmas(conn: &Connection) -> Result<(), StoreError> {
    conn.busy_timeout(Duration::from_secs(5)).map_err(store_error)?;
    conn.set_prepared_statement_cache_capacity(128);
    // Plans depend on the schema alone, so a statement is never prepared again because another value was bound.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(store_error)?;
    for (name, value) in [
        ("foreign_keys", "ON"),
        ("trusted_schema", "OFF"),
        ("cell_size_check", "ON"),
        ("temp_store", "MEMORY"),
    ] {
        conn.pragma_update(None, name, value).map_err(store_error)?;
    }
    Ok(())
}

/// So much of the file is kept in memory by a connection, at most.
fn keep(conn: &Connection, kib: i64) -> Result<(), StoreError> {
    conn.pragma_update(None, "cache_size", -kib).map_err(store_error)
}

fn version(conn: &Connection) -> Result<(i64, i64, i64), StoreError> {
    let read =
        |name: &str| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(store_error);
    let packed = read("user_version")?;
    Ok((read("application_id")?, packed / 1_000, packed % 1_000))
}

/// Whether there is nothing in the database yet.
fn is_empty(conn: &Connection) -> Result<bool, StoreError> {
    conn.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0)).map_err(store_error)
}

fn check_version(conn: &Connection) -> Result<i64, StoreError> {
    let (application, epoch, minor) = version(conn)?;
    if application != APPLICATION_ID {
        return Err(StoreError::Refused("the file is not a Redrive database".into()));
    }
    if epoch != EPOCH {
        return Err(StoreError::Refused(format!(
            "the database has schema epoch {epoch}, this version works with epoch {EPOCH}: use the version that wrote it, or a \
             backup of your own epoch"
        )));
    }
    Ok(minor)
}

fn migrate(conn: &mut Connection) -> Result<(), StoreError> {
    // One immediate transaction: starters that come at the same moment wait, and a kill in the middle leaves nothing.
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(store_error)?;
    let done = if is_empty(&tx)? {
        tx.pragma_update(None, "application_id", APPLICATION_ID).map_err(store_error)?;
        0
    } else {
        check_version(&tx)?
    };
    for (minor, sql) in (1..).zip(MIGRATIONS) {
        if minor > done {
            tx.execute_batch(sql).map_err(store_error)?;
        }
    }
    // A newer minor that a later binary wrote stays: it only added things.
    tx.pragma_update(None, "user_version", EPOCH * 1_000 + done.max(newest())).map_err(store_error)?;
    tx.commit().map_err(store_error)
}

fn refuse_old_sqlite(version: i32) -> Result<(), StoreError> {
    if version >= OLDEST_SQLITE {
        return Ok(());
    }
    Err(StoreError::Refused(format!(
        "SQLite {version} has a bug that can damage the file: at least {OLDEST_SQLITE} is needed"
    )))
}

/// A log without its database means that the database was moved or removed: an empty one must not take its place.
fn refuse_empty_beside_log(path: &Path) -> Result<(), StoreError> {
    let log = crate::lock::beside(path, "-wal");
    let has = |p: &Path| std::fs::metadata(p).is_ok_and(|m| m.len() > 0);
    if has(&log) && !has(path) {
        return Err(StoreError::Refused(format!(
            "{} is missing or empty but its write-ahead log is there: restore the file, or move the log away",
            path.display()
        )));
    }
    Ok(())
}

/// SQLite takes a file of a few bytes for an empty database and writes over it.
fn refuse_stub(path: &Path) -> Result<(), StoreError> {
    match std::fs::metadata(path).map(|m| m.len()) {
        Ok(bytes @ 1..=511) => Err(StoreError::Refused(format!(
            "the database file is damaged: {} has only {bytes} bytes: restore a backup",
            path.display()
        ))),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn refuse_network(path: &Path, mounts: &str) -> Result<(), StoreError> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(folder) = folder.canonicalize() else { return Ok(()) };
    let kind = mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ').skip(1);
            Some((fields.next()?, fields.next()?))
        })
        .filter(|(point, _)| folder.starts_with(point))
        .max_by_key(|(point, _)| point.len())
        .map(|(_, kind)| kind);
    match kind.filter(|kind| NETWORK_FILE_SYSTEMS.contains(kind)) {
        Some(kind) => Err(StoreError::Refused(format!(
            "{} lies on a network file system ({kind}), where SQLite's locks cannot be trusted: use a local disk or Postgres",
            path.display()
        ))),
        None => Ok(()),
    }
}

fn cannot_open(path: &Path, error: rusqlite::Error) -> StoreError {
    match store_error(error) {
        refused @ StoreError::Refused(_) => refused,
        other => StoreError::Refused(format!("cannot open {}: {other}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_sqlite_is_refused() {
        assert!(refuse_old_sqlite(3_051_002).unwrap_err().to_string().contains("at least"));
        refuse_old_sqlite(rusqlite::version_number()).unwrap();
    }

    #[test]
    fn a_network_file_system_is_refused_and_the_nearest_mount_counts() {
        let dir = std::env::temp_dir().canonicalize().unwrap();
        let file = dir.join("x.db");
        let mounts = format!("/dev/a / ext4 rw 0 0\nserver:/x {} nfs4 rw 0 0\n", dir.display());
        assert!(refuse_network(&file, &mounts).unwrap_err().to_string().contains("nfs4"));
        refuse_network(&file, "server:/ / nfs rw 0 0\n").unwrap_err();
        let mounts = format!("server:/ / nfs rw 0 0\n/dev/a {} ext4 rw 0 0\n", dir.display());
        refuse_network(&file, &mounts).unwrap();
    }
}
