//! Failure records: written once, listed newest first.

use redrive_model::instant;
use redrive_store::intake::{FailureRecord, RecordFilter};
use redrive_store::{Behind, Page, PageRequest, Result};
use rusqlite::{Connection, Row, params};

use crate::row::{self, blob};
use crate::sql;
use crate::verb::record::{execute, list};
use crate::writer::Tx;

fn read(row: &Row<'_>) -> rusqlite::Result<FailureRecord> {
    Ok(FailureRecord {
        failure_id: row::uuid(row, 0)?,
        document: row::job(row, 1)?,
        timestamp: row::at(row, 2)?,
        owner: row.get(3)?,
        pdf_key: row.get(4)?,
        queue_key: row.get(5)?,
        failed_key: row.get(6)?,
        retry_count: row.get(7)?,
        max_retries_exceeded: row.get(8)?,
        code: row::some_code(row, 9)?,
        failure_reason: row.get(10)?,
        notified: row.get(11)?,
    })
}

pub(super) fn note(tx: &Tx<'_>, record: &FailureRecord) -> Result<bool> {
    let values = params![
        blob(record.failure_id),
        blob(record.document.as_uuid()),
        instant::to_millis(record.timestamp),
        record.owner,
        record.pdf_key,
        record.queue_key,
        record.failed_key,
        record.retry_count,
        record.max_retries_exceeded,
        record.code.name(),
        record.failure_reason,
        record.notified
    ];
    Ok(execute(tx.conn, sql::INSERT_RECORD, values)? > 0)
}

pub(super) fn list_of(
    conn: &Connection,
    filter: &RecordFilter,
    page: &PageRequest,
) -> Result<Page<FailureRecord>> {
    let limit = page.rows();
    let behind = page.after::<Behind<uuid::Uuid>>()?;
    let values = params![
        behind.as_ref().map(|behind| instant::to_millis(behind.at)),
        behind.map(|behind| blob(behind.id)),
        filter.document.map(|id| blob(id.as_uuid())),
        filter.owner,
        filter.code.map(redrive_model::Code::name),
        filter.since.map(instant::to_millis),
        filter.until.map(instant::to_millis),
        filter.notified,
        filter.text.as_ref().map(|text| text.to_lowercase()),
        i64::try_from(limit).unwrap_or(50)
    ];
    Ok(Page::of_records(list(conn, sql::FAILURE_RECORDS, values, read)?, limit))
}
