//! The audit trail and settings.

use redrive_store::{ActEnd, NewAct, Scope};

use crate::store::Inner;

pub(crate) async fn note_act(inner: &Inner, act: &NewAct) -> sqlx::Result<i64> {
    let act = act.cleaned();
    sqlx::query_scalar(inner.sql.note_act.text())
        .bind(act.actor)
        .bind(act.action)
        .bind(act.subject)
        .bind(act.reason)
        .bind(act.scope.map(Scope::as_str))
        .bind(act.request_id)
        .fetch_one(&inner.pool)
        .await
}

pub(crate) async fn conclude_act(inner: &Inner, number: i64, end: &ActEnd) -> sqlx::Result<()> {
    let ActEnd { outcome, before, after } = end.cleaned();
    let query =
        sqlx::query(inner.sql.conclude_act.text()).bind(number).bind(outcome).bind(before).bind(after);
    query.execute(&inner.pool).await.map(drop)
}

pub(crate) async fn first_setting(inner: &Inner, key: &str, value: &str, by: &str) -> sqlx::Result<String> {
    let query = sqlx::query_scalar(inner.sql.first_setting.text()).bind(key).bind(value).bind(by);
    query.fetch_one(&inner.pool).await
}

pub(crate) async fn set_setting(inner: &Inner, key: &str, value: Option<&str>, by: &str) -> sqlx::Result<()> {
    let query = match value {
        Some(value) => sqlx::query(inner.sql.change_setting.text()).bind(key).bind(value).bind(by),
        None => sqlx::query(inner.sql.delete_setting.text()).bind(key),
    };
    query.execute(&inner.pool).await.map(drop)
}
