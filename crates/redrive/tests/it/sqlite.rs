//! On SQLite.

use redrive::model::State;
use redrive::store::StoreError;
use redrive::{Engine, EngineError};

use super::{Greet, Greeting, state};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_outlive_the_engine_and_run_in_the_next_one() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", dir.path().join("jobs.db").display());
    let engine = Engine::open(&url).await.unwrap();
    let job = engine.enqueue(&Greeting::to("Ann")).await.unwrap();
    drop(engine);
    let engine = Engine::open(&url).await.unwrap();
    engine.register(Greet);
    let running = engine.start();
    while state(&engine, job).await != Some(State::Complete) {
        tokio::task::yield_now().await;
    }
    let row = engine.store().job(job).await.unwrap().unwrap();
    assert_eq!((row.result.as_deref(), row.attempt), (Some("Ann 1"), 2));
    let first = engine.store().attempts(job).await.unwrap().remove(0);
    assert_eq!(first.message.as_deref(), Some("invalid digit found in string"));
    running.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_exists_when_and_only_when_the_users_transaction_commits() {
    let engine = Engine::open("sqlite::memory:").await.unwrap();
    engine
        .transaction(|tx| {
            tx.connection().execute_batch("CREATE TABLE orders (id INTEGER PRIMARY KEY)").unwrap();
            Ok::<_, EngineError>(())
        })
        .await
        .unwrap();
    let job = engine
        .transaction(|tx| {
            tx.connection().execute("INSERT INTO orders VALUES (1)", []).unwrap();
            tx.publish("order.made", b"1".to_vec())?;
            tx.enqueue(&Greeting::to("Ann"))
        })
        .await
        .unwrap();
    assert_eq!(state(&engine, job).await, Some(State::Queued));
    let undone = engine.transaction(|tx| {
        let job = tx.enqueue(&Greeting::to("Bob"))?;
        tx.connection().execute("INSERT INTO orders VALUES (2)", []).unwrap();
        Err::<(), _>(EngineError::from(StoreError::Invalid(job.to_string())))
    });
    let never = undone.await.unwrap_err().to_string().parse().unwrap();
    assert_eq!(state(&engine, never).await, None);
    let orders = engine
        .transaction(|tx| {
            Ok::<_, EngineError>(
                tx.connection()
                    .query_row("SELECT count(*) FROM orders", [], |row| row.get::<_, i64>(0))
                    .unwrap(),
            )
        })
        .await
        .unwrap();
    assert_eq!(orders, 1);
}
