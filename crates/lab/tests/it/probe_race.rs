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

/// Also covers: B7.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_processes_make_one_probe_at_a_time() {
    let (folder, database) = (Folder::new(), Database::postgres().await);
    let target = Target::new(Call::TARGET).unwrap();
    let mut breaker = Breaker::new(database.now().await);
    breaker.phase = Phase::Open { until: database.now().await };
    database.store().swap_breaker(&target, None, &breaker, None).await.unwrap();
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
    assert_eq!(most_at_once(&folder.lines(), ramp), None, "more at once than the ramp lets pass");
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
    assert_eq!(most_at_once(calls, |_| 1), None, "two calls at once: {calls:#?}");
}

/// After the first good call one at a time may pass, then two, then four; when those have gone well, any number.
fn ramp(well: usize) -> usize {
    match well {
        0..=1 => 1,
        2..=3 => 2,
        4..=7 => 4,
        _ => usize::MAX,
    }
}

/// The first call that began although as many ran as may after so many good ones.
fn most_at_once(calls: &[Line], limit: impl Fn(usize) -> usize) -> Option<&Line> {
    let (mut open, mut well) = (0, 0);
    for call in calls {
        match call.word.as_str() {
            "begin" if open >= limit(well) => return Some(call),
            "begin" => open += 1,
            word => {
                open -= 1;
                well += usize::from(word == "well");
            }
        }
    }
    None
}
