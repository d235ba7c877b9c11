//! Whoever fetches is killed again and again; every resource has one end, and the batch too.

use redrive::sqlx::{self, AssertSqlSafe, Connection, Executor, PgConnection};
use redrive_lab::origin::Origin;

use super::bucket::Place;
use super::judged::{Judge, TOKEN};
use super::manifest::{Bad, Manifest};
use super::watched::Watched;
use crate::acceptance::kit::{Browser, Worker, World, eventually};

/// Enough to be killed among, few enough for every day.
const SOME: usize = 600;
/// As many as one manifest should stand: too many to be handed in with their batch, so that a job unpacks them.
const ALL: usize = 10_100;

/// Also covers: M48.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_a_server_killed_among_many_downloads_miscounts_none() {
    on_sqlite(SOME).await;
}

/// Also covers: M48.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_on_sqlite_a_server_killed_among_ten_thousand_downloads_miscounts_none() {
    on_sqlite(ALL).await;
}

/// Also covers: M48.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_workers_killed_while_they_count_miscount_none() {
    on_postgres(SOME).await;
}

/// Also covers: M48.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_on_postgres_workers_killed_while_they_count_ten_thousand_miscount_none() {
    on_postgres(ALL).await;
}

async fn on_sqlite(total: usize) {
    let (world, origin) = (ready(World::sqlite().await), Origin::start().await.unwrap());
    let manifest = Manifest::new(total, &origin);
    let mut server = world.serve().await;
    let mut browser = server.browser();
    let batch = hand_in(&browser, manifest.lines(), total).await;
    let mut watched = Watched::default();
    for share in [10, 30, 55, 80] {
        until(&mut watched, &browser, &batch, total, share).await;
        assert!(!watched.is_over(), "killed in the middle");
        server.kill();
        server = world.serve().await;
        browser = browser.at(&server.address);
    }
    until(&mut watched, &browser, &batch, total, 100).await;
    judge(&world, &browser, &batch, &manifest, &origin, &Place::Folder).await;
    let temps = world.files("fetched/.redrive-temp").len();
    assert!(temps <= 4 * 16, "no more than what was under way when it was killed: {temps}");
    server.stop().await;
    let server = world.serve_with(&world.tomorrow().await).await;
    eventually("what was half to be swept", async || {
        world.files("fetched/.redrive-temp").is_empty().then_some(())
    })
    .await;
    server.stop().await;
}

async fn on_postgres(total: usize) {
    let Some(world) = World::postgres().await else { return };
    let mut world = ready(world);
    let Some(place) = Place::bucket(&mut world).await else { return };
    let origin = Origin::start().await.unwrap();
    let manifest = Manifest::new(total, &origin);
    // The server does little of it: whoever waits to count is a worker.
    let server = world.serve_with(&[("FETCH_CONCURRENCY", "1".to_owned())]).await;
    let mut worker = Worker::start(&world, &[]).await;
    let browser = server.browser();
    let batch = hand_in(&browser, manifest.lines(), total).await;
    let mut watched = Watched::default();
    for share in [10, 30, 55, 80] {
        until(&mut watched, &browser, &batch, total, share).await;
        assert!(!watched.is_over(), "killed in the middle");
        kill_while_it_counts(&world, worker).await;
        worker = Worker::start(&world, &[]).await;
    }
    until(&mut watched, &browser, &batch, total, 100).await;
    judge(&world, &browser, &batch, &manifest, &origin, &place).await;
    worker.kill();
    server.stop().await;
}

fn ready(mut world: World) -> World {
    world.set("FETCH_ALLOW_PRIVATE", true);
    world.set("FETCH_CONCURRENCY", 16);
    world.set("OPERATOR_TOKEN", TOKEN);
    world.set("RETENTION_INTERVAL_SEC", 0.5);
    world
}

async fn hand_in(browser: &Browser, lines: String, total: usize) -> String {
    let request = browser.request("POST", "/api/fetch").header("content-type", "application/x-ndjson");
    let answer = browser.send(request.body(lines)).await;
    assert_eq!((answer.status, &answer.json()["resource_count"]), (202, &total.into()), "{}", answer.text());
    answer.json()["job_id"].as_str().unwrap().to_owned()
}

/// Looks until such a share of it has ended.
async fn until(watched: &mut Watched, browser: &Browser, batch: &str, total: usize, percent: u64) {
    let total = total as u64;
    let mut before = None;
    // However many there are: as long as something ends, somebody is patient.
    while !watched.is_over() && before.is_none_or(|ended| ended < total * percent / 100) {
        before = Some(
            eventually("a resource to end", async || {
                let ended = watched.look(browser, batch, total).await?;
                (watched.is_over() || before.is_none_or(|before| before < ended)).then_some(ended)
            })
            .await,
        );
    }
}

/// Holds the row that everybody counts in, waits until a worker wants it, and kills the worker there.
async fn kill_while_it_counts(world: &World, worker: Worker) {
    let url = &world.settings()["DATABASE_URL"];
    let mut holding = PgConnection::connect(url).await.unwrap();
    let hold = "BEGIN; SELECT id FROM redrive.batches FOR UPDATE";
    holding.execute(sqlx::raw_sql(AssertSqlSafe(hold.to_owned()))).await.unwrap();
    // The server counts one at a time: the second one that waits is the worker.
    let waiting = "SELECT pid::text FROM pg_stat_activity \
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    eventually("a worker that waits to count", async || (world.rows(waiting).await.len() >= 2).then_some(()))
        .await;
    worker.kill();
    holding.execute("ROLLBACK").await.unwrap();
}

/// Looks at everything, and sends again what is missing.
async fn judge(
    world: &World,
    browser: &Browser,
    batch: &str,
    manifest: &Manifest,
    origin: &Origin,
    place: &Place,
) {
    Judge { world, browser, batch, manifest, place }.all().await;
    let missing = browser.get(&format!("/api/fetch/{batch}/missing")).await;
    manifest.heal(origin);
    let request = browser.request("POST", "/api/fetch").header("content-type", "application/json");
    let answer = browser.send(request.body(missing.body)).await;
    let bad = manifest.bad();
    assert_eq!((answer.status, &answer.json()["resource_count"]), (202, &bad.len().into()));
    let again = answer.json()["job_id"].as_str().unwrap().to_owned();
    let mut watched = Watched::default();
    until(&mut watched, browser, &again, bad.len(), 100).await;
    let snapshot = browser.get(&format!("/api/fetch/{again}")).await.json();
    let nameless = bad.values().filter(|bad| **bad == Bad::NoName).count();
    assert_eq!(snapshot["resources_completed"], bad.len() - nameless, "{snapshot:#}");
    assert_eq!(snapshot["resources_failed"], nameless, "{snapshot:#}");
}
