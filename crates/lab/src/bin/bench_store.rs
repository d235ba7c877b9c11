//! `bench-store`: how near the stores come to what hand-written SQL can do on the same disk.
//!
//! `cargo run --release -p redrive-lab --bin bench-store -- --postgres URL`. Exits 1 when a promise is broken.

#![allow(clippy::print_stdout, reason = "a command: the table is its output")]

use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Parser;
use redrive_lab::bench::measure::{Line, Promise};
use redrive_lab::bench::{ours, raw_postgres, raw_sqlite, scale};
use redrive_store::Store;
use redrive_store_postgres::PostgresStore;
use redrive_store_sqlite::SqliteStore;
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, Executor, PgPool};

/// Measures the stores against hand-written SQL.
#[derive(Debug, Parser)]
struct Args {
    /// A Postgres to use; without one only SQLite is measured.
    #[arg(long)]
    postgres: Option<String>,
    /// Leave SQLite out.
    #[arg(long)]
    no_sqlite: bool,
    /// Where the SQLite files go; a folder on the disk to be measured.
    #[arg(long, default_value = ".")]
    folder: std::path::PathBuf,
    /// Rounds; the median counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Jobs per measurement.
    #[arg(long, default_value_t = 20_000)]
    jobs: usize,
    /// Finished and held jobs in the full table; 0 leaves that part out.
    #[arg(long, default_value_t = 1_000_000)]
    full: usize,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let mut lines = Vec::new();
    if !args.no_sqlite {
        lines.extend(sqlite(&args).await.context("SQLite")?);
    }
    if let Some(url) = &args.postgres {
        lines.extend(postgres(&args, url).await.context("Postgres")?);
    }
    println!("| what | ours | other side | ratio | promised | kept |");
    println!("|---|--:|--:|--:|--:|---|");
    lines.iter().for_each(|line| println!("{}", line.row()));
    anyhow::ensure!(lines.iter().all(Line::is_kept), "a promise is not kept");
    Ok(())
}

fn line(what: impl Into<String>, against: &'static str, promise: Promise) -> Line {
    Line { what: what.into(), ours: Vec::new(), other: Vec::new(), against, promise }
}

/// One writer commits for everybody, so a single caller mostly measures the way to it and back; several callers are what
/// it is made for. The promises are about those.
async fn sqlite(args: &Args) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for callers in [1usize, 4] {
        let promised = |least: f64| if callers == 1 { Promise::Nothing } else { Promise::AtLeast(least) };
        let what = |verb: &str| format!("SQLite {verb}, {callers} callers /s");
        let mut enqueue = line(what("enqueue"), "raw", promised(0.7));
        let mut drain = line(what("claim+finish"), "raw", promised(0.7));
        let mut barest = line(what("claim+finish"), "barest", promised(0.4));
        for _ in 0..args.rounds {
            let dir = tempfile::tempdir_in(&args.folder)?;
            let path = |name: &str| dir.path().join(name);
            drop(SqliteStore::open(path("raw.db")).await?);
            let mut raw = raw_sqlite::open(&path("raw.db"))?;
            enqueue.other.push(raw_sqlite::enqueue(&mut raw, args.jobs, 100)?);
            drain.other.push(raw_sqlite::drain(&mut raw, args.jobs)?);
            drop(raw);
            let store: Arc<dyn Store> = Arc::new(SqliteStore::open(path("ours.db")).await?);
            enqueue.ours.push(ours::enqueue(&store, args.jobs, callers).await?);
            let ours = ours::drain(&store, args.jobs, callers).await?;
            drain.ours.push(ours);
            barest.ours.push(ours);
            barest.other.push(raw_sqlite::barest(&path("barest.db"), args.jobs)?);
        }
        lines.extend([enqueue, drain, barest]);
    }
    let mut singles = line("SQLite single enqueue, 64 callers /s", "commit per call", Promise::AtLeast(10.0));
    for _ in 0..args.rounds {
        let dir = tempfile::tempdir_in(&args.folder)?;
        let path = |name: &str| dir.path().join(name);
        drop(SqliteStore::open(path("raw.db")).await?);
        let mut raw = raw_sqlite::open(&path("raw.db"))?;
        singles.other.push(raw_sqlite::enqueue(&mut raw, 2_000, 1)?);
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(path("ours.db")).await?);
        singles.ours.push(ours::singles(&store, args.jobs / 2, 64).await?);
    }
    lines.push(singles);
    if args.full > 0 {
        let dir = tempfile::tempdir_in(&args.folder)?;
        let open = async |name: &str| {
            anyhow::Ok(Arc::new(SqliteStore::open(dir.path().join(name)).await?) as Arc<dyn Store>)
        };
        full(args, "SQLite", open("empty.db").await?, open("full.db").await?, &mut lines, async || Ok(()))
            .await?;
    }
    Ok(lines)
}

async fn postgres(args: &Args, url: &str) -> Result<Vec<Line>> {
    let pool = PgPoolOptions::new().max_connections(8).connect(url).await?;
    let mut lines = Vec::new();
    for connections in [1usize, 4] {
        let mut enqueue =
            line(format!("Postgres enqueue, {connections} conn. /s"), "raw", Promise::AtLeast(0.7));
        let mut drain =
            line(format!("Postgres claim+finish, {connections} conn. /s"), "raw", Promise::AtLeast(0.7));
        let mut barest =
            line(format!("Postgres claim+finish, {connections} conn. /s"), "barest", Promise::AtLeast(0.4));
        for _ in 0..args.rounds {
            let store = fresh(&pool, url, "bench_raw").await?;
            drop(store);
            raw_postgres::prepare(&pool, "bench_raw").await?;
            enqueue.other.push(raw_postgres::enqueue(&pool, "bench_raw", args.jobs, connections, 100).await?);
            drain.other.push(raw_postgres::drain(&pool, "bench_raw", args.jobs, connections).await?);
            barest.other.push(raw_postgres::barest(&pool, "bench_raw", args.jobs, connections).await?);
            let store = fresh(&pool, url, "bench_ours").await?;
            enqueue.ours.push(ours::enqueue(&store, args.jobs, connections).await?);
            let ours = ours::drain(&store, args.jobs, connections).await?;
            drain.ours.push(ours);
            barest.ours.push(ours);
        }
        lines.extend([enqueue, drain, barest]);
    }
    let mut singles =
        line("Postgres single enqueue, 64 callers /s", "commit per call", Promise::AtLeast(3.0));
    for _ in 0..args.rounds {
        drop(fresh(&pool, url, "bench_raw").await?);
        raw_postgres::prepare(&pool, "bench_raw").await?;
        singles.other.push(raw_postgres::enqueue(&pool, "bench_raw", 2_000, 1, 1).await?);
        let store = fresh(&pool, url, "bench_ours").await?;
        singles.ours.push(ours::singles(&store, args.jobs / 2, 64).await?);
    }
    lines.push(singles);
    if args.full > 0 {
        let empty = fresh(&pool, url, "bench_empty").await?;
        let filled = fresh(&pool, url, "bench_full").await?;
        // The vacuum that so many new rows bring would otherwise run beside the measurement.
        let settle = async || {
            for table in ["jobs", "payloads", "events"] {
                let sql = format!("VACUUM (ANALYZE) bench_full.{table}");
                pool.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
            }
            pool.execute("CHECKPOINT").await?;
            anyhow::Ok(())
        };
        full(args, "Postgres", empty, filled, &mut lines, settle).await?;
    }
    for schema in ["bench_raw", "bench_ours", "bench_empty", "bench_full"] {
        pool.execute(sqlx::raw_sql(AssertSqlSafe(format!("DROP SCHEMA IF EXISTS {schema} CASCADE")))).await?;
    }
    Ok(lines)
}

async fn fresh(pool: &PgPool, url: &str, schema: &str) -> Result<Arc<dyn Store>> {
    pool.execute(sqlx::raw_sql(AssertSqlSafe(format!("DROP SCHEMA IF EXISTS {schema} CASCADE")))).await?;
    let store: PostgresStore = redrive_store_postgres::Options::default().schema(schema)?.open(url).await?;
    Ok(Arc::new(store))
}

async fn full(
    args: &Args,
    name: &str,
    empty: Arc<dyn Store>,
    filled: Arc<dyn Store>,
    lines: &mut Vec<Line>,
    settle: impl AsyncFnOnce() -> Result<()>,
) -> Result<()> {
    let mut claim = line(format!("{name} claim p99 with a full table, µs"), "empty", Promise::AtMost(1.5));
    scale::fill(&filled, args.full, args.full).await?;
    settle().await?;
    for _ in 0..args.rounds {
        claim.other.push(scale::claim_p99(&empty, 500).await?.as_secs_f64() * 1e6);
        claim.ours.push(scale::claim_p99(&filled, 500).await?.as_secs_f64() * 1e6);
    }
    lines.push(claim);
    let (before, highest, after) = scale::memory(&empty, 200_000).await?;
    println!(
        "{name}: draining 200,000 jobs: {before:.0} MiB before, {highest:.0} MiB at most, {after:.0} MiB after"
    );
    let mut memory = line(format!("{name} memory while draining, MiB"), "before", Promise::AtMost(1.2));
    memory.ours.push(highest);
    memory.other.push(before);
    lines.push(memory);
    Ok(())
}
