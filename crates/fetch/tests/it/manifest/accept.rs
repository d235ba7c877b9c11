//! Manifests that are taken: one batch each, whatever their form, and once per key.

use std::convert::Infallible;

use redrive_blob::Key;
use redrive_engine::BatchId;
use redrive_engine::model::{BatchState, Shown, instant};
use redrive_engine::store::{JobFilter, PageRequest};
use redrive_fetch::{AcceptError, Format, Handing, Resource, Shape};

use super::kit::{JSON, Kit, NDJSON, gzip, lines, of_ann, pieces, stores};

const DOCUMENT: &str = r#"{"resources":[
    {"id":"a","url":"https://a.example/1?token=SECRET","headers":{"Authorization":"Bearer SECRET"},"tags":{"k":"v"}},
    {"url":"https://a.example/2","id":"b","sha256":null}],
  "manifest_version":1,"proxy_pool":"eu","to":"scans/2026","end_rule":"tolerant","metadata":{"by":{"name":"ann"}}}"#;

const LINES: &str = concat!(
    "\u{feff}{\"manifest_version\":1,\"to\":\"scans/2026\",\"proxy_pool\":\"eu\",\"end_rule\":\"tolerant\",",
    "\"metadata\":{\"by\":{\"name\":\"ann\"}}}\n\n",
    "{\"id\":\"a\",\"url\":\"https://a.example/1?token=SECRET\",\"headers\":{\"authorization\":\"Bearer SECRET\"},",
    "\"tags\":{\"k\":\"v\"}}\r\n",
    "{\"id\":\"b\",\"url\":\"https://a.example/2\"}",
);

async fn members(kit: &Kit, batch: BatchId) -> Vec<Resource> {
    let filter = JobFilter { batch: Some(batch), ..JobFilter::default() };
    let rows = kit.store.jobs(filter, PageRequest { limit: 200, cursor: None }).await.unwrap().rows;
    assert!(rows.iter().all(|row| row.shown == Shown::Queued && row.owner.is_none()));
    let payloads = kit.store.payloads(rows.iter().map(|row| row.id).collect()).await.unwrap();
    let read = |payload: redrive_engine::store::Payload| serde_json::from_slice(&payload.input).unwrap();
    payloads.into_iter().rev().flatten().map(read).collect()
}

#[tokio::test]
async fn a_manifest_becomes_one_batch_whatever_its_form() {
    for store in stores().await {
        let kit = Kit::on(store).await;
        let packed = |format| Shape { format, gzip: true };
        for (n, (body, shape)) in [
            (DOCUMENT.as_bytes().to_vec(), JSON),
            (LINES.as_bytes().to_vec(), NDJSON),
            (gzip(DOCUMENT.as_bytes()), packed(Format::Json)),
            (gzip(LINES.as_bytes()), packed(Format::Ndjson)),
            // Packed in two parts, as tools that append do.
            ([gzip(&LINES.as_bytes()[..99]), gzip(&LINES.as_bytes()[99..])].concat(), packed(Format::Ndjson)),
        ]
        .into_iter()
        .enumerate()
        {
            let body = pieces(&body, 13);
            let accepted = kit.manifests.accept::<_, Infallible>(body, shape, of_ann(None)).await.unwrap();
            assert_eq!((accepted.resource_count, accepted.replayed), (2, false));
            assert_eq!(accepted.manifest_key, format!("manifests/{}.ndjson", accepted.batch));
            let row = kit.row(accepted.batch).await;
            assert_eq!((row.state, row.sealed, row.counters.total), (BatchState::Processing, true, 2));
            let resources = members(&kit, accepted.batch).await;
            let [a, b] = resources.as_slice() else { panic!("{resources:?}") };
            assert_eq!((a.id.as_str(), b.id.as_str()), ("a", "b"));
            assert_eq!(a.headers["authorization"], "Bearer SECRET");
            assert_eq!(
                (a.prefix.as_str(), a.shared, a.proxy_pool.as_deref()),
                ("scans/2026", true, Some("eu"))
            );
            let snapshot = kit.manifests.snapshot(&row).await.unwrap();
            assert_eq!((snapshot.end_rule.as_str(), snapshot.resources_total), ("tolerant", 2));
            assert_eq!(snapshot.metadata.clone().unwrap()["by"]["name"], "ann");
            assert_eq!(kit.kept().await, n + 1);
            let path = kit.home.path().join("manifests").join(&accepted.manifest_key);
            let stored = std::fs::read_to_string(path).unwrap();
            assert_eq!(stored.replace("\u{feff}", ""), stored);
            assert_eq!(stored.lines().count(), 3, "{stored}");
        }
    }
}

#[tokio::test]
async fn the_same_key_gives_the_same_batch_and_another_manifest_is_refused() {
    for store in stores().await {
        for held in [10, 10_000] {
            let kit = Kit::holding(store.clone(), held).await;
            let key = format!("key-{held}");
            let first = kit.accept(&lines(50), NDJSON, of_ann(Some(&key))).await.unwrap();
            // The same manifest, written in another way.
            let spaced = lines(50).replace("\",\"", "\" , \"");
            let again = kit.accept(&spaced, NDJSON, of_ann(Some(&key))).await.unwrap();
            assert!(again.replayed && !first.replayed);
            assert_eq!((again.batch, &again.manifest_key), (first.batch, &first.manifest_key));
            let other = kit.accept(&lines(51), NDJSON, of_ann(Some(&key))).await;
            assert!(matches!(other, Err(AcceptError::Mismatch)), "{other:?}");
            let bob =
                Handing { owner: Some(redrive_engine::Owner::new("bob").unwrap()), ..of_ann(Some(&key)) };
            let of_bob = kit.accept(&lines(50), NDJSON, bob).await.unwrap();
            assert_ne!(of_bob.batch, first.batch);
            assert_eq!((kit.kept().await, kit.temps()), (2, 0), "what led to nothing is gone");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_send_the_same_key_at_once_all_hear_of_one_batch() {
    for store in stores().await {
        let kit = std::sync::Arc::new(Kit::on(store).await);
        let tasks = (0..8).map(|_| {
            let kit = kit.clone();
            tokio::spawn(async move { kit.accept(&lines(20), NDJSON, of_ann(Some("k"))).await.unwrap() })
        });
        let answers: Vec<_> =
            futures::future::join_all(tasks).await.into_iter().map(|joined| joined.unwrap()).collect();
        assert!(answers.iter().all(|answer| answer.batch == answers[0].batch), "{answers:?}");
        assert_eq!(answers.iter().filter(|answer| !answer.replayed).count(), 1, "{answers:?}");
        assert_eq!(kit.kept().await, 1);
        let page = PageRequest { limit: 200, cursor: None };
        let jobs = kit.store.jobs(JobFilter::default(), page).await.unwrap();
        assert_eq!(jobs.rows.len(), 20);
    }
}

#[tokio::test]
async fn a_batch_whose_id_is_known_is_handed_in_once() {
    let kit = Kit::new().await;
    let batch = BatchId::from_parts(instant::from_millis(1_800_000_000_000), [3; 10]);
    let how = || Handing { owner: None, idempotency_key: None, batch: Some(batch) };
    let first = kit.accept(&lines(5), NDJSON, how()).await.unwrap();
    let again = kit.accept(&lines(5), NDJSON, how()).await.unwrap();
    assert_eq!((first.batch, again.batch, first.replayed, again.replayed), (batch, batch, false, true));
    let other = kit.accept(&lines(6), NDJSON, how()).await;
    assert!(matches!(other, Err(AcceptError::Mismatch)), "{other:?}");
    assert_eq!(kit.row(batch).await.counters.total, 5);
    kit.blobs.hash(&Key::parse(&first.manifest_key).unwrap()).await.unwrap();
}

use redrive_blob::BlobsExt as _;
