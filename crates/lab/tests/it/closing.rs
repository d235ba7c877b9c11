//! A process that is killed while it closes its SQLite file.

use std::time::Duration;

use redrive_lab::worker::Write;
use redrive_model::State;

use crate::audit::audit;
use crate::kit::{Database, Folder, Process, eventually};

/// Somewhere between the last word of the drain and the end of the process.
const MOMENTS: u64 = 40;

/// Whatever is left of the file, its log and its lock, the next process can work with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_whose_process_was_killed_while_closing_it_can_be_opened() {
    let folder = Folder::new();
    let mut database = Database::sqlite(&folder).await;
    let mut jobs = Vec::new();
    for moment in 0..MOMENTS {
        jobs.push(database.enqueue(&Write { ledger: folder.ledger(), ..Write::default() }).await);
        let url = database.close();
        let worker = Process::start(&folder, &url).await;
        eventually("the job", async || folder.said(jobs[jobs.len() - 1], "wrote").first().map(drop)).await;
        worker.signal("-TERM");
        eventually("the drain", async || worker.has_drained().then_some(())).await;
        // Time is the fault here.
        tokio::time::sleep(Duration::from_micros(moment * 250)).await;
        worker.kill();
        database = Database::open(&url).await;
        assert_eq!(database.row(jobs[jobs.len() - 1]).await.state, State::Complete);
    }
    audit(&database, &folder, &jobs).await;
}
