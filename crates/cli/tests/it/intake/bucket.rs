//! Two servers on one database and one bucket: each PDF is taken once.

use redrive_blob::shelf::{BucketShelf, Meta, Shelf};
use redrive_blob::{BlobsExt, Key, S3, S3Settings};
use serde_json::Value;

use super::{QUICK, pdf};
use crate::postgres::Database;
use crate::running::{Running, wait_for};

const MANY: usize = 20;

/// Where the S3 server of the tests is.
#[expect(clippy::disallowed_methods, reason = "the test script says here where its server is")]
pub(crate) fn moto() -> Option<String> {
    let url = std::env::var("REDRIVE_TEST_MOTO").ok();
    if url.is_none() {
        println!("REDRIVE_TEST_MOTO is not set: run ./test, or start a server with scripts/moto.sh: skipped");
    }
    url
}

fn http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

/// Also covers: M41.
#[test]
fn two_servers_on_one_bucket_take_each_pdf_once() {
    let (Some(database), Some(moto)) = (Database::new(), moto()) else { return };
    let home = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let name = format!("intake{}", std::process::id());
    let vars = [
        ("S3_ENDPOINT", moto.as_str()),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "who"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
    ];
    let bucket = runtime.block_on(async {
        let made = http().put(format!("{moto}/{name}")).send().await.unwrap();
        assert!(made.status().is_success());
        let prefix = Key::parse("office").unwrap();
        let settings = S3Settings::new(&name, Some(prefix), home.path().join("spool")).with_vars(vars);
        let bucket = S3::open(settings).await.unwrap();
        for n in 0..MANY {
            let key = Key::parse(&format!("queue/{}/{n}.pdf", n % 3)).unwrap();
            bucket.put_bytes(&key, pdf(n).into()).await.unwrap();
        }
        bucket
    });
    let url = format!("s3://{name}/office");
    let settings =
        [&[("DATABASE_URL", database.url.as_str()), ("INTAKE_URL", url.as_str())], &vars[..], &QUICK[..]]
            .concat();
    let (first, second) = (home.path().join("one"), home.path().join("two"));
    let one = Running::serve(&first, &settings);
    let two = Running::serve(&second, &settings);
    let status = |data: &std::path::Path| one.operate(data, "GET", "/api/intake").json();
    wait_for("all to be done", || {
        let status: Value = status(&first);
        (status["documents"]["done"] == MANY).then_some(())
    });
    let keys: Vec<String> = runtime.block_on(async {
        let mut keys: Vec<String> =
            bucket.keys(None).await.unwrap().iter().map(ToString::to_string).collect();
        keys.sort();
        keys
    });
    let mut expected: Vec<String> = (0..MANY)
        .flat_map(|n| ["pdf", "xml"].map(|ending| format!("result/{}/{n}.{ending}", n % 3)))
        .collect();
    expected.sort();
    assert_eq!(keys, expected);
    assert_eq!(database.number("SELECT count(*) FROM documents"), MANY as i64);
    assert_eq!(database.number("SELECT count(*) FROM failure_records"), 0);
    assert_eq!(database.number("SELECT count(*) FROM moves WHERE state <> 'done'"), 0);
    let runs = "SELECT coalesce(sum(j.attempt), 0)::bigint FROM jobs j JOIN documents d ON d.id = j.id";
    assert_eq!(database.number(runs), MANY as i64, "each was run once");
    one.stop();
    two.stop();
}

#[test]
fn objects_say_whose_they_are_and_how_often_they_failed() {
    let Some(moto) = moto() else { return };
    let home = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let name = format!("intake-meta{}", std::process::id());
    let vars = [
        ("S3_ENDPOINT", moto.as_str()),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "who"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
    ];
    let shelf = runtime.block_on(async {
        let made = http().put(format!("{moto}/{name}")).send().await.unwrap();
        assert!(made.status().is_success());
        let settings = S3Settings::new(&name, None, home.path().join("spool")).with_vars(vars);
        let shelf = BucketShelf::open(settings).await.unwrap();
        let key = Key::parse("queue/team/broken.pdf").unwrap();
        let broken = b"%PDF-1.7\nnothing\n%%EOF\n".to_vec();
        shelf.blobs().put_bytes(&key, broken.into()).await.unwrap();
        let (item, _) = shelf.look(&key).await.unwrap().unwrap();
        let meta = Meta::from([("uploaded-by".to_owned(), "jane.doe".to_owned())]);
        shelf.tag(&key, &item.version, &meta).await.unwrap().unwrap();
        shelf
    });
    let url = format!("s3://{name}");
    let settings =
        [&[("INTAKE_URL", url.as_str()), ("INTAKE_MAX_RETRIES", "1")], &vars[..], &QUICK[..]].concat();
    let data = home.path().join("data");
    let server = Running::serve(&data, &settings);
    let key = Key::parse("failed/team/broken.pdf").unwrap();
    let (_, meta) = wait_for("the object in failed/", || runtime.block_on(shelf.look(&key)).unwrap());
    for (name, value) in [("retry-count", "1"), ("max-retries-exceeded", "true"), ("uploaded-by", "jane.doe")]
    {
        assert_eq!(meta.get(name).map(String::as_str), Some(value), "{meta:?}");
    }
    let records = wait_for("two records", || {
        let records = server.operate(&data, "GET", "/api/failure-records?owner=jane.doe").json();
        let records = records["failure_records"].as_array().unwrap().clone();
        (records.len() == 2).then_some(records)
    });
    assert_eq!(records[0]["failed_key"], "failed/team/broken.pdf");
    assert_eq!(records[1]["queue_key"], "queue/team/broken.pdf");
    server.stop();
}
