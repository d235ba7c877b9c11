//! The workload as it is run by everybody: the engine with its defaults on a SQLite file, objects in a folder.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use redrive::{BatchOptions, Engine, Target};
use redrive_blob::Folder;
use redrive_fetch::{DownloadOptions, Downloads, Fetch, FetchOptions, GuardOptions, Place, Places, Resource};
use redrive_store::{DeadFilter, PageRequest};

use super::Task;
use super::side::Report;

/// So many resources are handed in at once.
const CHUNK: usize = 250;

/// Fetches everything as one batch, and answers how it ended.
pub async fn run(task: &Task) -> Result<Report> {
    std::fs::create_dir_all(&task.into)?;
    let engine = Engine::open(&format!("sqlite:{}", task.into.join("redrive.db").display())).await?;
    let guard = GuardOptions { allow_private: true, ports: Vec::new() };
    let downloads = Downloads::new(DownloadOptions { guard, ..DownloadOptions::default() })?;
    let policy = FetchOptions::policy(&downloads, 3, 3);
    let blobs = Arc::new(Folder::open(task.into.join("fetched")).await?);
    let places = Places { usual: Place { blobs, target: Target::new("disk")? }, listed: BTreeMap::new() };
    let options = FetchOptions { policy, concurrency: task.at_once, per_host: task.at_once };
    engine.register(Fetch::new(downloads, places, options));
    let running = engine.start();
    let mut batch = engine.open_batch::<Resource>(BatchOptions::default().tolerant()).await?;
    let all: Vec<usize> = (0..task.objects).collect();
    for some in all.chunks(CHUNK) {
        let resources: Vec<Resource> = some.iter().map(|n| resource(&task.url(*n))).collect();
        batch.add(&resources).await?;
    }
    let batch = batch.seal().await?;
    let row = engine.batch_ended(batch).await?.context("the batch is gone")?;
    running.drain().await;
    ensure!(row.counters.total == task.objects as u64, "{row:?}");
    Report::new(usize::try_from(row.counters.ok)?, missing(&engine).await?)
}

/// What ended as a dead letter: its URL and its code.
async fn missing(engine: &Engine) -> Result<Vec<(String, String)>> {
    let mut missing = Vec::new();
    let mut cursor = None;
    loop {
        let page = PageRequest { limit: 200, cursor };
        let page = engine.store().dead_letters(DeadFilter::default(), page).await?;
        for dead in page.rows {
            let payload = engine.store().payload(dead.job).await?.context("a dead letter without its job")?;
            let resource: Resource = serde_json::from_slice(&payload.input)?;
            missing.push((resource.url, dead.code.name().to_owned()));
        }
        match page.next {
            Some(next) => cursor = Some(next),
            None => return Ok(missing),
        }
    }
}

fn resource(url: &str) -> Resource {
    Resource {
        manifest: "manifest".to_owned(),
        id: url.to_owned(),
        url: url.to_owned(),
        headers: BTreeMap::new(),
        sha256: None,
        tags: BTreeMap::new(),
        place: None,
        bucket: None,
        prefix: "batch".to_owned(),
        shared: false,
        proxy_pool: None,
    }
}
