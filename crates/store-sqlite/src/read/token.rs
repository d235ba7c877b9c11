//! Operators' tokens, as they stand now.

use redrive_model::{Timestamp, instant};
use redrive_store::{MAX_TOKENS, Result, Scope, Standing, TokenId, TokenRow};
use rusqlite::{Connection, Row, params};

use crate::row;
use crate::sql;
use crate::verb::record::{find, list};

pub(crate) fn token(conn: &Connection, now: Timestamp, id: TokenId) -> Result<Option<TokenRow>> {
    find(conn, sql::TOKEN, params![id.to_string()], |found| read(found, now))
}

pub(crate) fn tokens(conn: &Connection, now: Timestamp) -> Result<Vec<TokenRow>> {
    let most = i64::try_from(MAX_TOKENS).unwrap_or(i64::MAX);
    list(conn, sql::TOKENS, params![most], |found| read(found, now))
}

fn read(found: &Row<'_>, now: Timestamp) -> rusqlite::Result<TokenRow> {
    let (expires_at, revoked_at) = (row::opt_at(found, 6)?, row::opt_at(found, 7)?);
    let used_at = row::opt_at(found, 8)?;
    Ok(TokenRow {
        id: row::checked(found, 0, str::parse)?,
        name: row::checked(found, 1, str::parse)?,
        scope: row::word(found, 2, Scope::parse)?,
        hash: found.get(3)?,
        made_at: row::at(found, 4)?,
        made_by: found.get(5)?,
        expires_at,
        revoked_at,
        used_at,
        unused: used_at.map(|used| instant::between(used, now)),
        standing: Standing::at(now, expires_at, revoked_at),
    })
}
