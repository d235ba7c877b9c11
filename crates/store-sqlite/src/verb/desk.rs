//! The audit trail and settings.

use redrive_store::{ActEnd, NewAct, Result, Scope, StoreError, validate_setting};
use rusqlite::params;

use super::record::{execute, find};
use crate::sql;
use crate::writer::Tx;

pub(crate) fn note_act(tx: &Tx<'_>, act: &NewAct) -> Result<i64> {
    let act = act.cleaned();
    let scope = act.scope.map(Scope::as_str);
    let values = params![tx.now, act.actor, act.action, act.subject, act.reason, scope, act.request_id];
    find(tx.conn, sql::NOTE_ACT, values, |row| row.get(0))?
        .ok_or_else(|| StoreError::Internal("an act that was noted has no number".into()))
}

pub(crate) fn conclude_act(tx: &Tx<'_>, number: i64, end: &ActEnd) -> Result<()> {
    let end = end.cleaned();
    execute(tx.conn, sql::CONCLUDE_ACT, params![number, end.outcome, end.before, end.after]).map(drop)
}

pub(crate) fn first_setting(tx: &Tx<'_>, key: &str, value: &str, by: &str) -> Result<String> {
    validate_setting(key)?;
    find(tx.conn, sql::FIRST_SETTING, params![key, value, by, tx.now], |row| row.get(0))?
        .ok_or_else(|| StoreError::Internal("a setting that was set has no value".into()))
}

pub(crate) fn set_setting(tx: &Tx<'_>, key: &str, value: Option<&str>, by: &str) -> Result<()> {
    validate_setting(key)?;
    match value {
        Some(value) => execute(tx.conn, sql::CHANGE_SETTING, params![key, value, by, tx.now]),
        None => execute(tx.conn, sql::DELETE_SETTING, params![key]),
    }
    .map(drop)
}
