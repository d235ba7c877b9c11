//! Documents: taken in, held, changed, looked at, forgotten.

use std::collections::HashMap;

use redrive_model::{JobId, LeaseToken, Timestamp, instant};
use redrive_store::Page;
use redrive_store::intake::{
    DocumentChange, DocumentFilter, DocumentRow, Held, Hold, NewDocument, Stage, TakenIn, Told,
};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::moves;
use crate::row;
use crate::store::Inner;

/// Reads the columns of every statement about documents.
pub(super) fn read(r: &PgRow) -> sqlx::Result<DocumentRow> {
    let message: Option<String> = r.try_get(13)?;
    Ok(DocumentRow {
        id: row::job(r, 0)?,
        root: r.try_get(1)?,
        path: r.try_get(2)?,
        place: r.try_get(3)?,
        version: r.try_get(4)?,
        bytes: row::many(r, 5)?,
        sha256: r.try_get(6)?,
        owner: r.try_get(7)?,
        stage: row::word(r, 8, Stage::parse)?,
        run: LeaseToken(r.try_get(9)?),
        retries: u32::try_from(row::many(r, 10)?).unwrap_or(u32::MAX),
        exceeded: r.try_get(11)?,
        failure: row::code(r, 12)?.zip(message),
        report: r.try_get(14)?,
        told: r.try_get::<Option<String>, _>(15)?.as_deref().and_then(Told::parse),
        created_at: row::at(r, 16)?,
        updated_at: row::at(r, 17)?,
    })
}

pub(super) async fn find(inner: &Inner, id: JobId) -> sqlx::Result<Option<DocumentRow>> {
    let query = sqlx::query(inner.sql.document.text()).bind(id.as_uuid());
    query.fetch_optional(&inner.pool).await?.as_ref().map(read).transpose()
}

/// The row, which nobody else changes until the transaction has ended.
pub(super) async fn lock(
    inner: &Inner,
    tx: &mut PgConnection,
    id: JobId,
) -> sqlx::Result<Option<DocumentRow>> {
    let query = sqlx::query(inner.sql.lock_document.text()).bind(id.as_uuid());
    query.fetch_optional(tx).await?.as_ref().map(read).transpose()
}

pub(super) async fn at(inner: &Inner, root: &str, keys: &[String]) -> sqlx::Result<Vec<Option<DocumentRow>>> {
    let rows =
        sqlx::query(inner.sql.documents_at.text()).bind(root).bind(keys).fetch_all(&inner.pool).await?;
    let mut found = HashMap::with_capacity(rows.len());
    for r in &rows {
        let document = read(r)?;
        found.insert(document.place.clone(), document);
    }
    Ok(keys.iter().map(|key| found.get(key).cloned()).collect())
}

pub(super) async fn take_in(inner: &Inner, documents: &[NewDocument]) -> sqlx::Result<Vec<TakenIn>> {
    let mut tx = inner.pool.begin().await?;
    let mut taken = Vec::with_capacity(documents.len());
    for new in documents {
        let coming = moves::coming_to(inner, &mut tx, &new.root, &new.key).await?;
        if let Some(other) = coming.filter(|other| *other != new.id) {
            taken.push(TakenIn::Occupied(other));
            continue;
        }
        let query = sqlx::query(inner.sql.insert_document.text())
            .bind(new.id.as_uuid())
            .bind(&new.root)
            .bind(&new.path)
            .bind(&new.key)
            .bind(&new.version)
            .bind(i64::try_from(new.bytes).unwrap_or(i64::MAX))
            .bind(&new.owner);
        if query.execute(&mut *tx).await?.rows_affected() > 0 {
            taken.push(TakenIn::New);
            continue;
        }
        let known = sqlx::query(inner.sql.document.text()).bind(new.id.as_uuid());
        if known.fetch_optional(&mut *tx).await?.is_some() {
            taken.push(TakenIn::Known);
            continue;
        }
        let keys = vec![new.key.clone()];
        let other = sqlx::query(inner.sql.documents_at.text()).bind(&new.root).bind(keys);
        let other = other.fetch_optional(&mut *tx).await?.as_ref().map(read).transpose()?;
        taken.push(other.map_or(TakenIn::Known, |other| TakenIn::Occupied(other.id)));
    }
    tx.commit().await?;
    Ok(taken)
}

pub(super) async fn take_hold(inner: &Inner, id: JobId, token: LeaseToken) -> sqlx::Result<Hold> {
    let mut tx = inner.pool.begin().await?;
    let query = sqlx::query(inner.sql.hold_document.text()).bind(id.as_uuid()).bind(token.0);
    let held = query.execute(&mut *tx).await?.rows_affected() > 0;
    let row = lock(inner, &mut tx, id).await?;
    let open = moves::open_of(inner, &mut tx, id).await?;
    tx.commit().await?;
    Ok(match row {
        None => Hold::NotFound,
        Some(_) if !held => Hold::Lost,
        Some(document) => Hold::Held(Box::new(Held { document, open })),
    })
}

pub(super) async fn change(
    inner: &Inner,
    id: JobId,
    token: LeaseToken,
    change: &DocumentChange,
) -> sqlx::Result<bool> {
    let version = change.version.as_ref();
    let failure = change.failure.as_ref();
    let query = sqlx::query(inner.sql.change_document.text())
        .bind(id.as_uuid())
        .bind(token.0)
        .bind(change.stage.map(Stage::as_str))
        .bind(version.map(|(version, _)| version))
        .bind(version.map(|(_, bytes)| i64::try_from(*bytes).unwrap_or(i64::MAX)))
        .bind(&change.sha256)
        .bind(change.retries.map(i64::from))
        .bind(change.exceeded)
        .bind(failure.map(|(code, _)| code.name()))
        .bind(failure.map(|(_, message)| message))
        .bind(&change.report);
    Ok(query.execute(&inner.pool).await?.rows_affected() > 0)
}

/// Each stage has its index: a page costs what it shows, however many there are in other stages.
pub(super) async fn list(
    inner: &Inner,
    filter: &DocumentFilter,
    after: Option<JobId>,
    limit: usize,
) -> sqlx::Result<Page<DocumentRow>> {
    let mut rows = Vec::new();
    for stage in filter.stages() {
        let query = sqlx::query(inner.sql.documents.text())
            .bind(&filter.root)
            .bind(stage.as_str())
            .bind(after.map(|id| id.as_uuid()))
            .bind(&filter.owner)
            .bind(filter.text())
            .bind(i64::try_from(limit).unwrap_or(50));
        for r in &query.fetch_all(&inner.pool).await? {
            rows.push(read(r)?);
        }
    }
    Ok(Page::newest(rows, limit))
}

pub(super) async fn counts(inner: &Inner, root: &str) -> sqlx::Result<Vec<(Stage, u64)>> {
    let rows = sqlx::query(inner.sql.document_counts.text()).bind(root).fetch_all(&inner.pool).await?;
    rows.iter().map(|r| Ok((row::word(r, 0, Stage::parse)?, row::many(r, 1)?))).collect()
}

pub(super) async fn live(inner: &Inner, root: &str) -> sqlx::Result<u64> {
    let row = sqlx::query(inner.sql.live_documents.text()).bind(root).fetch_one(&inner.pool).await?;
    row::many(&row, 0)
}

pub(super) async fn astray(
    inner: &Inner,
    root: &str,
    ended: Timestamp,
    after: Option<JobId>,
    limit: usize,
) -> sqlx::Result<Vec<DocumentRow>> {
    let query = sqlx::query(inner.sql.astray.text())
        .bind(root)
        .bind(instant::to_millis(ended))
        .bind(after.map(|id| id.as_uuid()))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX));
    query.fetch_all(&inner.pool).await?.iter().map(read).collect()
}

pub(super) async fn forget(inner: &Inner, before: Timestamp, limit: usize) -> sqlx::Result<u64> {
    let mut forgotten = 0;
    for statement in [&inner.sql.forget_documents, &inner.sql.forget_records] {
        let query = sqlx::query(statement.text())
            .bind(instant::to_millis(before))
            .bind(i64::try_from(limit).unwrap_or(i64::MAX));
        forgotten += query.execute(&inner.pool).await?.rows_affected();
    }
    Ok(forgotten)
}
