//! Idempotency keys: taken, settled, and what was answered under them.

use redrive_model::instant;
use redrive_store::{Idempotency, Keyed, Result, StoreError};
use rusqlite::params;

use super::record::{execute, find};
use crate::sql;
use crate::writer::Tx;

pub(crate) fn take(tx: &Tx<'_>, request: &Idempotency, by: &str) -> Result<Keyed> {
    request.validate()?;
    if let Some((kept, since)) = kept(tx, request)? {
        return Keyed::from_kept(&kept, instant::from_millis(since), by);
    }
    keep(tx, request, &Keyed::taken_to_kept(by))?;
    Ok(Keyed::Yours)
}

pub(crate) fn settle(tx: &Tx<'_>, request: &Idempotency, by: &str, answer: Option<&str>) -> Result<()> {
    let (owner, key, taken) = (request.owner.as_str(), &request.key, Keyed::taken_to_kept(by));
    match answer.map(Keyed::answer_to_kept) {
        Some(answer) => execute(tx.conn, sql::SETTLE_KEY, params![owner, key, taken, answer]),
        None => execute(tx.conn, sql::FREE_KEY, params![owner, key, taken]),
    }
    .map(drop)
}

/// What is kept under the key of this request, and since when.
pub(super) fn kept(tx: &Tx<'_>, request: &Idempotency) -> Result<Option<(String, i64)>> {
    let found = find(tx.conn, sql::FIND_IDEMPOTENCY, params![request.owner.as_str(), request.key], |row| {
        Ok((row.get::<_, Vec<u8>>(0)?, row.get(1)?, row.get(2)?))
    })?;
    match found {
        Some((hash, ..)) if hash != request.request_hash => Err(StoreError::IdempotencyMismatch),
        Some((_, kept, since)) => Ok(Some((kept, since))),
        None => Ok(None),
    }
}

pub(super) fn keep(tx: &Tx<'_>, request: &Idempotency, kept: &str) -> Result<()> {
    let values = params![request.owner.as_str(), request.key, request.request_hash, kept, tx.now];
    execute(tx.conn, sql::INSERT_IDEMPOTENCY, values).map(drop)
}
