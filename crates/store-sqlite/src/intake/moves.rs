//! Moves: written down, redirected, ended.

use redrive_model::JobId;
use redrive_store::Result;
use redrive_store::intake::{Began, MoveEnd, MoveRow, MoveState, NewMove};
use rusqlite::{Connection, Row, params};

use super::document;
use crate::row::{self, blob};
use crate::sql;
use crate::verb::record::{execute, find, list};
use crate::writer::Tx;

fn read(row: &Row<'_>) -> rusqlite::Result<MoveRow> {
    Ok(MoveRow {
        number: row.get(0)?,
        document: row::job(row, 1)?,
        from: row.get(2)?,
        version: row.get(3)?,
        to: row.get(4)?,
        why: row.get(5)?,
        meta: row.get(6)?,
        state: row::word(row, 7, MoveState::parse)?,
        note: row.get(8)?,
        began_at: row::at(row, 9)?,
        ended_at: row::opt_at(row, 10)?,
    })
}

pub(super) fn open_of(conn: &Connection, document: JobId) -> Result<Option<MoveRow>> {
    find(conn, sql::OPEN_MOVE, params![blob(document.as_uuid())], read)
}

/// The document that is on its way to a key.
pub(super) fn coming_to(conn: &Connection, root: &str, key: &str) -> Result<Option<JobId>> {
    find(conn, sql::COMING_TO, params![root, key], |row| row::job(row, 0))
}

pub(super) fn begin(tx: &Tx<'_>, intent: &NewMove) -> Result<Began> {
    let Some(document) = document::find(tx.conn, intent.document)? else { return Ok(Began::NotFound) };
    if document.run > intent.token {
        return Ok(Began::Lost);
    }
    if let Some(open) = open_of(tx.conn, intent.document)? {
        let same = open.to == intent.to && open.why == intent.why;
        return Ok(if same { Began::Open(open) } else { Began::Other(open) });
    }
    if document.place == intent.to {
        return Ok(Began::There);
    }
    let values = params![
        blob(intent.document.as_uuid()),
        document.place,
        document.version,
        intent.to,
        intent.why,
        intent.meta,
        tx.now
    ];
    Ok(find(tx.conn, sql::INSERT_MOVE, values, read)?.map_or(Began::NotFound, Began::Open))
}

pub(super) fn redirect(tx: &Tx<'_>, number: i64, from: &str, to: &str) -> Result<Option<MoveRow>> {
    execute(tx.conn, sql::REDIRECT_MOVE, params![number, from, to])?;
    let now = find(tx.conn, sql::A_MOVE, params![number], read)?;
    Ok(now.filter(|row| row.state == MoveState::Open))
}

pub(super) fn end(tx: &Tx<'_>, number: i64, end: &MoveEnd) -> Result<bool> {
    let (state, note) = match end {
        MoveEnd::Done { note, .. } => (MoveState::Done, note.as_deref()),
        MoveEnd::Lost { note } => (MoveState::Lost, Some(note.as_str())),
    };
    let values = params![number, state.as_str(), note, tx.now];
    let ended =
        find(tx.conn, sql::END_MOVE, values, |row| Ok((row::uuid(row, 0)?, row.get::<_, String>(1)?)))?;
    let Some((document, target)) = ended else { return Ok(false) };
    let id = blob(document);
    match end {
        MoveEnd::Done { version, .. } => {
            execute(tx.conn, sql::DISPLACE_DOCUMENT, params![id, target, tx.now])?;
            execute(tx.conn, sql::PLACE_DOCUMENT, params![id, target, version, tx.now])?;
        }
        MoveEnd::Lost { .. } => drop(execute(tx.conn, sql::LOSE_DOCUMENT, params![id, tx.now])?),
    }
    Ok(true)
}

pub(super) fn open(conn: &Connection, root: &str, after: i64, limit: usize) -> Result<Vec<MoveRow>> {
    list(conn, sql::OPEN_MOVES, params![root, after, i64::try_from(limit).unwrap_or(i64::MAX)], read)
}

pub(super) fn of(conn: &Connection, document: JobId) -> Result<Vec<MoveRow>> {
    list(conn, sql::MOVES_OF, params![blob(document.as_uuid())], read)
}
