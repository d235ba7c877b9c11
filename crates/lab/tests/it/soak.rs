//! Row 7: workers are killed again and again while jobs run.

use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use redrive::JobId;
use redrive_lab::worker::{SWEEP, TTL, Write};
use redrive_model::{Code, State};

use crate::audit::audit;
use crate::kit::{Database, Folder, Process, eventually};

/// So often a worker is given time to end everything on SQLite, where nobody can look while it works.
const ROUNDS: usize = 5;

/// The milliseconds of the longer ones.
const LONGER: u64 = 250;

/// Also covers: M7.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_workers_killed_again_and_again_lose_nothing() {
    soak_postgres(30, 450).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_three_workers_killed_for_minutes_lose_nothing() {
    soak_postgres(600, 8_000).await;
}

/// Also covers: M7.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_a_worker_killed_again_and_again_loses_nothing() {
    soak_sqlite(10, 150).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_on_sqlite_a_worker_killed_for_minutes_loses_nothing() {
    soak_sqlite(400, 4_000).await;
}

/// The draws of a run; the seed is printed so that a bad run can be looked at again.
fn draws() -> StdRng {
    let seed = rand::random();
    println!("seed {seed}");
    StdRng::seed_from_u64(seed)
}

/// Short jobs, and one among them that is longer, so that a kill finds somebody on a machine that is done with the others.
fn some_work(folder: &Folder, draws: &mut StdRng, count: usize) -> Vec<Write> {
    let mut ms = |n: usize| if n == 0 { LONGER } else { draws.random_range(0..80) };
    (0..count).map(|n| Write { ledger: folder.ledger(), ms: ms(n), ..Write::default() }).collect()
}

async fn soak_postgres(kills: usize, jobs: usize) {
    let (folder, database, mut draws) = (Folder::new(), Database::postgres().await, draws());
    let mut workers = Vec::new();
    for _ in 0..3 {
        workers.push(Process::start(&folder, &database.url).await);
    }
    let mut acknowledged = Vec::new();
    for n in 0..kills {
        let share = jobs * (n + 1) / kills - jobs * n / kills;
        acknowledged.extend(database.enqueue_many(&some_work(&folder, &mut draws, share)).await);
        // Time is the fault here: somewhere in the middle of whatever happens.
        tokio::time::sleep(Duration::from_millis(draws.random_range(50..400))).await;
        workers.swap_remove(draws.random_range(0..workers.len())).kill();
        workers.push(Process::start(&folder, &database.url).await);
    }
    database.until_all_end(&acknowledged).await;
    for worker in workers {
        worker.drain().await;
    }
    check(&database, &folder, &acknowledged).await;
}

async fn soak_sqlite(kills: usize, jobs: usize) {
    let (folder, mut draws) = (Folder::new(), draws());
    let mut database = Database::sqlite(&folder).await;
    let mut acknowledged = Vec::new();
    for n in 0..kills {
        let share = jobs * (n + 1) / kills - jobs * n / kills;
        acknowledged.extend(database.enqueue_many(&some_work(&folder, &mut draws, share)).await);
        let url = database.close();
        let worker = Process::start(&folder, &url).await;
        tokio::time::sleep(Duration::from_millis(draws.random_range(50..400))).await;
        worker.kill();
        database = Database::open(&url).await;
    }
    let url = database.close();
    let database = ends_on_sqlite(&folder, &url, &acknowledged).await;
    check(&database, &folder, &acknowledged).await;
}

/// A worker that nobody kills works until everything has ended.
async fn ends_on_sqlite(folder: &Folder, url: &str, acknowledged: &[JobId]) -> Database {
    for _ in 0..ROUNDS {
        let worker = Process::start(folder, url).await;
        quiet(folder).await;
        worker.drain().await;
        let database = Database::open(url).await;
        let mut open = 0;
        for job in acknowledged {
            open += usize::from(!database.row(*job).await.state.is_terminal());
        }
        if open == 0 {
            return database;
        }
        println!("{open} are still open");
    }
    panic!("some jobs never end");
}

/// Waits until nothing was said for longer than a lease and its rescue.
async fn quiet(folder: &Folder) {
    let mut last = (0, Instant::now());
    eventually("quiet", async || {
        let lines = folder.lines().len();
        if lines != last.0 {
            last = (lines, Instant::now());
        }
        (last.1.elapsed() > TTL + SWEEP * 4).then_some(())
    })
    .await;
}

/// Everything has ended; what did not complete was killed three times, and says so.
async fn check(database: &Database, folder: &Folder, acknowledged: &[JobId]) {
    let (mut complete, mut crashes) = (0, 0);
    for job in acknowledged {
        let row = database.row(*job).await;
        crashes += row.crashes;
        match row.state {
            State::Complete => complete += 1,
            _ => assert_eq!(
                (row.state, row.failure_code, row.crashes),
                (State::Failed, Some(Code::SystemQuarantined), 3)
            ),
        }
    }
    println!("{} acknowledged, {complete} complete, {crashes} crashes", acknowledged.len());
    assert!(crashes > 0, "no kill has hit a job: the test was too kind");
    assert!(complete * 100 >= acknowledged.len() * 95, "only {complete} of {}", acknowledged.len());
    audit(database, folder, acknowledged).await;
}
