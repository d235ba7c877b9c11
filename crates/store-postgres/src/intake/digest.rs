//! Who has not been told what, deliveries, and addresses.

use redrive_model::{Timestamp, instant};
use redrive_store::intake::{Delivery, DeliveryState, DigestItem, Notification, ToldNow};
use redrive_store::{Behind, Page};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{Postgres, Row};

use super::document;
use crate::row;
use crate::store::Inner;

pub(super) async fn untold_owners(inner: &Inner) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(inner.sql.untold_owners.text()).fetch_all(&inner.pool).await
}

pub(super) async fn untold(inner: &Inner, owner: &str, limit: usize) -> sqlx::Result<Vec<DigestItem>> {
    let query = sqlx::query(inner.sql.untold.text()).bind(owner);
    let rows = query.bind(i64::try_from(limit).unwrap_or(i64::MAX)).fetch_all(&inner.pool).await?;
    let read = |r: &PgRow| {
        Ok(DigestItem {
            document: document::read(r)?,
            failures: row::many(r, 18)?,
            last: row::opt_at(r, 19)?,
        })
    };
    rows.iter().map(read).collect()
}

pub(super) async fn tell(inner: &Inner, told: &[ToldNow], by: &Delivery) -> sqlx::Result<()> {
    let mut tx = inner.pool.begin().await?;
    for told in told {
        let records = sqlx::query(inner.sql.tell_records.text()).bind(told.document.as_uuid());
        records.bind(instant::to_millis(told.upto)).execute(&mut *tx).await?;
        let document = sqlx::query(inner.sql.tell_document.text()).bind(told.document.as_uuid());
        document.bind(told.told.as_str()).execute(&mut *tx).await?;
    }
    note(inner, by).execute(&mut *tx).await?;
    tx.commit().await
}

fn read_delivery(r: &PgRow) -> sqlx::Result<Delivery> {
    Ok(Delivery {
        key: r.try_get(0)?,
        owner: r.try_get(1)?,
        address: r.try_get(2)?,
        state: row::word(r, 3, DeliveryState::parse)?,
        tries: u32::try_from(row::many(r, 4)?).unwrap_or(u32::MAX),
        error: r.try_get(5)?,
        documents: row::many(r, 6)?,
        at: row::at(r, 7)?,
    })
}

pub(super) async fn note_delivery(inner: &Inner, delivery: &Delivery) -> sqlx::Result<()> {
    note(inner, delivery).execute(&inner.pool).await.map(drop)
}

fn note<'q>(inner: &'q Inner, delivery: &'q Delivery) -> Query<'q, Postgres, PgArguments> {
    sqlx::query(inner.sql.note_delivery.text())
        .bind(&delivery.key)
        .bind(&delivery.owner)
        .bind(&delivery.address)
        .bind(delivery.state.as_str())
        .bind(i64::from(delivery.tries))
        .bind(&delivery.error)
        .bind(i64::try_from(delivery.documents).unwrap_or(i64::MAX))
}

pub(super) async fn delivery(inner: &Inner, key: &str) -> sqlx::Result<Option<Delivery>> {
    let query = sqlx::query(inner.sql.delivery.text()).bind(key);
    query.fetch_optional(&inner.pool).await?.as_ref().map(read_delivery).transpose()
}

pub(super) async fn deliveries(
    inner: &Inner,
    behind: Option<&Behind<String>>,
    limit: usize,
) -> sqlx::Result<Page<Delivery>> {
    let query = sqlx::query(inner.sql.deliveries.text())
        .bind(behind.map(|behind| instant::to_millis(behind.at)))
        .bind(behind.map(|behind| &behind.id))
        .bind(i64::try_from(limit).unwrap_or(50));
    let rows = query.fetch_all(&inner.pool).await?;
    Ok(Page::of_deliveries(rows.iter().map(read_delivery).collect::<sqlx::Result<_>>()?, limit))
}

pub(super) async fn forget_deliveries(inner: &Inner, before: Timestamp, limit: usize) -> sqlx::Result<u64> {
    let query = sqlx::query(inner.sql.forget_deliveries.text())
        .bind(instant::to_millis(before))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX));
    Ok(query.execute(&inner.pool).await?.rows_affected())
}

pub(super) async fn notifications(inner: &Inner) -> sqlx::Result<Vec<Notification>> {
    let rows = sqlx::query(inner.sql.notifications.text()).fetch_all(&inner.pool).await?;
    let read =
        |r: &PgRow| Ok(Notification { owner: r.try_get(0)?, address: r.try_get(1)?, enabled: r.try_get(2)? });
    rows.iter().map(read).collect()
}

pub(super) async fn set_notification(inner: &Inner, notification: &Notification) -> sqlx::Result<()> {
    let query = sqlx::query(inner.sql.set_notification.text())
        .bind(&notification.owner)
        .bind(&notification.address)
        .bind(notification.enabled);
    query.execute(&inner.pool).await.map(drop)
}

pub(super) async fn remove_notification(inner: &Inner, owner: &str, address: &str) -> sqlx::Result<bool> {
    let query = sqlx::query(inner.sql.remove_notification.text()).bind(owner).bind(address);
    Ok(query.execute(&inner.pool).await?.rows_affected() > 0)
}
