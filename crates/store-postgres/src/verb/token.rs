//! Operators' tokens: kept, looked for, used, taken back; and the sessions that begin with one.

use redrive_model::instant;
use redrive_store::{MAX_TOKENS, NewToken, Scope, SessionKey, Standing, TokenId, TokenRow};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::row;
use crate::store::Inner;

pub(crate) async fn add(inner: &Inner, new: &NewToken) -> sqlx::Result<()> {
    let query = sqlx::query(inner.sql.add_token.text())
        .bind(TokenId::of(&new.hash).to_string())
        .bind(new.name.as_str())
        .bind(new.scope.as_str())
        .bind(new.hash.to_vec())
        .bind(new.by.as_str())
        .bind(new.expires_at.map(instant::to_millis));
    query.execute(&inner.pool).await.map(drop)
}

pub(crate) async fn find(inner: &Inner, id: TokenId) -> sqlx::Result<Option<TokenRow>> {
    let query = sqlx::query(inner.sql.token.text()).bind(id.to_string());
    query.fetch_optional(&inner.pool).await?.as_ref().map(read).transpose()
}

pub(crate) async fn all(inner: &Inner) -> sqlx::Result<Vec<TokenRow>> {
    let most = i64::try_from(MAX_TOKENS).unwrap_or(i64::MAX);
    let rows = sqlx::query(inner.sql.tokens.text()).bind(most).fetch_all(&inner.pool).await?;
    rows.iter().map(read).collect()
}

pub(crate) async fn revoke(inner: &Inner, id: TokenId) -> sqlx::Result<bool> {
    let query = sqlx::query(inner.sql.revoke_token.text()).bind(id.to_string());
    Ok(query.fetch_optional(&inner.pool).await?.is_some())
}

pub(crate) async fn touch(inner: &Inner, id: TokenId) -> sqlx::Result<()> {
    let query = sqlx::query(inner.sql.touch_token.text()).bind(id.to_string());
    query.execute(&inner.pool).await.map(drop)
}

pub(crate) async fn open_session(inner: &Inner, key: SessionKey, token: TokenId) -> sqlx::Result<bool> {
    let query = sqlx::query(inner.sql.open_token_session.text())
        .bind(key.as_bytes().to_vec())
        .bind(token.to_string());
    Ok(query.execute(&inner.pool).await?.rows_affected() > 0)
}

fn read(found: &PgRow) -> sqlx::Result<TokenRow> {
    let (expires_at, revoked_at) = (row::opt_at(found, 6)?, row::opt_at(found, 7)?);
    let (used_at, now) = (row::opt_at(found, 8)?, row::at(found, 9)?);
    let hash: Vec<u8> = found.try_get(3)?;
    Ok(TokenRow {
        id: row::checked(found, 0, str::parse)?,
        name: row::checked(found, 1, str::parse)?,
        scope: row::word(found, 2, Scope::parse)?,
        hash: hash.try_into().map_err(|_| row::bad(3, "no hash"))?,
        made_at: row::at(found, 4)?,
        made_by: found.try_get(5)?,
        expires_at,
        revoked_at,
        used_at,
        unused: used_at.map(|used| instant::between(used, now)),
        standing: Standing::at(now, expires_at, revoked_at),
    })
}
