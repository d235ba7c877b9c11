//! A database that is locked, full, crashed or cut off under a running server.

use std::process::Command;
use std::time::Duration;

use redrive::rusqlite::Connection;
use redrive_lab::gateway::{Answer, right_answer};
use redrive_lab::proxy::Proxy;

use super::kit::{Browser, Server, SmallDisk, World, eventually, pdf, sha256};

/// Whether an answer says that the store is away for a while, and when to come again.
fn asks_to_come_again(answer: &super::kit::Answer) -> bool {
    let said = answer.status == 503;
    assert!(!said || answer.headers.contains_key("retry-after"), "{}", answer.text());
    said
}

/// Waits until an upload is refused for now.
async fn refused(browser: &Browser, n: u32) {
    eventually("an upload to be refused", async || {
        let answer = browser.upload(&pdf(n)).await;
        asks_to_come_again(&answer).then_some(())
    })
    .await;
}

/// Waits until an upload is taken.
async fn taken(browser: &Browser, n: u32) -> String {
    eventually("an upload to be taken", async || {
        let answer = browser.upload(&pdf(n)).await;
        matches!(answer.status, 200 | 201).then(|| answer.job_id())
    })
    .await
}

/// Waits until the job is complete, whatever the server answers meanwhile, and looks at its result.
async fn completes(world: &World, browser: &Browser, id: &str, n: u32) {
    eventually(format_args!("{id} to be complete"), async || {
        let answer = browser.get(&format!("/api/jobs/{id}")).await;
        if answer.status != 200 {
            assert!(asks_to_come_again(&answer), "{}", answer.text());
            return None;
        }
        let job = answer.json();
        assert_ne!(job["status"], "failed", "{job:#}");
        (job["status"] == "complete").then_some(())
    })
    .await;
    assert_eq!(browser.download(id).await.text(), right_answer(&sha256(&pdf(n)), "text"));
    let folder = world.path("data").join("results").join(id);
    let referenced = std::fs::read_dir(folder).unwrap().count();
    assert!(referenced >= 1);
}

/// Also covers: M26.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_another_process_locks_is_waited_for_and_then_said() {
    let world = World::sqlite().await;
    let server = world.serve().await;
    let browser = server.browser();
    browser.get("/api/jobs").await;
    let other = Connection::open(world.path("redrive.db")).unwrap();
    // Shorter than anybody's patience: the upload waits.
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (uploading, ()) = tokio::join!(
        tokio::spawn({
            let browser = browser.clone();
            async move { browser.upload(&pdf(1)).await }
        }),
        async {
            let locked = std::time::Instant::now();
            eventually("three seconds", async || (locked.elapsed() > Duration::from_secs(3)).then_some(()))
                .await;
            other.execute_batch("COMMIT").unwrap();
        }
    );
    let answer = uploading.unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    completes(&world, &browser, &answer.job_id(), 1).await;
    // Longer: uploads are told to come again, looking goes on, and what was converted meanwhile is not lost.
    world.gateway_says([Answer::Silence]);
    let running = browser.hand_in(&pdf(2)).await;
    eventually("a call", async || (world.calls(&pdf(2)) == 1).then_some(())).await;
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    world.gateway.behave();
    world.gateway.let_go();
    refused(&browser, 3).await;
    assert_eq!(browser.get("/api/jobs").await.status, 200, "reads go on");
    other.execute_batch("COMMIT").unwrap();
    completes(&world, &browser, &running, 2).await;
    let late = taken(&browser, 3).await;
    completes(&world, &browser, &late, 3).await;
    server.stop().await;
    let check: String = other.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}

/// Also covers: M28, O3.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_under_the_database_takes_nothing_new_and_goes_on_when_there_is_room() {
    let Some(disk) = SmallDisk::mount(16) else { return };
    let mut world = World::sqlite().await;
    let file = disk.path().join("redrive.db");
    world.set("DATABASE_URL", format!("sqlite:{}", file.display()));
    // Without a reserve: here it is the database itself that finds no room.
    world.set("DISK_HARD_BYTES", "0");
    world.set("DISK_SOFT_BYTES", "0");
    let server = world.serve().await;
    let browser = server.browser();
    let before = browser.hand_in(&pdf(1)).await;
    completes(&world, &browser, &before, 1).await;
    world.gateway_says([Answer::Silence]);
    let running = browser.hand_in(&pdf(2)).await;
    eventually("a call", async || (world.calls(&pdf(2)) == 1).then_some(())).await;
    disk.fill();
    // The log may have room of its own for a while.
    let mut n = 100;
    eventually("an upload to be refused", async || {
        n += 1;
        let answer = browser.upload(&pdf(n)).await;
        assert!(answer.status == 201 || asks_to_come_again(&answer), "{}", answer.text());
        (answer.status == 503).then_some(())
    })
    .await;
    assert_eq!(browser.download(&before).await.status, 200, "reads go on");
    world.gateway.behave();
    world.gateway.let_go();
    disk.free();
    completes(&world, &browser, &running, 2).await;
    let after = taken(&browser, 3).await;
    completes(&world, &browser, &after, 3).await;
    server.stop().await;
    let check: String =
        Connection::open(file).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}

/// A Postgres of one test's own, which it may crash.
struct Private {
    folder: tempfile::TempDir,
    url: String,
}

impl Private {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = script("start", folder.path());
        Self { folder, url }
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        script("crash", self.folder.path());
    }
}

fn script(action: &str, folder: &std::path::Path) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/postgres.sh");
    let done = Command::new(script).arg(action).arg(folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// Ten conversions are under way.
async fn ten_at_work(world: &World, server: &Server) -> (Browser, Vec<String>) {
    let browser = server.browser();
    world.gateway_says([Answer::Silence]);
    let mut ids = Vec::new();
    for n in 0..10 {
        ids.push(browser.hand_in(&pdf(n)).await);
    }
    eventually("calls", async || (world.gateway.calls().len() >= 4).then_some(())).await;
    world.gateway_says([Answer::Slow(Duration::from_millis(50))]);
    (browser, ids)
}

/// Also covers: M18, O6.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_crashes_and_comes_back_costs_no_job() {
    if World::postgres().await.is_none() {
        return;
    }
    let postgres = Private::start();
    let world = World::on(tempfile::tempdir().unwrap(), &postgres.url).await;
    let mut server = world.serve().await;
    let (browser, ids) = ten_at_work(&world, &server).await;
    script("crash", postgres.folder.path());
    refused(&browser, 100).await;
    assert_eq!(browser.get("/readyz").await.status, 503);
    world.gateway.let_go();
    assert_eq!(script("start", postgres.folder.path()), postgres.url);
    for (n, id) in (0..).zip(&ids) {
        completes(&world, &browser, id, n).await;
        let attempt = browser.job(id).await["attempt"].as_u64().unwrap();
        assert!(attempt <= 3, "{attempt}");
    }
    let late = taken(&browser, 100).await;
    completes(&world, &browser, &late, 100).await;
    server.signal("-TERM");
    assert_eq!(server.ends().await.0, Some(0), "the same server all the time: {}", server.said());
}

/// Also covers: M21.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_cannot_be_reached_is_said_and_everything_ends_after_it_heals() {
    let Some(mut world) = World::postgres().await else { return };
    let url = world.settings()["DATABASE_URL"].clone();
    let host = url.split('@').nth(1).unwrap().split('/').next().unwrap().to_owned();
    let proxy = Proxy::start(&host).await.unwrap();
    world.set("DATABASE_URL", url.replace(&host, &proxy.address().to_string()));
    let server = world.serve().await;
    let (browser, ids) = ten_at_work(&world, &server).await;
    proxy.cut();
    refused(&browser, 100).await;
    // Longer than a lease: whoever cannot keep it stops calling the gateway before it is over.
    let before = world.gateway.calls().len();
    eventually("every call to be given up", async || {
        world.gateway.calls().iter().take(before).all(|call| call.ended.is_some()).then_some(())
    })
    .await;
    for call in world.gateway.calls().iter().take(4) {
        let held = call.ended.unwrap() - call.began;
        assert!(held < Duration::from_secs(20), "the call was given up by its lease: {held:?}");
    }
    assert_eq!(browser.get("/readyz").await.status, 503);
    proxy.heal().await.unwrap();
    world.gateway.let_go();
    for (n, id) in (0..).zip(&ids) {
        completes(&world, &browser, id, n).await;
    }
    server.stop().await;
}
