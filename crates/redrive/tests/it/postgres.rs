//! On Postgres: `./test` says in `REDRIVE_TEST_POSTGRES` where a server is.

use redrive::Engine;
use redrive::model::State;
use redrive::sqlx::{Connection, PgConnection};

use super::{Greet, Greeting, state};

#[expect(clippy::disallowed_methods, reason = "the test script says here where its server is")]
fn url() -> String {
    std::env::var("REDRIVE_TEST_POSTGRES").expect("REDRIVE_TEST_POSTGRES is not set: run ./test")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_exists_when_and_only_when_the_users_transaction_commits() {
    let engine = Engine::open(&url()).await.unwrap();
    engine.register(Greet);
    let mut conn = PgConnection::connect(&url()).await.unwrap();
    let mut undone = conn.begin().await.unwrap();
    let never = engine.enqueue_in(&mut undone, &Greeting::to("Bob")).await.unwrap();
    engine.publish_in(&mut undone, "order.made", b"1".to_vec()).await.unwrap();
    undone.rollback().await.unwrap();
    assert_eq!(state(&engine, never).await, None);
    let mut tx = conn.begin().await.unwrap();
    let job = engine.enqueue_in(&mut tx, &Greeting::to("Ann")).await.unwrap();
    assert_eq!(state(&engine, job).await, None, "not before the commit");
    tx.commit().await.unwrap();
    let running = engine.start();
    while state(&engine, job).await != Some(State::Complete) {
        tokio::task::yield_now().await;
    }
    running.drain().await;
}
