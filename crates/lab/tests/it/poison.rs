//! Row 14: a job that ends its process every time.

use redrive::JobId;
use redrive::store::{DeadFilter, PageRequest};
use redrive_lab::worker::{Abort, Write};
use redrive_model::decide::DeadReason;
use redrive_model::{Code, State};

use crate::audit::audit;
use crate::kit::{Database, Folder, Process, eventually};

/// The most often that workers may have to be started again.
const STARTS: usize = 20;

/// Also covers: M14, K3.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poison_job_is_put_aside_after_three_claims() {
    let (folder, database) = (Folder::new(), Database::postgres().await);
    let (poison, others) = enqueue(&folder, &database).await;
    let mut workers =
        vec![Process::start(&folder, &database.url).await, Process::start(&folder, &database.url).await];
    let mut starts = workers.len();
    eventually("the poison job to be put aside", async || {
        for worker in &mut workers {
            if !worker.runs() {
                starts += 1;
                *worker = Process::start(&folder, &database.url).await;
            }
        }
        assert!(starts < STARTS, "workers die without end");
        (database.row(poison).await.state == State::Failed).then_some(())
    })
    .await;
    database.until_all_end(&others).await;
    for worker in workers {
        worker.drain().await;
    }
    put_aside(&folder, &database, poison, &others).await;
}

/// One process at a time: it is started again whenever it died.
///
/// Also covers: M14, K3.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_a_poison_job_is_put_aside_after_three_claims() {
    let folder = Folder::new();
    let database = Database::sqlite(&folder).await;
    let (poison, others) = enqueue(&folder, &database).await;
    let url = database.close();
    let mut deaths = 0;
    let mut worker = Process::start(&folder, &url).await;
    eventually("the others' end after the poison's", async || {
        if !worker.runs() {
            deaths += 1;
            assert!(deaths < STARTS, "workers die without end");
            worker = Process::start(&folder, &url).await;
        }
        let said = worker.said();
        let taken_back =
            said.lines().any(|line| line.contains("lease.reclaimed") && line.contains("lab.abort"));
        let wrote = |job: &JobId| !folder.said(*job, "wrote").is_empty();
        (deaths >= 3 && taken_back && others.iter().all(wrote)).then_some(())
    })
    .await;
    worker.drain().await;
    let database = Database::open(&url).await;
    put_aside(&folder, &database, poison, &others).await;
}

async fn enqueue(folder: &Folder, database: &Database) -> (JobId, Vec<JobId>) {
    let slow = Write { ledger: folder.ledger(), ms: 50, ..Write::default() };
    let mut others = database.enqueue_many(&vec![slow.clone(); 10]).await;
    let poison = database.enqueue(&Abort { ledger: folder.ledger() }).await;
    others.extend(database.enqueue_many(&vec![slow; 30]).await);
    (poison, others)
}

async fn put_aside(folder: &Folder, database: &Database, poison: JobId, others: &[JobId]) {
    let row = database.row(poison).await;
    let tries = database.attempts(poison).await;
    assert_eq!((row.state, row.crashes, row.token.0), (State::Failed, 3, 3), "{row:#?} {tries:#?}");
    assert_eq!(row.failure_code, Some(Code::SystemQuarantined));
    assert_eq!(folder.said(poison, "started").len(), 3, "it ended three processes and no more");
    let dead =
        database.store().dead_letters(DeadFilter::default(), PageRequest::default()).await.unwrap().rows;
    let dead: Vec<_> = dead.iter().map(|dead| (dead.job, dead.reason)).collect();
    assert_eq!(dead, [(poison, DeadReason::Crashed)], "one dead letter, and it is the poison's");
    for other in others {
        assert_eq!(database.row(*other).await.state, State::Complete);
    }
    let mut all = others.to_vec();
    all.push(poison);
    audit(database, folder, &all).await;
}
