//! Failure records: written once, listed newest first.

use redrive_model::{Code, instant};
use redrive_store::intake::{FailureRecord, RecordFilter};
use redrive_store::{Behind, Page};
use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::row;
use crate::store::Inner;

fn read(r: &PgRow) -> sqlx::Result<FailureRecord> {
    Ok(FailureRecord {
        failure_id: r.try_get(0)?,
        document: row::job(r, 1)?,
        timestamp: row::at(r, 2)?,
        owner: r.try_get(3)?,
        pdf_key: r.try_get(4)?,
        queue_key: r.try_get(5)?,
        failed_key: r.try_get(6)?,
        retry_count: u32::try_from(row::many(r, 7)?).unwrap_or(u32::MAX),
        max_retries_exceeded: r.try_get(8)?,
        code: row::some_code(r, 9)?,
        failure_reason: r.try_get(10)?,
        notified: r.try_get(11)?,
    })
}

pub(super) async fn note(inner: &Inner, record: &FailureRecord) -> sqlx::Result<bool> {
    let query = sqlx::query(inner.sql.insert_record.text())
        .bind(record.failure_id)
        .bind(record.document.as_uuid())
        .bind(instant::to_millis(record.timestamp))
        .bind(&record.owner)
        .bind(&record.pdf_key)
        .bind(&record.queue_key)
        .bind(&record.failed_key)
        .bind(i64::from(record.retry_count))
        .bind(record.max_retries_exceeded)
        .bind(record.code.name())
        .bind(&record.failure_reason)
        .bind(record.notified);
    Ok(query.execute(&inner.pool).await?.rows_affected() > 0)
}

pub(super) async fn list(
    inner: &Inner,
    filter: &RecordFilter,
    behind: Option<Behind<Uuid>>,
    limit: usize,
) -> sqlx::Result<Page<FailureRecord>> {
    let query = sqlx::query(inner.sql.failure_records.text())
        .bind(behind.map(|behind| instant::to_millis(behind.at)))
        .bind(behind.map(|behind| behind.id))
        .bind(filter.document.map(|id| id.as_uuid()))
        .bind(&filter.owner)
        .bind(filter.code.map(Code::name))
        .bind(filter.since.map(instant::to_millis))
        .bind(filter.until.map(instant::to_millis))
        .bind(filter.notified)
        .bind(filter.text.as_ref().map(|text| text.to_lowercase()))
        .bind(i64::try_from(limit).unwrap_or(50));
    let rows = query.fetch_all(&inner.pool).await?;
    Ok(Page::of_records(rows.iter().map(read).collect::<sqlx::Result<_>>()?, limit))
}
