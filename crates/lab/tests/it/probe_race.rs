//! The race for the one probe: eight processes and a target that is down.

use redrive::Target;
use redrive_lab::worker::Call;
use redrive_lab::worker::line::Line;
use redrive_model::State;
use redrive_model::breaker::{Breaker, Phase};

use crate::audit::audit;
use crate::kit::{Database, Folder, Process, eventually};

const PROCESSES: usize = 8;
/// So many probes are watched.
const PROBES: u32 = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_processes_make_one_probe_at_a_time() {
    let (folder, database) = (Folder::new(), Database::postgres().await);
    let target = Target::new(Call::TARGET).unwrap();
    let mut breaker = Breaker::new(database.now().await);
    breaker.phase = Phase::Open { until: database.now().await };
    database.store().swap_breaker(&target, None, &breaker).await.unwrap();
    let job = Call { log: folder.ledger(), health: folder.file("health"), ms: 200 };
    let jobs = database.enqueue_many(&vec![job; 40]).await;
    let workers: Vec<Process> =
        futures::future::join_all((0..PROCESSES).map(|_| Process::start(&folder, &database.url))).await;
    let reopened = async || {
        let row = database.store().breaker(&target).await.unwrap().unwrap();
        (row.breaker.reopened >= PROBES).then_some(())
    };
    eventually("several probes", reopened).await;
    one_at_a_time(&folder.lines());
    folder.open("health");
    database.until_all_end(&jobs).await;
    for job in &jobs {
        let row = database.row(*job).await;
        assert_eq!((row.state, row.attempt), (State::Complete, 1), "a probe costs no attempt: {row:#?}");
    }
    let row = database.store().breaker(&target).await.unwrap().unwrap();
    assert!(matches!(row.breaker.phase, Phase::Closed | Phase::Ramp { .. }), "{row:#?}");
    for worker in workers {
        worker.drain().await;
    }
    audit(&database, &folder, &jobs).await;
}

/// No call begins before the one before has ended.
fn one_at_a_time(calls: &[Line]) {
    assert!(calls.len() >= PROBES as usize, "{calls:#?}");
    let mut open: Option<&Line> = None;
    for call in calls {
        open = match (call.word.as_str(), open) {
            ("begin", None) => Some(call),
            ("end", Some(begun)) if (begun.job, begun.token) == (call.job, call.token) => None,
            _ => panic!("two calls at once: {open:?} and {call:?} in {calls:#?}"),
        };
    }
}
