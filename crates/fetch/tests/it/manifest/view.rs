//! What is told about a batch: exact, without secrets; and what is missing can be handed in again.

use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use redrive_engine::model::{Offset, Shown};
use redrive_engine::store::clock::{Clock, SystemClock};
use redrive_engine::store::{DeadState, JobFilter, PageRequest, Purge};
use redrive_engine::{By, Engine};
use redrive_fetch::{Format, Handing, ManifestLimits, ManifestRetention};

use super::kit::{JSON, Kit, Mends, NDJSON, eventually, lines, numbers, of_ann, stores, tight};

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
async fn a_snapshot_points_at_what_is_failed_now_and_at_nothing_once_all_was_mended() {
    for store in stores().await {
        let kit = Kit::on(store.clone()).await;
        let accepted = kit.accept(&lines(20), NDJSON, of_ann(None)).await.unwrap();
        kit.register();
        let running = kit.engine.start();
        kit.ended(accepted.batch).await;
        running.drain().await;
        let snapshot = async || kit.manifests.snapshot(&kit.row(accepted.batch).await).await.unwrap();
        let letter = async |offset: Option<i64>| store.dead_letter(Offset(offset?)).await.unwrap();
        let first = letter(snapshot().await.dlq_offset).await.unwrap();
        assert_eq!(first.state, DeadState::Open);
        // The one that died last is mended: what is left is told.
        let mending = Engine::new(store.clone(), numbers()).await.unwrap();
        mending.register(Mends);
        let running = mending.start();
        let by = By::new("ann");
        kit.engine.retry(vec![first.job], &by).await.unwrap();
        let row = kit.ended(accepted.batch).await;
        assert_eq!((row.counters.ok, row.counters.failed), (19, 1));
        let left = snapshot().await;
        let second = letter(left.dlq_offset).await.unwrap();
        assert!(second.job != first.job && second.state == DeadState::Open, "{second:?}");
        assert_eq!(left.last_error.unwrap().at, second.at);
        // Nobody wants that one: it is failed all the same, and no letter waits.
        assert_eq!(store.discard(vec![second.offset]).await.unwrap(), 1);
        let left = snapshot().await;
        assert_eq!((left.dlq_offset, left.resources_failed), (None, 1));
        assert_eq!(left.last_error.unwrap().code, "DOWNLOAD_HTTP_4XX");
        kit.engine.retry(vec![second.job], &by).await.unwrap();
        eventually(async || (kit.row(accepted.batch).await.counters.ok == 20).then_some(())).await;
        let mended = snapshot().await;
        assert_eq!((mended.status.as_str(), mended.dlq_offset), ("complete", None));
        assert_eq!(mended.last_error, None, "what went wrong is in the attempts");
        running.drain().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_failed_behind_a_redirect_is_told_with_its_host() {
    let kit = Kit::new().await;
    let text = "{\"id\":\"no-behind\",\"url\":\"https://a.example/\"}\n";
    let accepted = kit.accept(text, NDJSON, of_ann(None)).await.unwrap();
    kit.register();
    let running = kit.engine.start();
    let snapshot = kit.manifests.snapshot(&kit.ended(accepted.batch).await).await.unwrap();
    let expected =
        serde_json::json!({"attempt": 1, "host": "cdn.example:443", "hop": 1, "proxy": null, "status": 404});
    assert_eq!(serde_json::Value::Object(snapshot.last_error.unwrap().context), expected);
    let page = kit.manifests.resources(accepted.batch, failed(), PageRequest::default()).await.unwrap();
    let failure = page.resources.into_iter().next().unwrap().failure.unwrap();
    assert_eq!(serde_json::Value::Object(failure.context), expected);
    running.drain().await;
}

/// As large as a resource may be, nearly.
fn large(n: usize) -> String {
    let tags: String = (0..30).map(|tag| format!("\"t{tag}\":\"{}\",", "x".repeat(8_000))).collect();
    let tags = tags.trim_end_matches(',');
    format!("{{\"id\":\"yes-{n:02}\",\"url\":\"https://a.example/{n}\",\"tags\":{{{tags}}}}}\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_large_resources_is_short_and_what_is_missing_comes_in_small_pieces() {
    for store in stores().await {
        let kit = Kit::holding(store, 10_000).await;
        let text: String = (0..30).map(large).collect();
        let accepted = kit.accept(&text, NDJSON, of_ann(None)).await.unwrap();
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let wanted = PageRequest { limit: 200, cursor };
            let page = kit.manifests.resources(accepted.batch, JobFilter::default(), wanted).await.unwrap();
            let bytes = serde_json::to_vec(&page).unwrap().len();
            assert!(bytes < 1_200_000 && !page.resources.is_empty(), "{bytes} in a page");
            found.extend(page.resources.into_iter().map(|resource| resource.id));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        let all: Vec<String> = (0..30).rev().map(|n| format!("yes-{n:02}")).collect();
        assert_eq!(found, all, "each once, in their order");
        let missing = kit.manifests.missing(&kit.row(accepted.batch).await, None).await;
        let pieces: Vec<usize> = missing.bytes.map_ok(|piece| piece.len()).try_collect().await.unwrap();
        assert!(pieces.iter().all(|piece| *piece < 6_000_000), "{pieces:?}");
        assert!(pieces.iter().sum::<usize>() > 7_000_000, "{pieces:?}");
        let again = kit.missing(accepted.batch, Some(Format::Ndjson)).await;
        assert_eq!(kit.accept(&again, NDJSON, Handing::default()).await.unwrap().resource_count, 30);
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
