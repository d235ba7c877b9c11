//! Moves: written down, redirected, ended.

use redrive_model::JobId;
use redrive_store::intake::{Began, MoveEnd, MoveRow, MoveState, NewMove};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use super::document;
use crate::row;
use crate::store::Inner;

fn read(r: &PgRow) -> sqlx::Result<MoveRow> {
    Ok(MoveRow {
        number: r.try_get(0)?,
        document: row::job(r, 1)?,
        from: r.try_get(2)?,
        version: r.try_get(3)?,
        to: r.try_get(4)?,
        why: r.try_get(5)?,
        meta: r.try_get(6)?,
        state: row::word(r, 7, MoveState::parse)?,
        note: r.try_get(8)?,
        began_at: row::at(r, 9)?,
        ended_at: row::opt_at(r, 10)?,
    })
}

pub(super) async fn open_of(
    inner: &Inner,
    tx: &mut PgConnection,
    document: JobId,
) -> sqlx::Result<Option<MoveRow>> {
    let query = sqlx::query(inner.sql.open_move.text()).bind(document.as_uuid());
    query.fetch_optional(tx).await?.as_ref().map(read).transpose()
}

/// The document that is on its way to a key.
pub(super) async fn coming_to(
    inner: &Inner,
    tx: &mut PgConnection,
    root: &str,
    key: &str,
) -> sqlx::Result<Option<JobId>> {
    let query = sqlx::query(inner.sql.coming_to.text()).bind(root).bind(key);
    query.fetch_optional(tx).await?.as_ref().map(|r| row::job(r, 0)).transpose()
}

pub(super) async fn begin(inner: &Inner, intent: &NewMove) -> sqlx::Result<Began> {
    let mut tx = inner.pool.begin().await?;
    let Some(document) = document::lock(inner, &mut tx, intent.document).await? else {
        return Ok(Began::NotFound);
    };
    if document.run > intent.token {
        return Ok(Began::Lost);
    }
    if let Some(open) = open_of(inner, &mut tx, intent.document).await? {
        let same = open.to == intent.to && open.why == intent.why;
        return Ok(if same { Began::Open(open) } else { Began::Other(open) });
    }
    if document.place == intent.to {
        return Ok(Began::There);
    }
    let query = sqlx::query(inner.sql.insert_move.text())
        .bind(intent.document.as_uuid())
        .bind(&document.place)
        .bind(&document.version)
        .bind(&intent.to)
        .bind(&intent.why)
        .bind(&intent.meta);
    let made = read(&query.fetch_one(&mut *tx).await?)?;
    tx.commit().await?;
    Ok(Began::Open(made))
}

pub(super) async fn redirect(
    inner: &Inner,
    number: i64,
    from: &str,
    to: &str,
) -> sqlx::Result<Option<MoveRow>> {
    sqlx::query(inner.sql.redirect_move.text()).bind(number).bind(from).bind(to).execute(&inner.pool).await?;
    let now = sqlx::query(inner.sql.a_move.text()).bind(number).fetch_optional(&inner.pool).await?;
    Ok(now.as_ref().map(read).transpose()?.filter(|row| row.state == MoveState::Open))
}

pub(super) async fn end(inner: &Inner, number: i64, end: &MoveEnd) -> sqlx::Result<bool> {
    let (state, note) = match end {
        MoveEnd::Done { note, .. } => (MoveState::Done, note.as_deref()),
        MoveEnd::Lost { note } => (MoveState::Lost, Some(note.as_str())),
    };
    let mut tx = inner.pool.begin().await?;
    let query = sqlx::query(inner.sql.end_move.text()).bind(number).bind(state.as_str()).bind(note);
    let Some(ended) = query.fetch_optional(&mut *tx).await? else { return Ok(false) };
    let (document, target): (Uuid, String) = (ended.try_get(0)?, ended.try_get(1)?);
    match end {
        MoveEnd::Done { version, .. } => {
            let displace = sqlx::query(inner.sql.displace_document.text()).bind(document).bind(&target);
            displace.execute(&mut *tx).await?;
            let place = sqlx::query(inner.sql.place_document.text());
            place.bind(document).bind(&target).bind(version).execute(&mut *tx).await?;
        }
        MoveEnd::Lost { .. } => {
            sqlx::query(inner.sql.lose_document.text()).bind(document).execute(&mut *tx).await?;
        }
    }
    tx.commit().await?;
    Ok(true)
}

pub(super) async fn open(inner: &Inner, root: &str, after: i64, limit: usize) -> sqlx::Result<Vec<MoveRow>> {
    let query = sqlx::query(inner.sql.open_moves.text()).bind(root).bind(after);
    let rows = query.bind(i64::try_from(limit).unwrap_or(i64::MAX)).fetch_all(&inner.pool).await?;
    rows.iter().map(read).collect()
}

pub(super) async fn of(inner: &Inner, document: JobId) -> sqlx::Result<Vec<MoveRow>> {
    let query = sqlx::query(inner.sql.moves_of.text()).bind(document.as_uuid());
    query.fetch_all(&inner.pool).await?.iter().map(read).collect()
}
