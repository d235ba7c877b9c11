//! Servers that are killed at the worst moment. The next one finds everything that was promised, and nothing twice.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use futures::future::join_all;
use redrive_lab::gateway::{Answer, right_answer};
use tokio::io::AsyncWriteExt;

use super::kit::{Browser, Traced, World, eventually, form, pdf, sha256};

on_both!(
    no_double_xml_and_correct_leasing_when_a_worker_dies_mid_run,
    killed_with_half_a_result_written_it_is_made_anew,
    killed_between_a_results_name_and_its_row_the_result_is_adopted,
    killed_after_the_completion_it_is_not_run_again,
    killed_between_a_source_and_its_row_there_is_no_job,
    killed_before_the_answer_the_same_request_finds_its_job,
    killed_among_uploads_no_accepted_job_is_lost,
);

/// The files of a place that are no temps.
fn named(world: &World, place: &str) -> Vec<PathBuf> {
    world.files(place).into_iter().filter(|path| !path.to_str().unwrap().contains(".redrive-temp")).collect()
}

/// Whether the job is complete and its result is the one of this file, and the only one.
async fn is_right(world: &World, browser: &Browser, id: &str, n: u32) {
    assert_eq!(browser.download(id).await.text(), right_answer(&sha256(&pdf(n)), "text"));
    let folder = world.path("data").join("results").join(id);
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1, "one result");
    let completions = browser.events(id).await.iter().filter(|event| *event == "complete").count();
    assert_eq!(completions, 1);
}

/// Also covers: A9, X1, M1, K1.
async fn no_double_xml_and_correct_leasing_when_a_worker_dies_mid_run(world: World) {
    let server = world.serve().await;
    let browser = server.browser();
    world.gateway_says([Answer::Silence]);
    let id = browser.hand_in(&pdf(1)).await;
    eventually("a call", async || (world.calls(&pdf(1)) == 1).then_some(())).await;
    server.kill();
    world.gateway.behave();
    let server = world.serve().await;
    let browser = browser.at(&server.address);
    let job = browser.job(&id).await;
    assert_eq!(job["status"], "processing", "the lease still stands: {job:#}");
    let other = browser.hand_in(&pdf(2)).await;
    browser.until(&other, "complete").await;
    let job = browser.until(&id, "complete").await;
    assert_eq!(job["attempt"], 2, "the crash was charged: {job:#}");
    let attempts = browser.attempts(&id).await;
    assert_eq!((attempts.len(), world.calls(&pdf(1))), (2, 2), "{attempts:?}");
    assert!(browser.events(&id).await.contains(&"reclaimed".to_owned()));
    is_right(&world, &browser, &id, 1).await;
}

/// Also covers: M2.
async fn killed_with_half_a_result_written_it_is_made_anew(mut world: World) {
    world.set("RETENTION_INTERVAL_SEC", 0.5);
    let server = world.serve().await;
    let browser = server.browser();
    world.gateway_says([Answer::Stall(1 << 20)]);
    let id = browser.hand_in(&pdf(1)).await;
    let half = eventually("half a result", async || {
        let temps = world.files("results/.redrive-temp");
        temps.into_iter().find(|temp| std::fs::metadata(temp).is_ok_and(|meta| meta.len() > 0))
    })
    .await;
    server.kill();
    assert_eq!(named(&world, "results"), [] as [PathBuf; 0]);
    world.gateway.behave();
    let server = world.serve().await;
    let browser = browser.at(&server.address);
    browser.until(&id, "complete").await;
    is_right(&world, &browser, &id, 1).await;
    assert!(half.exists(), "somebody may still write it");
    // After a day nobody does.
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    std::fs::File::options().write(true).open(&half).unwrap().set_modified(old).unwrap();
    eventually("the temp to be swept", async || (!half.exists()).then_some(())).await;
    is_right(&world, &browser, &id, 1).await;
}

/// Also covers: M3, K2.
async fn killed_between_a_results_name_and_its_row_the_result_is_adopted(world: World) {
    // Every name takes its time to be given.
    let Some(server) = Traced::start(&world, "renameat2:delay_exit=3000000").await else { return };
    let browser = server.browser();
    let id = browser.hand_in(&pdf(1)).await;
    let folder = world.path("data").join("results").join(&id);
    let name = eventually("a result that no row knows", async || {
        std::fs::read_dir(&folder).ok()?.next()?.ok().map(|entry| entry.path())
    })
    .await;
    server.kill().await;
    let before = std::fs::read(&name).unwrap();
    let server = world.serve().await;
    let browser = browser.at(&server.address);
    assert_eq!(browser.job(&id).await["status"], "processing");
    browser.until(&id, "complete").await;
    assert_eq!(world.calls(&pdf(1)), 1, "what was made is not made again");
    assert_eq!(std::fs::read(&name).unwrap(), before);
    is_right(&world, &browser, &id, 1).await;
}

/// Also covers: M4.
async fn killed_after_the_completion_it_is_not_run_again(world: World) {
    let server = world.serve().await;
    let browser = server.browser();
    browser.get("/api/jobs").await;
    let ids = join_all((0..8).map(|n| {
        let browser = browser.clone();
        async move { browser.hand_in(&pdf(n)).await }
    }));
    let ids = ids.await;
    browser.until(&ids[0], "complete").await;
    server.kill();
    let server = world.serve().await;
    let browser = browser.at(&server.address);
    let mut run_again = 0;
    for (n, id) in (0..).zip(&ids) {
        let job = browser.until(id, "complete").await;
        run_again += usize::from(job["attempt"] != 1);
        is_right(&world, &browser, id, n).await;
    }
    assert_eq!(browser.job(&ids[0]).await["attempt"], 1);
    assert_eq!(world.calls(&pdf(0)), 1, "it was complete");
    assert!(world.gateway.calls().len() <= 8 + run_again);
}

/// Also covers: M5.
async fn killed_between_a_source_and_its_row_there_is_no_job(mut world: World) {
    world.set("RETENTION_INTERVAL_SEC", 0.5);
    let Some(server) = Traced::start(&world, "renameat2:delay_exit=3000000").await else { return };
    let browser = server.browser();
    browser.get("/api/jobs").await;
    let sending = browser.upload_request(&pdf(1), None);
    let there =
        async { eventually("a source that no row knows", async || named(&world, "uploads").pop()).await };
    let kill = async {
        let orphan = there.await;
        server.kill().await;
        orphan
    };
    let (answer, orphan) = tokio::join!(browser.try_send(sending), kill);
    assert!(answer.is_err(), "the client was told nothing: {answer:?}");
    let server = world.serve().await;
    let browser = browser.at(&server.address);
    assert_eq!(browser.get("/api/jobs").await.json()["jobs"], serde_json::json!([]));
    let id = browser.hand_in(&pdf(1)).await;
    browser.until(&id, "complete").await;
    is_right(&world, &browser, &id, 1).await;
    assert!(orphan.exists(), "its row might still come");
    assert_eq!(world.calls(&pdf(1)), 1);
    server.stop().await;
    // A day later it does not come any more.
    let server = world.serve_with(&world.tomorrow().await).await;
    eventually("the orphan to be swept", async || (!orphan.exists()).then_some(())).await;
    assert_eq!(named(&world, "uploads").len(), 1, "what has a row stays");
    server.stop().await;
}

/// Also covers: M6.
async fn killed_before_the_answer_the_same_request_finds_its_job(world: World) {
    let server = world.serve().await;
    let browser = server.browser();
    browser.get("/api/jobs").await;
    world.gateway_says([Answer::Silence]);
    let mut stream = tokio::net::TcpStream::connect(&server.address).await.unwrap();
    let body = form(&pdf(1), None);
    let head = format!(
        "POST /api/upload HTTP/1.1\r\nhost: {}\r\ncookie: {}\r\nidempotency-key: once\r\n\
         content-type: multipart/form-data; boundary=XX\r\ncontent-length: {}\r\n\r\n",
        server.address,
        browser.cookie().unwrap(),
        body.len()
    );
    stream.write_all(&[head.as_bytes(), &body].concat()).await.unwrap();
    // The row is committed; whatever was answered, nobody reads it.
    let id = eventually("the row", async || {
        browser.get("/api/jobs").await.json()["jobs"][0]["id"].as_str().map(str::to_owned)
    })
    .await;
    server.kill();
    drop(stream);
    world.gateway.behave();
    let server = world.serve().await;
    let browser = browser.at(&server.address);
    let again = browser.upload_request(&pdf(1), None).header("idempotency-key", "once");
    let answer = browser.send(again).await;
    assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
    assert_eq!(answer.job_id(), id, "by its key");
    let answer = browser.upload(&pdf(1)).await;
    assert_eq!((answer.status, answer.job_id()), (200, id.clone()), "by its bytes");
    browser.until(&id, "complete").await;
    is_right(&world, &browser, &id, 1).await;
}

/// Also covers: M7, X1.
async fn killed_among_uploads_no_accepted_job_is_lost(world: World) {
    world.gateway_says([Answer::Slow(Duration::from_millis(20))]);
    let mut server = world.serve().await;
    let mut browser = server.browser();
    browser.get("/api/jobs").await;
    let mut accepted: Vec<(u32, String)> = Vec::new();
    for round in 0..3u32 {
        let done = std::sync::Mutex::new(Vec::new());
        let uploading = join_all((0..6).map(|lane| {
            let (browser, done) = (browser.clone(), &done);
            async move {
                for n in 0.. {
                    let n = round * 10_000 + lane * 1_000 + n;
                    match browser.try_send(browser.upload_request(&pdf(n), None)).await {
                        Ok(answer) if answer.status == 201 => done.lock().unwrap().push((n, answer.job_id())),
                        Ok(answer) => panic!("{}", answer.text()),
                        // It was killed.
                        Err(_) => return,
                    }
                }
            }
        }));
        let killing = async {
            eventually("some accepted jobs", async || (done.lock().unwrap().len() >= 20).then_some(())).await;
            server.kill();
        };
        tokio::join!(uploading, killing);
        accepted.append(&mut done.lock().unwrap());
        server = world.serve().await;
        browser = browser.at(&server.address);
    }
    for (n, id) in &accepted {
        browser.until(id, "complete").await;
        is_right(&world, &browser, id, *n).await;
    }
    // Nothing lies about that has no row but what the killed ones had not told anybody.
    assert!(world.files("uploads").len() <= accepted.len() + 3 * 6 * 2);
    server.stop().await;
}
