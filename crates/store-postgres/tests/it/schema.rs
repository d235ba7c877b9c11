//! Migrations: single under concurrent starters, loud about another epoch.

use redrive_store::{Store, StoreError};
use redrive_store_postgres::Options;

use crate::harness::{Postgres, execute, schema_name, url};

/// O8: starters that come at the same moment make one schema and all work on it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o8_concurrent_starters_make_one_schema() {
    let schema = schema_name();
    let starters = (0..6).map(|_| {
        let schema = schema.clone();
        tokio::spawn(
            async move { Options::default().connections(1).schema(&schema).unwrap().open(&url()).await },
        )
    });
    for starter in starters.collect::<Vec<_>>() {
        starter.await.unwrap().unwrap().now().await.unwrap();
    }
    execute(format!("DROP SCHEMA {schema} CASCADE")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_epoch_is_refused_and_a_newer_minor_is_not() {
    let h = Postgres::fresh().await;
    execute(format!("UPDATE {}.schema_version SET minor = 99", h.schema)).await;
    Options::default().schema(&h.schema).unwrap().open(&url()).await.unwrap();
    execute(format!("UPDATE {}.schema_version SET epoch = 2", h.schema)).await;
    let refused = Options::default().schema(&h.schema).unwrap().open(&url()).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Refused(text) if text.contains("epoch 2")), "{refused}");
}

#[tokio::test]
async fn a_bad_schema_name_or_url_is_refused_with_a_sentence() {
    for name in ["", "Robert'); DROP TABLE jobs; --", "1st", "x y", &"x".repeat(49)] {
        assert!(Options::default().schema(name).is_err(), "{name:?}");
    }
    let refused = Options::default().open("mysql://x").await.unwrap_err();
    assert!(matches!(refused, StoreError::Invalid(_)), "{refused}");
}

/// Extending a lease changes no index of the jobs table: the update is heap-only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extending_touches_no_index() {
    use redrive_store_conformance::Harness;
    let h = Postgres::fresh().await;
    let refused = h.raw("SELECT 1 / (SELECT count(*)::int FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid \
        AND a.attnum = ANY (i.indkey) WHERE i.indrelid = 'jobs'::regclass AND a.attname IN ('lease_expires_at', 'leased_at'))").await;
    assert!(
        refused.unwrap_err().contains("division by zero"),
        "an index holds a column that a heartbeat changes"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_beside_a_working_store_sees_everything_and_writes_nothing() {
    use redrive_store_conformance::Kit;
    let h = Postgres::fresh().await;
    let k = Kit::new(&h);
    let ids = k.put_n(3).await;
    let looking = Options::default().schema(&h.schema).unwrap().read_only(&url()).await.unwrap();
    assert_eq!(looking.counts().await.unwrap().total(redrive_model::State::Queued), 3);
    assert_eq!(looking.job(ids[0]).await.unwrap().unwrap(), k.row(ids[0]).await);
    for answer in [
        looking.enqueue(redrive_store::Enqueue::jobs(vec![k.job()])).await.map(drop),
        looking.claim(k.ask(1)).await.map(drop),
        looking.cancel(ids.clone(), None).await.map(drop),
        looking.pause(None, "ann").await,
    ] {
        assert!(answer.is_err(), "{answer:?}");
    }
    let nothing = schema_name();
    let none = Options::default().schema(&nothing).unwrap().read_only(&url()).await.unwrap_err();
    assert!(matches!(none, StoreError::NotFound { .. }), "{none}");
    execute(format!("UPDATE {}.schema_version SET minor = 0", h.schema)).await;
    let old = Options::default().schema(&h.schema).unwrap().read_only(&url()).await.unwrap_err();
    assert!(matches!(&old, StoreError::Refused(text) if text.contains("redrive migrate")), "{old}");
    execute(format!("UPDATE {}.schema_version SET minor = 1", h.schema)).await;
    k.audit().await;
}
