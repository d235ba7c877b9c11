//! Reading columns: ids, instants and words, with one line when a row cannot be read.

use redrive_model::{BatchId, Code, JobId, Owner, ReplayId, Timestamp, WorkerId, instant};
use sqlx::postgres::PgRow;
use sqlx::{Error, Result, Row};
use uuid::Uuid;

/// A column that cannot be what it should be.
pub(crate) fn bad(n: usize, what: impl std::fmt::Display) -> Error {
    Error::ColumnDecode { index: n.to_string(), source: what.to_string().into() }
}

pub(crate) fn job(row: &PgRow, n: usize) -> Result<JobId> {
    row.try_get::<Uuid, _>(n).map(JobId::from_uuid)
}

pub(crate) fn worker(row: &PgRow, n: usize) -> Result<Option<WorkerId>> {
    Ok(row.try_get::<Option<Uuid>, _>(n)?.map(WorkerId::from_uuid))
}

pub(crate) fn batch(row: &PgRow, n: usize) -> Result<Option<BatchId>> {
    Ok(row.try_get::<Option<Uuid>, _>(n)?.map(BatchId::from_uuid))
}

pub(crate) fn replay(row: &PgRow, n: usize) -> Result<Option<ReplayId>> {
    Ok(row.try_get::<Option<Uuid>, _>(n)?.map(ReplayId::from_uuid))
}

pub(crate) fn at(row: &PgRow, n: usize) -> Result<Timestamp> {
    row.try_get(n).map(instant::from_millis)
}

pub(crate) fn opt_at(row: &PgRow, n: usize) -> Result<Option<Timestamp>> {
    Ok(row.try_get::<Option<i64>, _>(n)?.map(instant::from_millis))
}

/// A number that is never negative.
pub(crate) fn count(row: &PgRow, n: usize) -> Result<u32> {
    row.try_get::<i32, _>(n).map(|v| u32::try_from(v).unwrap_or(0))
}

pub(crate) fn opt_count(row: &PgRow, n: usize) -> Result<Option<u32>> {
    Ok(row.try_get::<Option<i32>, _>(n)?.map(|v| u32::try_from(v).unwrap_or(0)))
}

/// A large number that is never negative.
pub(crate) fn many(row: &PgRow, n: usize) -> Result<u64> {
    row.try_get::<i64, _>(n).map(|v| u64::try_from(v).unwrap_or(0))
}

pub(crate) fn status(row: &PgRow, n: usize) -> Result<Option<u16>> {
    Ok(row.try_get::<Option<i32>, _>(n)?.and_then(|v| u16::try_from(v).ok()))
}

pub(crate) fn owner(row: &PgRow, n: usize) -> Result<Option<Owner>> {
    row.try_get::<Option<String>, _>(n)?.map(|text| Owner::new(text).map_err(|e| bad(n, e))).transpose()
}

/// A stored code. One that only a newer version knows reads as `UNKNOWN`.
pub(crate) fn code(row: &PgRow, n: usize) -> Result<Option<Code>> {
    Ok(row.try_get::<Option<String>, _>(n)?.map(|name| Code::of_stored(&name).0))
}

/// The code that must be there.
pub(crate) fn some_code(row: &PgRow, n: usize) -> Result<Code> {
    Ok(Code::of_stored(&row.try_get::<String, _>(n)?).0)
}

/// A word of a closed set.
pub(crate) fn word<T>(row: &PgRow, n: usize, parse: impl FnOnce(&str) -> Option<T>) -> Result<T> {
    let text: String = row.try_get(n)?;
    parse(&text).ok_or_else(|| bad(n, format!("unknown word {text:?}")))
}

/// Text that must satisfy a type's own check.
pub(crate) fn checked<T, E: std::fmt::Display>(
    row: &PgRow,
    n: usize,
    parse: impl FnOnce(&str) -> std::result::Result<T, E>,
) -> Result<T> {
    let text: String = row.try_get(n)?;
    parse(&text).map_err(|error| bad(n, error))
}

/// The same for text that may be missing.
pub(crate) fn opt_checked<T, E: std::fmt::Display>(
    row: &PgRow,
    n: usize,
    parse: impl FnOnce(&str) -> std::result::Result<T, E>,
) -> Result<Option<T>> {
    let text: Option<String> = row.try_get(n)?;
    text.map(|text| parse(&text).map_err(|error| bad(n, error))).transpose()
}
