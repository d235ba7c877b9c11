//! Operators' tokens: kept, used, taken back; and the sessions that begin with one.

use redrive_model::instant;
use redrive_store::{NewToken, Result, SessionKey, TokenId};
use rusqlite::params;

use super::record::execute;
use crate::sql;
use crate::writer::Tx;

pub(crate) fn add(tx: &Tx<'_>, new: &NewToken) -> Result<()> {
    let (id, expires_at) = (TokenId::of(&new.hash).to_string(), new.expires_at.map(instant::to_millis));
    let values = params![id, new.name.as_str(), new.scope.as_str(), new.hash, tx.now, new.by, expires_at];
    execute(tx.conn, sql::ADD_TOKEN, values).map(drop)
}

pub(crate) fn revoke(tx: &Tx<'_>, id: TokenId) -> Result<bool> {
    let id = id.to_string();
    let there = execute(tx.conn, sql::REVOKE_TOKEN, params![id, tx.now])? > 0;
    execute(tx.conn, sql::END_TOKEN_SESSIONS, params![id])?;
    Ok(there)
}

pub(crate) fn touch(tx: &Tx<'_>, id: TokenId) -> Result<()> {
    execute(tx.conn, sql::TOUCH_TOKEN, params![id.to_string(), tx.now]).map(drop)
}

pub(crate) fn open_session(tx: &Tx<'_>, key: SessionKey, token: TokenId) -> Result<bool> {
    let values = params![key.as_bytes(), token.to_string(), tx.now];
    execute(tx.conn, sql::OPEN_TOKEN_SESSION, values).map(|rows| rows > 0)
}
