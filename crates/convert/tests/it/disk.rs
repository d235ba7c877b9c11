//! A disk that is full or fails, or a bucket that asks for time, while a result is written: never a job that is complete without its file, never one that pays for it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use redrive_blob::{
    BlobError, Blobs, ByteRange, Folder, Head, Key, Listed, Mark, Point, Reading, Removed, Result, Seam,
    Temps, Upload,
};
use redrive_engine::Code;
use redrive_engine::model::{Shown, State, Timestamp};

use crate::bench::Bench;
use crate::gateway::{FakeGateway, Say};

const FULL: i32 = 28;
const BROKEN: i32 = 5;

/// Fails one step so many times.
struct Fails {
    point: Point,
    errno: i32,
    left: AtomicUsize,
}

impl Seam for Fails {
    fn before(&self, point: Point) -> io::Result<()> {
        let fails = point == self.point
            && self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if fails { Err(io::Error::from_raw_os_error(self.errno)) } else { Ok(()) }
    }
}

/// Runs one job whose result meets these faults; answers its row.
async fn run(bench: &Bench, point: Point, errno: i32, times: usize) -> redrive_engine::store::JobRow {
    let gateway = FakeGateway::start([Say::Xml("<text>made</text>")]).await;
    let seam = Arc::new(Fails { point, errno, left: AtomicUsize::new(times) });
    let results = Arc::new(Folder::open_with(bench.home().join("results"), seam).await.unwrap());
    let running = bench.start(bench.workload_on(&gateway.url, results));
    let id = bench.upload("a").await;
    let row = bench.ended(id).await;
    running.drain().await;
    row
}

const POINTS: [Point; 4] = [Point::WriteTemp, Point::SyncTemp, Point::Rename, Point::SyncFolder];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_that_finds_no_room_at_any_step_costs_no_attempt_and_is_made_later() {
    for point in POINTS {
        let bench = Bench::new().await;
        let row = run(&bench, point, FULL, 2).await;
        assert_eq!((row.state, row.attempt), (State::Complete, 1), "{point:?}: {row:#?}");
        let (made, xml) = bench.result(&row).await;
        assert_eq!(made.bytes, xml.len() as u64, "{point:?}");
        let outcomes: Vec<String> =
            bench.store.attempts(row.id).await.unwrap().into_iter().map(|attempt| attempt.outcome).collect();
        assert_eq!(
            outcomes.iter().filter(|word| *word == "environment").count(),
            2,
            "{point:?}: {outcomes:?}"
        );
        assert_eq!(temps(&bench), 0, "{point:?}: a temp is left");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fails_gets_one_retry_and_then_the_job_has_failed_without_a_result() {
    for point in POINTS {
        let bench = Bench::new().await;
        let row = run(&bench, point, BROKEN, 1).await;
        assert_eq!((row.state, row.attempt), (State::Complete, 2), "{point:?}: {row:#?}");
        let bench = Bench::new().await;
        let row = run(&bench, point, BROKEN, usize::MAX).await;
        assert_eq!((row.state, row.attempt), (State::Failed, 2), "{point:?}: {row:#?}");
        assert_eq!((row.failure_code, row.result), (Some(Code::IoError), None), "{point:?}");
    }
}

fn temps(bench: &Bench) -> usize {
    files_below(&bench.home().join("results/.redrive-temp"))
}

fn files_below(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| if entry.file_type().unwrap().is_dir() { files_below(&entry.path()) } else { 1 })
        .sum()
}

/// A folder that says once, as a bucket would, that it wants to be left alone.
#[derive(Debug)]
struct AsksForTime {
    folder: Folder,
    asked: AtomicBool,
}

#[async_trait]
impl Blobs for AsksForTime {
    async fn begin(&self, limit: u64) -> Result<Upload> {
        match self.asked.swap(true, Ordering::SeqCst) {
            true => self.folder.begin(limit).await,
            false => Err(BlobError::Throttled { retry_after: Some(Duration::from_secs(900)) }),
        }
    }

    async fn resume(&self, mark: &Mark, limit: u64) -> Result<Option<Upload>> {
        self.folder.resume(mark, limit).await
    }

    async fn read(&self, key: &Key, range: Option<ByteRange>) -> Result<Reading> {
        self.folder.read(key, range).await
    }

    async fn head(&self, key: &Key) -> Result<Head> {
        self.folder.head(key).await
    }

    async fn delete(&self, key: &Key) -> Result<Removed> {
        self.folder.delete(key).await
    }

    async fn delete_older(&self, key: &Key, before: Timestamp) -> Result<Removed> {
        self.folder.delete_older(key, before).await
    }

    fn list(&self, under: Option<&Key>) -> BoxStream<'static, Result<Listed>> {
        self.folder.list(under)
    }

    async fn sweep_temps(&self, before: Timestamp, most: usize) -> Result<Temps> {
        self.folder.sweep_temps(before, most).await
    }

    async fn free(&self) -> Result<Option<u64>> {
        self.folder.free().await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_for_results_that_asks_for_time_holds_its_job_and_not_the_gateway() {
    let bench = Bench::new().await;
    let gateway = FakeGateway::start([Say::Xml("<text>made</text>")]).await;
    let folder = Folder::open(bench.home().join("results")).await.unwrap();
    let results = Arc::new(AsksForTime { folder, asked: AtomicBool::new(false) });
    let running = bench.start(bench.workload_on(&gateway.url, results));
    let first = bench.upload("a").await;
    let waits = async {
        loop {
            let row = bench.store.job(first).await.unwrap().unwrap();
            if row.state == State::Queued && row.token.0 > 0 {
                return row;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let row = tokio::time::timeout(Duration::from_secs(30), waits).await.expect("it was never given back");
    assert_eq!((row.shown, row.attempt), (Shown::WaitingRetry, 0), "it costs nothing: {row:#?}");
    let second = bench.upload("b").await;
    assert_eq!(bench.ended(second).await.state, State::Complete, "nobody else waits");
    running.drain().await;
}
