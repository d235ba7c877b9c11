//! Row 18: the database server crashes under load and comes back.

use redrive_lab::worker::Write;
use redrive_model::State;

use crate::audit::audit;
use crate::kit::{Database, Folder, Process, Server, eventually};

/// Also covers: M18.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_crashes_under_two_workers_costs_nothing() {
    let (folder, server) = (Folder::new(), Server::start());
    let database = Database::open(&server.url).await;
    let mut workers =
        [Process::start(&folder, &server.url).await, Process::start(&folder, &server.url).await];
    let input = Write { ledger: folder.ledger(), ms: 20, ..Write::default() };
    let mut jobs = database.enqueue_many(&vec![input.clone(); 150]).await;
    eventually("work to be under way", async || (folder.lines().len() > 60).then_some(())).await;
    server.crash_and_start().await;
    jobs.extend(database.enqueue_many(&vec![input; 50]).await);
    database.until_all_end(&jobs).await;
    for worker in &mut workers {
        assert!(worker.runs(), "a worker has not survived: {}", worker.said());
    }
    for worker in workers {
        worker.drain().await;
    }
    for job in &jobs {
        let row = database.row(*job).await;
        assert_eq!((row.state, row.crashes), (State::Complete, 0), "{row:#?}");
        assert!(row.attempt <= 2, "{row:#?}");
    }
    audit(&database, &folder, &jobs).await;
}
