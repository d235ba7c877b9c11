//! What is told about a batch: exact, without secrets; and what is missing can be handed in again.

use std::sync::Arc;
use std::time::Duration;

use redrive_engine::By;
use redrive_engine::model::Shown;
use redrive_engine::store::clock::{Clock, SystemClock};
use redrive_engine::store::{JobFilter, PageRequest, Purge};
use redrive_fetch::{Format, Handing, ManifestLimits, ManifestRetention};

use super::kit::{JSON, Kit, NDJSON, eventually, lines, of_ann, stores, tight};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_and_its_resources_tell_what_is_stored_and_what_went_wrong_where() {
    for store in stores().await {
        let kit = Kit::on(store).await;
        let accepted = kit
            .accept(&lines(20).replace(".example/", ".example/x?key=SECRET&n="), NDJSON, of_ann(None))
            .await
            .unwrap();
        kit.register();
        let running = kit.engine.start();
        let row = kit.ended(accepted.batch).await;
        let snapshot = kit.manifests.snapshot(&row).await.unwrap();
        assert_eq!((snapshot.status.as_str(), snapshot.resources_total), ("failed", 20));
        assert_eq!((snapshot.resources_completed, snapshot.resources_failed, snapshot.bytes), (18, 2, 180));
        assert_eq!(
            snapshot.failures_by_code.into_iter().collect::<Vec<_>>(),
            [("DOWNLOAD_HTTP_4XX".into(), 2)]
        );
        let error = snapshot.last_error.unwrap();
        assert!(error.message.starts_with("GET https://") && !error.message.contains("SECRET"), "{error:?}");
        assert_eq!(
            serde_json::to_string(&error.context).unwrap(),
            r#"{"attempt":1,"proxy":null,"status":404}"#
        );
        let letter = kit.store.dead_letter(redrive_engine::model::Offset(snapshot.dlq_offset.unwrap())).await;
        let letter = redrive_fetch::wire::dead_letter(&*kit.store, None, None, &letter.unwrap().unwrap())
            .await
            .unwrap();
        assert_eq!(letter.task.unwrap().tenant, "ann", "whose batch it is");

        let page = |limit, cursor| PageRequest { limit, cursor };
        let failed = kit.manifests.resources(accepted.batch, failed(), page(50, None)).await.unwrap();
        let ids: Vec<&str> = failed.resources.iter().map(|resource| resource.id.as_str()).collect();
        assert_eq!(ids, ["no-19", "no-9"]);
        let failure = failed.resources[0].failure.clone().unwrap();
        assert_eq!((failure.code.as_str(), &failure.context["status"]), ("DOWNLOAD_HTTP_4XX", &404.into()));
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let part =
                kit.manifests.resources(accepted.batch, JobFilter::default(), page(7, cursor)).await.unwrap();
            all.extend(part.resources);
            cursor = part.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(all.len(), 20);
        let stored = all.iter().find(|resource| resource.id == "yes-0").unwrap();
        assert_eq!((stored.status.as_str(), stored.bytes, stored.attempts), ("complete", Some(10), 1));
        assert_eq!(stored.content_type.as_deref(), Some("image/jpeg"));
        assert_eq!(stored.key.as_deref(), Some(format!("{}/yes-0", accepted.batch).as_str()));
        assert!(!format!("{all:?}{snapshot_again:?}", snapshot_again = error).contains("SECRET"));
        running.drain().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_missing_is_a_manifest_that_can_be_handed_in_again() {
    for store in stores().await {
        let kit = Kit::on(store).await;
        let head = "{\"manifest_version\":1,\"to\":\"a/b\",\"proxy_pool\":\"eu\",\"end_rule\":\"tolerant\",\"metadata\":{\"a\":{}}}\n";
        let one = "{\"id\":\"no-x\",\"url\":\"https://a.example/?t=SECRET\",\"headers\":{\"authorization\":\"Bearer SECRET\"},\
                   \"sha256\":\"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\",\"tags\":{\"k\":\"v\"}}\n";
        let text = format!("{head}{one}{}", lines(30));
        let accepted = kit.accept(&text, NDJSON, of_ann(None)).await.unwrap();
        let waiting = kit.missing_ids(accepted.batch).await;
        assert_eq!(waiting.len(), 31, "nothing is stored yet");
        kit.register();
        let running = kit.engine.start();
        kit.ended(accepted.batch).await;
        running.drain().await;
        let expected = ["no-19", "no-29", "no-9", "no-x"];
        assert_eq!(kit.missing_ids(accepted.batch).await, expected);
        let document = kit.missing(accepted.batch, None).await;
        let json: serde_json::Value = serde_json::from_str(&document).unwrap();
        assert_eq!(json["resources"].as_array().unwrap().len(), 4);
        for (format, shape) in [(Format::Json, JSON), (Format::Ndjson, NDJSON)] {
            let text = kit.missing(accepted.batch, Some(format)).await;
            assert!(text.contains("Bearer SECRET") && text.contains("t=SECRET"), "{text}");
            let again = kit.accept(&text, shape, Handing::default()).await.unwrap();
            assert_eq!(again.resource_count, 4);
            let (first, second) = (kit.row(accepted.batch).await, kit.row(again.batch).await);
            assert_eq!(first.end_rule, second.end_rule);
            let about = |row| redrive_fetch::About::of(row).unwrap();
            let (first, second) = (about(&first), about(&second));
            assert_eq!(
                (first.to, first.proxy_pool, first.metadata),
                (second.to, second.proxy_pool, second.metadata)
            );
            assert_eq!(kit.missing_ids(again.batch).await, expected);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_missing_of_a_batch_that_is_complete_and_a_retry_counts_again() {
    let kit = Kit::new().await;
    let text = "{\"id\":\"a\",\"url\":\"https://a.example/\"}\n";
    let accepted = kit.accept(text, NDJSON, of_ann(None)).await.unwrap();
    kit.register();
    let running = kit.engine.start();
    let row = kit.ended(accepted.batch).await;
    assert_eq!(kit.manifests.snapshot(&row).await.unwrap().status, "complete");
    assert_eq!(kit.missing(accepted.batch, None).await, "{\"manifest_version\":1,\"resources\":[]}\n");

    let bad = kit.accept(&lines(10), NDJSON, of_ann(None)).await.unwrap();
    kit.ended(bad.batch).await;
    let failed = kit.manifests.resources(bad.batch, failed(), PageRequest::default()).await.unwrap();
    let job = failed.resources[0].job_id.parse().unwrap();
    kit.engine.retry(vec![job], &By::new("ann")).await.unwrap();
    let row = eventually(async || {
        Some(kit.ended(bad.batch).await).filter(|row| row.dead_offset.is_some_and(|offset| offset.0 > 1))
    })
    .await;
    let snapshot = kit.manifests.snapshot(&row).await.unwrap();
    assert_eq!((snapshot.resources_completed, snapshot.resources_failed), (9, 1));
    assert_eq!(snapshot.failures_by_code["DOWNLOAD_HTTP_4XX"], 1);
    running.drain().await;
}

/// What failed.
fn failed() -> JobFilter {
    JobFilter { shown: vec![Shown::Failed], ..JobFilter::default() }
}

/// Decision 18.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_its_members_and_its_manifest_go_thirty_days_after_its_end_and_not_before() {
    let clock = redrive_engine::store::clock::ManualClock::new(SystemClock.now());
    let store = redrive_store_sqlite::Options::default().clock(clock.clone()).in_memory().unwrap();
    let kit = Kit::on(Arc::new(store)).await;
    let accepted = kit.accept(&lines(20), NDJSON, of_ann(None)).await.unwrap();
    kit.register();
    let running = kit.engine.start();
    kit.ended(accepted.batch).await;
    running.drain().await;
    let day = |days: u64| Duration::from_secs(days * 24 * 3_600);
    let sweep = async || {
        let mut after = None;
        loop {
            let purged = kit.store.purge(Purge { after, scan: 1_000 }).await.unwrap();
            after = purged.next;
            if after.is_none() {
                break;
            }
        }
        ManifestRetention::new(kit.store.clone(), kit.blobs.clone(), day(1)).walk().await.unwrap();
        let members = JobFilter { batch: Some(accepted.batch), ..JobFilter::default() };
        let members = kit.store.jobs(members, PageRequest::default()).await.unwrap().rows.len();
        let batch = kit.manifests.batch(accepted.batch).await.unwrap().is_some();
        (batch, members, kit.kept().await)
    };
    clock.advance(day(30) - Duration::from_secs(60));
    assert_eq!(sweep().await, (true, 20, 1), "its time is not over");
    clock.advance(Duration::from_secs(120));
    assert_eq!(sweep().await, (false, 0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_much_for_a_document_comes_as_lines_and_can_go_in_again() {
    let long = |n: usize| {
        format!(
            "{{\"id\":\"{n}\",\"url\":\"https://a.example/\",\"tags\":{{\"k\":\"{}\"}}}}\n",
            "x".repeat(900)
        )
    };
    for (text, count) in [(lines(1_001), 1_001), ((0..100).map(long).collect::<String>(), 100)] {
        let small = ManifestLimits { json_bytes: 90_000, ..ManifestLimits::default() };
        let kit = Kit::with(stores().await.remove(0), Arc::new(redrive_blob::Seamless), |options| {
            tight(options, small);
        })
        .await;
        let accepted = kit.accept(&text, NDJSON, of_ann(None)).await.unwrap();
        for asked in [None, Some(Format::Json), Some(Format::Ndjson)] {
            let missing = kit.manifests.missing(&kit.row(accepted.batch).await, asked).await;
            assert_eq!((missing.format, missing.count), (Format::Ndjson, count), "{asked:?}");
            let text = kit.missing(accepted.batch, asked).await;
            let again = kit.accept(&text, NDJSON, Handing::default()).await.unwrap();
            assert_eq!(u64::from(again.resource_count), count);
        }
    }
}
