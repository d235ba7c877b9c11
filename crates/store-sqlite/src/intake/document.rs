//! Documents: taken in, held, changed, looked at, forgotten.

use redrive_model::{JobId, LeaseToken};
use redrive_store::intake::{
    DocumentChange, DocumentFilter, DocumentRow, Held, Hold, NewDocument, Stage, TakenIn, Told,
};
use redrive_store::{Page, PageRequest, Result};
use rusqlite::{Connection, Row, params};

use super::moves;
use crate::row::{self, blob};
use crate::sql;
use crate::verb::record::{execute, find as find_row, list};
use crate::writer::Tx;

/// Reads the columns of every statement about documents.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<DocumentRow> {
    let message: Option<String> = row.get(13)?;
    Ok(DocumentRow {
        id: row::job(row, 0)?,
        root: row.get(1)?,
        path: row.get(2)?,
        place: row.get(3)?,
        version: row.get(4)?,
        bytes: row::many(row, 5)?,
        sha256: row.get(6)?,
        owner: row.get(7)?,
        stage: row::word(row, 8, Stage::parse)?,
        run: LeaseToken(row.get(9)?),
        retries: row.get(10)?,
        exceeded: row.get(11)?,
        failure: row::code(row, 12)?.zip(message),
        report: row.get(14)?,
        told: row.get::<_, Option<String>>(15)?.as_deref().and_then(Told::parse),
        created_at: row::at(row, 16)?,
        updated_at: row::at(row, 17)?,
    })
}

pub(super) fn find(conn: &Connection, id: JobId) -> Result<Option<DocumentRow>> {
    find_row(conn, sql::DOCUMENT, params![blob(id.as_uuid())], read)
}

pub(super) fn at(conn: &Connection, root: &str, key: &str) -> Result<Option<DocumentRow>> {
    find_row(conn, sql::DOCUMENT_AT, params![root, key], read)
}

pub(super) fn take_in(tx: &Tx<'_>, new: &NewDocument) -> Result<TakenIn> {
    if let Some(other) = moves::coming_to(tx.conn, &new.root, &new.key)?.filter(|other| *other != new.id) {
        return Ok(TakenIn::Occupied(other));
    }
    let id = blob(new.id.as_uuid());
    let bytes = i64::try_from(new.bytes).unwrap_or(i64::MAX);
    let values = params![id, new.root, new.path, new.key, new.version, bytes, new.owner, tx.now];
    if execute(tx.conn, sql::INSERT_DOCUMENT, values)? > 0 {
        return Ok(TakenIn::New);
    }
    if find(tx.conn, new.id)?.is_some() {
        return Ok(TakenIn::Known);
    }
    Ok(at(tx.conn, &new.root, &new.key)?.map_or(TakenIn::Known, |other| TakenIn::Occupied(other.id)))
}

pub(super) fn take_hold(tx: &Tx<'_>, id: JobId, token: LeaseToken) -> Result<Hold> {
    let held = execute(tx.conn, sql::HOLD_DOCUMENT, params![blob(id.as_uuid()), token.0, tx.now])?;
    let Some(document) = find(tx.conn, id)? else { return Ok(Hold::NotFound) };
    if held == 0 {
        return Ok(Hold::Lost);
    }
    Ok(Hold::Held(Box::new(Held { document, open: moves::open_of(tx.conn, id)? })))
}

pub(super) fn change(tx: &Tx<'_>, id: JobId, token: LeaseToken, change: &DocumentChange) -> Result<bool> {
    let version = change.version.as_ref();
    let failure = change.failure.as_ref();
    let values = params![
        blob(id.as_uuid()),
        token.0,
        change.stage.map(Stage::as_str),
        version.map(|(version, _)| version),
        version.map(|(_, bytes)| i64::try_from(*bytes).unwrap_or(i64::MAX)),
        change.sha256,
        change.retries,
        change.exceeded,
        failure.map(|(code, _)| code.name()),
        failure.map(|(_, message)| message),
        change.report,
        tx.now
    ];
    Ok(execute(tx.conn, sql::CHANGE_DOCUMENT, values)? > 0)
}

/// Each stage has its index: a page costs what it shows, however many there are in other stages.
pub(super) fn list_of(
    conn: &Connection,
    filter: &DocumentFilter,
    page: &PageRequest,
) -> Result<Page<DocumentRow>> {
    let limit = page.rows();
    let after = page.after::<JobId>()?.map(|id| blob(id.as_uuid()));
    let text = filter.text();
    let mut rows = Vec::new();
    for stage in filter.stages() {
        let most = i64::try_from(limit).unwrap_or(50);
        let values = params![filter.root, stage.as_str(), after, filter.owner, text, most];
        rows.extend(list(conn, sql::DOCUMENTS, values, read)?);
    }
    Ok(Page::newest(rows, limit))
}

pub(super) fn counts(conn: &Connection, root: &str) -> Result<Vec<(Stage, u64)>> {
    list(conn, sql::DOCUMENT_COUNTS, params![root], |row| {
        Ok((row::word(row, 0, Stage::parse)?, row::many(row, 1)?))
    })
}

pub(super) fn live(conn: &Connection, root: &str) -> Result<u64> {
    let count = find_row(conn, sql::LIVE_DOCUMENTS, params![root], |row| row::many(row, 0))?;
    Ok(count.unwrap_or_default())
}

pub(super) fn astray(
    conn: &Connection,
    root: &str,
    ended: i64,
    after: Option<JobId>,
    limit: usize,
) -> Result<Vec<DocumentRow>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    list(conn, sql::ASTRAY, params![root, ended, after.map(|id| blob(id.as_uuid())), limit], read)
}

pub(super) fn forget(tx: &Tx<'_>, before: i64, limit: usize) -> Result<u64> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let documents = execute(tx.conn, sql::FORGET_DOCUMENTS, params![before, limit])?;
    let records = execute(tx.conn, sql::FORGET_RECORDS, params![before, limit])?;
    Ok((documents + records) as u64)
}
