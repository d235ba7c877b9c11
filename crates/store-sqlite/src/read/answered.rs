//! Which calls have their answer.

use redrive_model::Owner;
use redrive_store::Result;
use rusqlite::{Connection, params};

use crate::sql;
use crate::verb::record::find;

pub(crate) fn is_answered(conn: &Connection, owner: &Owner, key: &str) -> Result<bool> {
    find(conn, sql::FIND_IDEMPOTENCY, params![owner.as_str(), key], |_| Ok(())).map(|found| found.is_some())
}
