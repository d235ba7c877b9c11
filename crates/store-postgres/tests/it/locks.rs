//! Rows that somebody else has locked, by a transaction that is really open.

use redrive_model::{JobId, instant};
use redrive_store::{Extension, Store};
use redrive_store_conformance::kit::{Kit, leases, secs};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::harness::{Postgres, url};

/// A transaction that holds these jobs until it is dropped.
async fn lock(h: &Postgres, jobs: &[JobId]) -> PgConnection {
    let mut conn = PgConnection::connect(&url()).await.unwrap();
    sqlx::query("BEGIN").execute(&mut conn).await.unwrap();
    let ids: Vec<_> = jobs.iter().map(|id| id.as_uuid()).collect();
    let sql = format!("SELECT id FROM {}.jobs WHERE id = ANY ($1) FOR UPDATE", h.schema);
    let locked = sqlx::query(AssertSqlSafe(sql)).bind(ids).fetch_all(&mut conn).await.unwrap();
    assert_eq!(locked.len(), jobs.len());
    conn
}

/// Returns when the server has let go: a connection that is only closed may hold its locks a little longer.
async fn unlock(mut conn: PgConnection) {
    sqlx::query("ROLLBACK").execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c6_a_claim_skips_locked_rows_and_still_fills_its_batch() {
    let h = Postgres::fresh().await;
    let k = Kit::new(&h);
    let ids = k.put_n(8).await;
    let open = lock(&h, &ids[..3]).await;
    assert_eq!(k.claim_ids(5).await, ids[3..]);
    assert_eq!(k.claim_ids(5).await, [], "the locked ones are not waited for");
    unlock(open).await;
    assert_eq!(k.claim_ids(5).await, ids[..3]);
    k.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c9_one_contended_row_does_not_stop_the_others() {
    let h = Postgres::fresh().await;
    let k = Kit::new(&h);
    let ids = k.put_n(3).await;
    let claimed = k.claim(3).await;
    let open = lock(&h, &ids[1..2]).await;
    k.advance(secs(5)).await;
    let extend = async || k.store.extend(k.worker(1), leases(&claimed), secs(60)).await.unwrap();
    let until =
        Extension::Held(instant::from_millis(instant::add_ms(instant::to_millis(k.now().await), secs(60))));
    assert_eq!(extend().await, [until, Extension::Contended, until]);
    let row = k.row(ids[1]).await;
    assert_eq!(row.lease_expires_at, Some(claimed[1].expires_at), "the contended lease stands as it was");
    unlock(open).await;
    assert_eq!(extend().await, [until; 3]);
}

/// A finish of a locked row waits no longer than the lock timeout, says so, and works when it is made again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finish_of_a_locked_row_is_told_and_loses_nothing() {
    let h = Postgres::fresh().await;
    let k = Kit::new(&h);
    let ids = k.put_n(1).await;
    let claimed = k.claim_one().await;
    let open = lock(&h, &ids).await;
    let finish = k.completion(&claimed).await;
    let refused = h.store.finish(vec![finish.clone()]).await.unwrap_err();
    assert!(refused.to_string().contains("lock"), "{refused}");
    unlock(open).await;
    k.finish(finish).await;
    assert_eq!(k.row(ids[0]).await.state, redrive_model::State::Complete);
    k.audit().await;
}
