//! Reading columns: ids, instants and words, with one line when a row cannot be read.

use redrive_model::{BatchId, Code, JobId, Owner, ReplayId, Timestamp, WorkerId, instant};
use rusqlite::types::{FromSqlError, Type};
use rusqlite::{Error, Result, Row};
use uuid::Uuid;

/// A 16-byte id as SQLite keeps it.
pub(crate) fn blob(id: Uuid) -> [u8; 16] {
    id.into_bytes()
}

/// A column that cannot be what it should be.
pub(crate) fn bad(column: usize, what: &str) -> Error {
    Error::FromSqlConversionFailure(column, Type::Null, Box::new(FromSqlError::Other(what.to_owned().into())))
}

pub(crate) fn uuid(row: &Row<'_>, n: usize) -> Result<Uuid> {
    row.get::<_, [u8; 16]>(n).map(Uuid::from_bytes)
}

pub(crate) fn opt_uuid(row: &Row<'_>, n: usize) -> Result<Option<Uuid>> {
    Ok(row.get::<_, Option<[u8; 16]>>(n)?.map(Uuid::from_bytes))
}

pub(crate) fn job(row: &Row<'_>, n: usize) -> Result<JobId> {
    uuid(row, n).map(JobId::from_uuid)
}

pub(crate) fn worker(row: &Row<'_>, n: usize) -> Result<Option<WorkerId>> {
    Ok(opt_uuid(row, n)?.map(WorkerId::from_uuid))
}

pub(crate) fn batch(row: &Row<'_>, n: usize) -> Result<Option<BatchId>> {
    Ok(opt_uuid(row, n)?.map(BatchId::from_uuid))
}

pub(crate) fn replay(row: &Row<'_>, n: usize) -> Result<Option<ReplayId>> {
    Ok(opt_uuid(row, n)?.map(ReplayId::from_uuid))
}

pub(crate) fn at(row: &Row<'_>, n: usize) -> Result<Timestamp> {
    row.get(n).map(instant::from_millis)
}

pub(crate) fn opt_at(row: &Row<'_>, n: usize) -> Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(n)?.map(instant::from_millis))
}

/// A number that is never negative.
pub(crate) fn many(row: &Row<'_>, n: usize) -> Result<u64> {
    row.get::<_, i64>(n).map(|value| u64::try_from(value).unwrap_or(0))
}

pub(crate) fn owner(row: &Row<'_>, n: usize) -> Result<Option<Owner>> {
    row.get::<_, Option<String>>(n)?
        .map(|text| Owner::new(text).map_err(|e| bad(n, &e.to_string())))
        .transpose()
}

/// A stored code. One that only a newer version knows reads as `UNKNOWN`.
pub(crate) fn code(row: &Row<'_>, n: usize) -> Result<Option<Code>> {
    Ok(row.get::<_, Option<String>>(n)?.map(|name| Code::of_stored(&name).0))
}

/// The code that must be there.
pub(crate) fn some_code(row: &Row<'_>, n: usize) -> Result<Code> {
    Ok(Code::of_stored(&row.get::<_, String>(n)?).0)
}

/// A word of a closed set.
pub(crate) fn word<T>(row: &Row<'_>, n: usize, parse: impl FnOnce(&str) -> Option<T>) -> Result<T> {
    let text: String = row.get(n)?;
    parse(&text).ok_or_else(|| bad(n, &format!("unknown word {text:?}")))
}

/// Text that must satisfy a type's own check.
pub(crate) fn checked<T, E: std::fmt::Display>(
    row: &Row<'_>,
    n: usize,
    parse: impl FnOnce(&str) -> std::result::Result<T, E>,
) -> Result<T> {
    let text: String = row.get(n)?;
    parse(&text).map_err(|error| bad(n, &error.to_string()))
}

/// The same for text that may be missing.
pub(crate) fn opt_checked<T, E: std::fmt::Display>(
    row: &Row<'_>,
    n: usize,
    parse: impl FnOnce(&str) -> std::result::Result<T, E>,
) -> Result<Option<T>> {
    let text: Option<String> = row.get(n)?;
    text.map(|text| parse(&text).map_err(|error| bad(n, &error.to_string()))).transpose()
}
