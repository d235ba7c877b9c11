//! Lost connections and lost answers, on a real server through a proxy that can cut the wire.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redrive_model::batch::EndRule;
use redrive_model::{BatchId, JobId, Policy, WorkerId, WorkloadName};
use redrive_store::{
    Claim, ClaimMode, Claimed, Enqueue, Enqueued, Finish, Finished, NewBatch, NewJob, Store, StoreError, Want,
};
use redrive_store_postgres::{Options, PostgresStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::harness::{execute, schema_name, url};

/// Passes bytes both ways until it is told to lose answers: then what the client says still arrives, and what the server
/// says does not; the connection ends instead. Told to be silent, it keeps everything for itself and ends nothing.
pub(crate) struct Wire {
    address: String,
    flags: Flags,
}

#[derive(Clone, Default)]
struct Flags {
    lose: Arc<AtomicBool>,
    silent: Arc<AtomicBool>,
    /// From the first COMMIT on answers are lost.
    lose_from_commit: Arc<AtomicBool>,
}

impl Wire {
    pub(crate) async fn to_server() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = url().split('@').nth(1).unwrap().split('/').next().unwrap().to_owned();
        let flags = Flags::default();
        let seen = flags.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.unwrap();
                tokio::spawn(pass(client, server, seen.clone()));
            }
        });
        Self { address, flags }
    }

    fn url(&self) -> String {
        let direct = url();
        let host = direct.split('@').nth(1).unwrap().split('/').next().unwrap();
        direct.replace(host, &self.address)
    }

    pub(crate) fn silence(&self, yes: bool) {
        self.flags.silent.store(yes, Ordering::SeqCst);
    }

    fn lose_answers(&self, yes: bool) {
        self.flags.lose.store(yes, Ordering::SeqCst);
    }

    fn lose_answers_from_commit(&self) {
        self.flags.lose_from_commit.store(true, Ordering::SeqCst);
    }
}

async fn pass(client: TcpStream, server: TcpStream, Flags { lose, silent, lose_from_commit }: Flags) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let losing = lose.clone();
    let up = tokio::spawn(async move {
        let mut buffer = vec![0u8; 64 << 10];
        while let Ok(n @ 1..) = from_client.read(&mut buffer).await {
            let commits = buffer[..n].windows(6).any(|word| word == b"COMMIT");
            if commits && lose_from_commit.load(Ordering::SeqCst) {
                losing.store(true, Ordering::SeqCst);
            }
            if to_server.write_all(&buffer[..n]).await.is_err() {
                break;
            }
        }
    });
    let mut buffer = vec![0u8; 64 << 10];
    while let Ok(n @ 1..) = from_server.read(&mut buffer).await {
        if silent.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        // The server has done the work and says so; nobody hears it.
        if lose.load(Ordering::SeqCst) || to_client.write_all(&buffer[..n]).await.is_err() {
            break;
        }
    }
    up.abort();
}

pub(crate) fn job(n: u128) -> NewJob {
    let id = JobId::from_uuid(uuid::Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + n));
    NewJob::new(id, WorkloadName::new("work").unwrap(), vec![1])
}

pub(crate) fn claim() -> Claim {
    Claim {
        worker: WorkerId::from_uuid(uuid::Uuid::from_u128(9)),
        wants: vec![Want::new(WorkloadName::new("work").unwrap(), 5)],
        limit: 5,
        ttl: Duration::from_secs(3_600),
        mode: ClaimMode::Normal,
        rooms: Vec::new(),
    }
}

pub(crate) async fn open(wire: &Wire) -> (String, PostgresStore) {
    let schema = schema_name();
    let store = Options::default().connections(2).schema(&schema).unwrap().open(&wire.url()).await.unwrap();
    (schema, store)
}

/// The finish of a plain success.
pub(crate) fn completion(claimed: &Claimed) -> Finish {
    let policy = Policy::reliability();
    let outcome = redrive_model::Outcome::Done(redrive_model::Done::Complete);
    let decision = redrive_model::decide(outcome, &claimed.facts, &policy, claimed.claimed_at, 0);
    Finish::decided(claimed.lease, &claimed.workload, &policy, decision, None, None)
}

/// After a first answer is lost the next ones come through again.
fn heal_soon(wire: &Wire) {
    let lose = wire.flags.lose.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(30)).await;
        lose.store(false, Ordering::SeqCst);
    });
}

/// Also covers: M6.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_enqueue_whose_answer_is_lost_makes_one_job() {
    let wire = Wire::to_server().await;
    let (schema, store) = open(&wire).await;
    store.enqueue(Enqueue::jobs(vec![job(1)])).await.unwrap();
    wire.lose_answers(true);
    heal_soon(&wire);
    let reply = store.enqueue(Enqueue::jobs(vec![job(2)])).await.unwrap();
    assert_eq!(reply.jobs[0].job(), job(2).id);
    assert!(matches!(reply.jobs[0], Enqueued::Created(_) | Enqueued::Existing(_)));
    assert_eq!(store.job_events(job(2).id).await.unwrap().len(), 1, "written once");
    execute(format!("DROP SCHEMA {schema} CASCADE")).await;
}

/// Nothing was written is said only where that is certain.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_enqueue_that_nobody_answers_any_more_is_unknown_once_its_commit_was_sent() {
    let wire = Wire::to_server().await;
    let (schema, store) = open(&wire).await;
    let batch = BatchId::from_uuid(uuid::Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001));
    let call = |n| {
        let open = NewBatch {
            id: batch,
            workload: WorkloadName::new("work").unwrap(),
            owner: None,
            label: None,
            end_rule: EndRule::Strict,
            keep: None,
            about: None,
        };
        let member = NewJob { batch: Some(batch), ..job(n) };
        Enqueue { open: vec![open], jobs: vec![member], ..Enqueue::default() }
    };
    store.enqueue(Enqueue::jobs(vec![job(1)])).await.unwrap();
    wire.lose_answers_from_commit();
    let unheard = store.enqueue(call(2)).await.unwrap_err();
    assert!(matches!(unheard, StoreError::Unknown { .. }), "{unheard}");
    // Nothing gets through now.
    let away = store.enqueue(call(3)).await.unwrap_err();
    assert!(matches!(away, StoreError::Unavailable { .. }), "{away}");
    wire.lose_answers(false);
    assert!(store.batch(batch).await.unwrap().is_some(), "it was committed");
    assert!(store.job(job(2).id).await.unwrap().is_some());
    assert!(store.job(job(3).id).await.unwrap().is_none());
    execute(format!("DROP SCHEMA {schema} CASCADE")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_nobody_answers_any_more_is_unknown_and_one_that_was_never_sent_is_not() {
    let wire = Wire::to_server().await;
    let (schema, store) = open(&wire).await;
    store.enqueue(Enqueue::jobs(vec![job(1)])).await.unwrap();
    wire.lose_answers(true);
    let unheard = store.enqueue(Enqueue::jobs(vec![job(2)])).await.unwrap_err();
    assert!(matches!(unheard, StoreError::Unknown { .. }), "{unheard}");
    let away = store.enqueue(Enqueue::jobs(vec![job(3)])).await.unwrap_err();
    assert!(matches!(away, StoreError::Unavailable { .. }), "{away}");
    let away = store.claim(claim()).await.unwrap_err();
    assert!(matches!(away, StoreError::Unavailable { .. }), "{away}");
    wire.lose_answers(false);
    let reply = store.enqueue(Enqueue::jobs(vec![job(2)])).await.unwrap();
    assert_eq!(reply.jobs[0].job(), job(2).id);
    assert!(store.job(job(3).id).await.unwrap().is_none());
    execute(format!("DROP SCHEMA {schema} CASCADE")).await;
}

/// Also covers: M19.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_whose_answer_is_lost_is_unknown_and_can_be_read_back() {
    let wire = Wire::to_server().await;
    let (schema, store) = open(&wire).await;
    store.enqueue(Enqueue::jobs(vec![job(1)])).await.unwrap();
    assert_eq!(store.claim(Claim { limit: 0, ..claim() }).await.unwrap().len(), 0);
    wire.lose_answers(true);
    let lost = store.claim(claim()).await.unwrap_err();
    wire.lose_answers(false);
    assert!(matches!(lost, StoreError::Unknown { .. }), "{lost}");
    let held = store.leases_of(claim().worker).await.unwrap();
    let row = store.job(job(1).id).await.unwrap().unwrap();
    assert_eq!(held.len() as u32, row.attempt, "what was claimed is found, and counted once");
    execute(format!("DROP SCHEMA {schema} CASCADE")).await;
}

/// Also covers: M20.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finish_whose_answer_is_lost_is_recorded_once_and_answered_well() {
    let wire = Wire::to_server().await;
    let (schema, store) = open(&wire).await;
    store.enqueue(Enqueue::jobs(vec![job(1)])).await.unwrap();
    let claimed = store.claim(claim()).await.unwrap();
    let finish = completion(&claimed[0]);
    wire.lose_answers(true);
    heal_soon(&wire);
    let answers = store.finish(vec![finish]).await.unwrap();
    assert_eq!(answers, [Finished::Recorded(redrive_model::State::Complete)]);
    assert_eq!(store.attempts(job(1).id).await.unwrap().len(), 1);
    execute(format!("DROP SCHEMA {schema} CASCADE")).await;
}

/// O6: a killed backend is replaced without anybody noticing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o6_killed_backends_are_replaced() {
    let wire = Wire::to_server().await;
    let (schema, store) = open(&wire).await;
    for n in 0..10 {
        store.enqueue(Enqueue::jobs(vec![job(n)])).await.unwrap();
        execute(format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'redrive' \
             AND query LIKE '%{schema}.%' AND pid <> pg_backend_pid()"
        ))
        .await;
    }
    assert_eq!(store.counts().await.unwrap().total(redrive_model::State::Queued), 10);
    execute(format!("DROP SCHEMA {schema} CASCADE")).await;
}
