//! Who has not been told what, deliveries, and addresses.

use redrive_model::instant;
use redrive_store::intake::{Delivery, DeliveryState, DigestItem, Notification, ToldNow};
use redrive_store::{Behind, Page, PageRequest, Result};
use rusqlite::{Connection, Row, params};

use super::document;
use crate::row::{self, blob};
use crate::sql;
use crate::verb::record::{execute, find, list};
use crate::writer::Tx;

pub(super) fn untold_owners(conn: &Connection) -> Result<Vec<String>> {
    list(conn, sql::UNTOLD_OWNERS, [], |row| row.get(0))
}

pub(super) fn untold(conn: &Connection, owner: &str, limit: usize) -> Result<Vec<DigestItem>> {
    list(conn, sql::UNTOLD, params![owner, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
        Ok(DigestItem {
            document: document::read(row)?,
            failures: row::many(row, 18)?,
            last: row::opt_at(row, 19)?,
        })
    })
}

pub(super) fn tell(tx: &Tx<'_>, told: &ToldNow) -> Result<()> {
    let id = blob(told.document.as_uuid());
    execute(tx.conn, sql::TELL_RECORDS, params![id, instant::to_millis(told.upto)])?;
    execute(tx.conn, sql::TELL_DOCUMENT, params![id, told.told.as_str()]).map(drop)
}

fn read_delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    Ok(Delivery {
        key: row.get(0)?,
        owner: row.get(1)?,
        address: row.get(2)?,
        state: row::word(row, 3, DeliveryState::parse)?,
        tries: row.get(4)?,
        error: row.get(5)?,
        documents: row::many(row, 6)?,
        at: row::at(row, 7)?,
    })
}

pub(super) fn note_delivery(tx: &Tx<'_>, delivery: &Delivery) -> Result<()> {
    let Delivery { key, owner, address, state, tries, error, documents, at: _ } = delivery;
    let documents = i64::try_from(*documents).unwrap_or(i64::MAX);
    let values = params![key, owner, address, state.as_str(), tries, error, documents, tx.now];
    execute(tx.conn, sql::NOTE_DELIVERY, values).map(drop)
}

pub(super) fn delivery(conn: &Connection, key: &str) -> Result<Option<Delivery>> {
    find(conn, sql::DELIVERY, params![key], read_delivery)
}

pub(super) fn deliveries(conn: &Connection, page: &PageRequest) -> Result<Page<Delivery>> {
    let limit = page.rows();
    let behind = page.after::<Behind<String>>()?;
    let values = params![
        behind.as_ref().map(|behind| instant::to_millis(behind.at)),
        behind.as_ref().map(|behind| &behind.id),
        i64::try_from(limit).unwrap_or(50)
    ];
    Ok(Page::of_deliveries(list(conn, sql::DELIVERIES, values, read_delivery)?, limit))
}

pub(super) fn forget_deliveries(tx: &Tx<'_>, before: i64, limit: usize) -> Result<u64> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(execute(tx.conn, sql::FORGET_DELIVERIES, params![before, limit])? as u64)
}

pub(super) fn notifications(conn: &Connection) -> Result<Vec<Notification>> {
    list(conn, sql::NOTIFICATIONS, [], |row| {
        Ok(Notification { owner: row.get(0)?, address: row.get(1)?, enabled: row.get(2)? })
    })
}

pub(super) fn set_notification(tx: &Tx<'_>, notification: &Notification) -> Result<()> {
    let Notification { owner, address, enabled } = notification;
    execute(tx.conn, sql::SET_NOTIFICATION, params![owner, address, enabled]).map(drop)
}

pub(super) fn remove_notification(tx: &Tx<'_>, owner: &str, address: &str) -> Result<bool> {
    Ok(execute(tx.conn, sql::REMOVE_NOTIFICATION, params![owner, address])? > 0)
}
