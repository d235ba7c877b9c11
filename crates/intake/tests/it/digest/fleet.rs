//! Several engines, and one that is killed.

use std::time::Duration;

use redrive_engine::model::backoff::Backoff;
use redrive_engine::model::{Code, State};
use redrive_engine::store::{JobFilter, PageRequest};
use redrive_engine::{By, Engine, Options, Policy, Schedule, WorkloadName};
use redrive_intake::digest::DigestOptions;

use super::desk::{Desk, address, at, eventually, server};

fn quick() -> Options {
    Options {
        lease_ttl: Duration::from_millis(800),
        sweep: Duration::from_millis(100),
        poll: Duration::from_millis(100),
        drain: Duration::from_millis(500),
        ..Options::default()
    }
}

/// Tried again at once.
fn soon() -> Policy {
    let backoff = Backoff::reliability_with(Duration::from_millis(20), Duration::from_millis(5));
    Policy { backoff, ..DigestOptions::policy() }
}

/// Two servers, the day on which Berlin's clocks go back: half past two comes twice, and the digest once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_send_one_digest_also_on_the_day_the_clocks_change() {
    let Some(server) = server() else { return };
    let (desk, to) = (Desk::new(), address("jane"));
    desk.clock.set(at("2026-10-24T12:00:00Z"));
    desk.address("jane", &to, true).await;
    let id = desk.failed(1, "jane", "a.pdf", Code::GwTimeout).await;
    let mut running = Vec::new();
    for _ in 0..2 {
        let engine = desk.engine_with(quick()).await;
        let nightly = Schedule::daily("02:30").unwrap().in_zone("Europe/Berlin").unwrap();
        desk.digests(&engine, server.post()).register(nightly).await.unwrap();
        running.push(engine.start());
    }
    let keeper = WorkloadName::new("redrive.schedule.digest").unwrap();
    let asleep = async |until: &str| {
        let until = at(until);
        eventually(async || {
            let filter = JobFilter { workload: Some(keeper.clone()), ..JobFilter::default() };
            let rows = desk.store.jobs(filter, PageRequest::default()).await.unwrap().rows;
            (rows.len() == 1 && rows[0].state == State::Queued && rows[0].due_at == until).then_some(())
        })
        .await;
    };
    let mails = async |n: usize| {
        eventually(async || {
            let jobs = desk.mails().await;
            let done = jobs.len() == n && jobs.iter().all(|job| job.state == State::Complete);
            done.then_some(())
        })
        .await;
    };
    asleep("2026-10-25T00:30:00Z").await;
    assert!(server.taken(&to).is_empty());
    desk.clock.set(at("2026-10-25T00:30:00Z"));
    mails(1).await;
    asleep("2026-10-26T01:30:00Z").await;
    assert_eq!(server.taken(&to).len(), 1);
    // The second half past two.
    desk.clock.set(at("2026-10-25T01:30:00Z"));
    desk.fails_again(id, "jane", Code::GwTimeout).await;
    desk.clock.set(at("2026-10-26T01:30:05Z"));
    mails(2).await;
    asleep("2026-10-27T01:30:00Z").await;
    assert_eq!((server.taken(&to).len(), desk.untold_records().await), (2, 0));
    for running in running {
        running.drain().await;
    }
}

/// The server says 250 and then keeps us waiting for its goodbye; there the process dies.
#[test]
fn a_process_that_dies_between_250_and_the_mark_sends_the_same_mail_again() {
    let Some(server) = server() else { return };
    let (desk, to) = (Desk::ticking(), address("quit-hang"));
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let first = runtime();
    let running = first.block_on(async {
        desk.address("jane", &to, true).await;
        desk.failed(1, "jane", "a.pdf", Code::GwTimeout).await;
        let engine: Engine = desk.engine_with(quick()).await;
        let digests = desk.digests_with(&engine, server.post(), soon());
        digests.handle();
        digests.open(&By::new("a test")).await.unwrap();
        let running = engine.start();
        eventually(async || (server.taken(&to).len() == 1).then_some(())).await;
        running
    });
    // Its handler ends where it is, and then its heart.
    first.shutdown_background();
    drop(running);
    runtime().block_on(async {
        assert_eq!(desk.untold_records().await, 1, "nobody has marked it");
        let engine = desk.engine_with(quick()).await;
        desk.digests_with(&engine, server.post(), soon()).handle();
        let running = engine.start();
        eventually(async || (desk.untold_records().await == 0).then_some(())).await;
        running.drain().await;
    });
    let taken = server.taken(&to);
    assert_eq!(taken.len(), 2, "at least once");
    for head in ["Message-ID", "X-Entity-Ref-ID", "Date", "Subject"] {
        assert_eq!(taken[0]["headers"][head], taken[1]["headers"][head], "{head}");
    }
    assert_eq!(taken[0]["text"], taken[1]["text"]);
}
