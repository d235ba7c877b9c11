//! Downloads, retention, and retries by hand.

use redrive_lab::gateway::{Answer, right_answer};

use super::kit::{World, eventually, pdf, sha256};

/// Two seconds.
const SHORT: f64 = 2.0 / 86_400.0;

on_both!(
    a_download_before_its_time_is_409_not_ready_and_after_retention_404_expired,
    a_retry_by_hand_goes_back_to_the_queue_and_completes,
    a_retry_is_for_owners_alone_and_needs_its_source,
    retention_beside_downloads_gives_all_or_nothing,
    retention_leaves_the_sources_of_what_waits_or_failed,
);

/// Also covers: A7.
async fn a_download_before_its_time_is_409_not_ready_and_after_retention_404_expired(mut world: World) {
    world.set("XML_TTL_DAYS", SHORT);
    world.set("RETENTION_INTERVAL_SEC", 0.3);
    let server = world.serve().await;
    let browser = server.browser();
    world.gateway_says([Answer::Silence]);
    let id = browser.hand_in(&pdf(1)).await;
    eventually("a call", async || (world.calls(&pdf(1)) == 1).then_some(())).await;
    assert_eq!(browser.download(&id).await.problem(), (409, "NOT_READY".to_owned()));
    world.gateway.let_go();
    browser.until(&id, "complete").await;
    let whole = browser.download(&id).await;
    assert_eq!((whole.status, whole.text()), (200, right_answer(&sha256(&pdf(1)), "text")));
    assert_eq!(whole.headers["content-type"], "application/xml");
    eventually("the result to expire", async || {
        let answer = browser.download(&id).await;
        (answer.status != 200).then(|| assert_eq!(answer.problem(), (404, "EXPIRED".to_owned())))
    })
    .await;
    let job = browser.job(&id).await;
    assert_eq!((&job["status"], &job["can_download"]), (&"complete".into(), &false.into()), "{job:#}");
    eventually("the file to go", async || world.files("results").is_empty().then_some(())).await;
    assert!(browser.events(&id).await.contains(&"expired".to_owned()));
    // The same upload makes it again, as a new job.
    world.gateway.behave();
    let again = browser.hand_in(&pdf(1)).await;
    assert_ne!(again, id);
}

/// Also covers: A8, T11.
async fn a_retry_by_hand_goes_back_to_the_queue_and_completes(world: World) {
    let server = world.serve().await;
    let browser = server.browser();
    world.gateway_says([Answer::status(500)]);
    let id = browser.hand_in(&pdf(1)).await;
    let failed = browser.until(&id, "failed").await;
    assert_eq!((&failed["error"]["code"], &failed["attempt"]), (&"GW_5XX".into(), &3.into()), "{failed:#}");
    world.gateway_says([Answer::Silence]);
    let answer = browser.retry(&id).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let job = answer.json()["job"].clone();
    assert!(matches!(job["status"].as_str(), Some("queued" | "processing" | "held")), "{job:#}");
    assert_eq!((&job["error"], &job["generation"]), (&serde_json::Value::Null, &2.into()), "{job:#}");
    eventually("a call", async || (world.calls(&pdf(1)) == 4).then_some(())).await;
    assert_eq!(browser.retry(&id).await.problem(), (409, "CONFLICT_STATE".to_owned()), "it runs");
    world.gateway.let_go();
    let job = browser.until(&id, "complete").await;
    assert_eq!((&job["attempt"], &job["generation"]), (&1.into(), &2.into()), "{job:#}");
    assert_eq!(browser.download(&id).await.text(), right_answer(&sha256(&pdf(1)), "text"));
    let generations: Vec<u64> =
        browser.attempts(&id).await.iter().map(|attempt| attempt["generation"].as_u64().unwrap()).collect();
    assert_eq!(generations, [1, 1, 1, 2], "the history stays");
    assert_eq!(world.files("results").len(), 1);
}

/// Also covers: X4, D14.
async fn a_retry_is_for_owners_alone_and_needs_its_source(world: World) {
    let server = world.serve().await;
    let (browser, stranger) = (server.browser(), server.browser());
    stranger.get("/api/jobs").await;
    world.gateway_says([Answer::status(400)]);
    let id = browser.hand_in(&pdf(1)).await;
    browser.until(&id, "failed").await;
    assert_eq!(stranger.retry(&id).await.problem(), (403, "FORBIDDEN".to_owned()));
    assert_eq!(server.browser().retry(&id).await.problem().0, 403, "nobody");
    std::fs::remove_file(&world.files("uploads")[0]).unwrap();
    let refused = browser.retry(&id).await;
    assert_eq!(refused.problem(), (404, "EXPIRED".to_owned()));
    assert_eq!(refused.json()["job_id"], id.as_str(), "{}", refused.text());
    assert_eq!(refused.json()["detail"], "The file was removed. Upload it again.");
    let job = browser.job(&id).await;
    assert_eq!((&job["status"], &job["generation"]), (&"failed".into(), &1.into()), "{job:#}");
    assert_eq!(world.calls(&pdf(1)), 1);
}

/// Also covers: M44.
async fn retention_beside_downloads_gives_all_or_nothing(mut world: World) {
    world.set("XML_TTL_DAYS", SHORT);
    world.set("RETENTION_INTERVAL_SEC", 0.2);
    let server = world.serve().await;
    let browser = server.browser();
    // Large enough that a download takes a while.
    let large = format!("<a>{}</a>", "<p>some text</p>".repeat(30_000));
    world.gateway_says([Answer::Bytes(large.clone().into_bytes())]);
    let mut ids = Vec::new();
    for n in 0..3 {
        let id = browser.hand_in(&pdf(n)).await;
        ids.push(id);
    }
    for id in &ids {
        eventually("it to be complete", async || {
            (browser.job(id).await["status"] == "complete").then_some(())
        })
        .await;
    }
    let wholes = std::sync::atomic::AtomicUsize::new(0);
    let downloads = ids.iter().map(|id| {
        let (browser, large, wholes) = (&browser, &large, &wholes);
        async move {
            eventually("the result to expire", async || {
                let request = browser.request("GET", &format!("/api/jobs/{id}/download"));
                let answer = browser.try_send(request).await.expect("a 200 is whole");
                if answer.status == 200 {
                    assert!(answer.body == large.as_bytes(), "{} bytes", answer.body.len());
                    wholes.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    return None;
                }
                assert_eq!(answer.problem(), (404, "EXPIRED".to_owned()));
                Some(())
            })
            .await;
        }
    });
    futures::future::join_all(downloads).await;
    assert!(wholes.into_inner() >= 3);
}

/// Also covers: M44.
async fn retention_leaves_the_sources_of_what_waits_or_failed(mut world: World) {
    world.set("PDF_TTL_DAYS", SHORT / 4.0);
    world.set("XML_TTL_DAYS", SHORT / 4.0);
    world.set("RETENTION_INTERVAL_SEC", 0.2);
    let server = world.serve().await;
    let browser = server.browser();
    let done = browser.hand_in(&pdf(1)).await;
    eventually("it to expire", async || {
        (browser.download(&done).await.status == 404 && world.files("uploads").is_empty()).then_some(())
    })
    .await;
    world.gateway_says([Answer::status(400)]);
    let failed = browser.hand_in(&pdf(2)).await;
    browser.until(&failed, "failed").await;
    world.gateway_says([Answer::Silence]);
    let running = browser.hand_in(&pdf(3)).await;
    eventually("a call", async || (world.calls(&pdf(3)) == 1).then_some(())).await;
    // Several walks later, told by one more result that came and went.
    world.gateway.say(redrive_lab::gateway::Which::File(sha256(&pdf(4))), [Answer::Right]);
    let other = browser.hand_in(&pdf(4)).await;
    eventually("another one to expire", async || {
        (browser.download(&other).await.status == 404).then_some(())
    })
    .await;
    let source = |id: &str| world.path("data").join("uploads").join(format!("{id}.pdf"));
    assert!(source(&failed).exists() && source(&running).exists(), "{:?}", world.files("uploads"));
    world.gateway.behave();
    world.gateway.let_go();
    assert_eq!(browser.retry(&failed).await.status, 202);
    for id in [failed, running] {
        eventually("it to be complete", async || {
            (browser.job(&id).await["status"] == "complete").then_some(())
        })
        .await;
    }
}
