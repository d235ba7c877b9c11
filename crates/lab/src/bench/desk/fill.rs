//! Fills a store with a day of work, by the store's own verbs: jobs are handed in, claimed, completed or given up, while its clock goes
//! from yesterday to now.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use redrive_convert::Pdf;
use redrive_model::decide::DeadReason;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::{Code, Failure, Owner, Rule, Timestamp, WorkerId, WorkloadName, instant};
use redrive_store::clock::{Clock, ManualClock, SystemClock};
use redrive_store::{
    Claim, ClaimMode, Claimed, Enqueue, Finish, Finished, NewJob, Report, Step, Store, Want,
};
use redrive_store_postgres::PostgresStore;
use redrive_store_sqlite::{Options, SqliteStore};
use sqlx::postgres::PgPool;
use sqlx::{AssertSqlSafe, Executor};

use crate::bench::ours::{fresh_id, success};

/// Jobs of one step of the clock.
const STEP: usize = 500;
/// What the work belongs to.
const DAY: Duration = Duration::from_secs(24 * 3_600);
/// So many people.
const OWNERS: usize = 1_000;
/// What goes wrong, and in how many ways each.
const CODES: [Code; 5] = [Code::GwTimeout, Code::Gw5xx, Code::Gw4xx, Code::IoError, Code::Unknown];
const WAYS: usize = 20;

/// A store whose clock can be set.
#[expect(missing_debug_implementations, reason = "stores show nothing of themselves")]
pub enum Past {
    /// A file.
    Sqlite(SqliteStore, ManualClock),
    /// A database, and a way to its function.
    Postgres(PostgresStore, PgPool),
}

impl Past {
    /// A new file.
    pub async fn sqlite(path: &std::path::Path) -> Result<Self> {
        let clock = ManualClock::new(SystemClock.now());
        Ok(Self::Sqlite(Options::default().clock(clock.clone()).open(path).await?, clock))
    }

    /// An empty database.
    pub async fn postgres(url: &str) -> Result<Self> {
        let store = PostgresStore::open(url).await?;
        Ok(Self::Postgres(store, PgPool::connect(url).await?))
    }

    fn store(&self) -> &dyn Store {
        match self {
            Self::Sqlite(store, _) => store,
            Self::Postgres(store, _) => store,
        }
    }

    async fn set(&self, at: Timestamp) -> Result<()> {
        match self {
            Self::Sqlite(_, clock) => clock.set(at),
            Self::Postgres(_, pool) => clock_is(pool, &instant::to_millis(at).to_string()).await?,
        }
        Ok(())
    }

    /// Gives the store its own clock back, brings its statistics up to date, and lets go of it.
    async fn close(self) -> Result<()> {
        if let Self::Postgres(store, pool) = self {
            clock_is(&pool, "(extract(epoch FROM clock_timestamp()) * 1000)::bigint").await?;
            store.close().await;
            pool.execute("VACUUM ANALYZE").await?;
        }
        Ok(())
    }
}

async fn clock_is(pool: &PgPool, what: &str) -> Result<()> {
    let function = format!(
        "CREATE OR REPLACE FUNCTION redrive.now_ms() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE AS $$ SELECT {what} $$"
    );
    pool.execute(AssertSqlSafe(function)).await?;
    Ok(())
}

/// So many jobs of a day, every so-many-th of them a dead letter.
pub async fn fill(past: Past, jobs: usize, one_dead_of: usize) -> Result<()> {
    let until = SystemClock.now();
    let steps = jobs.div_ceil(STEP);
    let pace = DAY / u32::try_from(steps).context("too many jobs")?;
    let mut now = instant::before(until, DAY);
    let mut made = 0;
    for step in 0..steps {
        past.set(now).await?;
        let ids = (made..made + STEP).map(|n| conversion(n, now)).collect::<Result<Vec<_>>>()?;
        past.store().enqueue(Enqueue::jobs(ids)).await?;
        let claimed = past.store().claim(everything()?).await?;
        ensure!(claimed.len() == STEP, "{} of {STEP} were claimed", claimed.len());
        past.set(instant::after(now, Duration::from_millis(40 + (step % 50) as u64 * 20))).await?;
        let ends = claimed
            .iter()
            .enumerate()
            .map(|(n, one)| end(one, made + n, one_dead_of))
            .collect::<Result<_>>()?;
        let answers = past.store().finish(ends).await?;
        ensure!(answers.iter().all(|one| matches!(one, Finished::Recorded(_))), "an end was refused");
        made += STEP;
        now = instant::after(now, pace);
        if step % 20 == 19 {
            past.set(now).await?;
            while past.store().roll_up(50_000).await? > 0 {}
        }
    }
    past.close().await
}

fn conversion(n: usize, now: Timestamp) -> Result<NewJob> {
    let filename = format!("invoice-{n:07}.pdf");
    let pdf = Pdf {
        source: format!("sources/{n:07}"),
        sha256: format!("{n:064x}"),
        bytes: 20_000 + n as u64 % 90_000,
        filename: filename.clone(),
        mapping: "text".into(),
    };
    Ok(NewJob {
        owner: Some(Owner::new(format!("session-{}", n % OWNERS))?),
        label: Some(filename),
        max_attempts: Some(3),
        ..NewJob::new(fresh_id(now), WorkloadName::new("convert")?, serde_json::to_vec(&pdf)?)
    })
}

fn everything() -> Result<Claim> {
    Ok(Claim {
        worker: WorkerId::from_uuid(uuid::Uuid::from_u128(7)),
        wants: vec![Want::new(WorkloadName::new("convert")?, STEP)],
        limit: STEP,
        ttl: Duration::from_secs(60),
        mode: ClaimMode::Normal,
        rooms: Vec::new(),
    })
}

/// Every so-many-th is given up, for one of a hundred causes; the others are done.
fn end(claimed: &Claimed, n: usize, one_dead_of: usize) -> Result<Finish> {
    let done = success(claimed, "bench", Some(DAY * 7));
    if !n.is_multiple_of(one_dead_of) {
        let result = Some(format!("results/{n:07}"));
        return Ok(Finish { step: Step::Complete { result, keep: Some(DAY * 7) }, ..done });
    }
    let dead = n / one_dead_of;
    let code = *CODES.get(dead % CODES.len()).context("no code")?;
    let way = "abcdefghijklmnopqrst".get(dead / CODES.len() % WAYS..).context("no way")?;
    let message = format!("the gateway says {way}");
    let fingerprint = Fingerprint::new(code, &WorkloadName::new("convert")?, None, &message);
    Ok(Finish {
        step: Step::Fail { reason: DeadReason::Exhausted, keep: Some(DAY * 90) },
        report: Report {
            rule: Rule::AttemptsUsedUp,
            failure: Some(Failure::new(code, message)),
            fingerprint: Some(fingerprint),
            ..done.report
        },
        ..done
    })
}
