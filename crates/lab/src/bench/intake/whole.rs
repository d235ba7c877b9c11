//! Everything that `serve` does for a folder: the gateway with its children, the engine on a SQLite file, intake with its defaults.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use redrive::sqlite::SqliteStore;
use redrive_blob::shelf::{FolderShelf, Shelf};
use redrive_convert::{Gateway, GatewayOptions};
use redrive_engine::{Engine, Options, Policy};
use redrive_gateway::http;
use redrive_intake::{Analyst, Cleaner, Intake, IntakeOptions, Mover, Place, Queue};
use redrive_store::Store;
use redrive_store::intake::{IntakeStore, Stage};
use tokio::net::TcpListener;
use url::Url;

use super::{Task, queue_options};
use crate::bench::fetch::side::Report;

/// The largest result.
const MAX_RESULT: u64 = 256 << 20;
/// Jobs at once, as the setting has it.
const CONCURRENCY: usize = 4;
/// How often it is asked whether all are done.
const LOOK: Duration = Duration::from_millis(100);

/// Says `ready` when it watches the folder and `done` when all documents are in `result/`.
pub async fn run(task: &Task) -> Result<Report> {
    let (stop, told) = tokio::sync::oneshot::channel::<()>();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = Url::parse(&format!("http://{}", listener.local_addr()?))?;
    let serving = http::serve(listener, http::Settings::default(), async { drop(told.await) });
    let serving = tokio::spawn(serving);
    let gateway =
        Gateway::new(GatewayOptions { url, timeout: Duration::from_secs(300), max_response: MAX_RESULT })?;
    let sqlite = Arc::new(SqliteStore::open(task.home.join("redrive.db")).await?);
    let (store, documents): (Arc<dyn Store>, Arc<dyn IntakeStore>) = (sqlite.clone(), sqlite);
    let engine = Engine::new(store.clone(), Options::default()).await?;
    for place in [Place::Queue, Place::Pdf, Place::Result, Place::Failed, Place::Reports] {
        std::fs::create_dir_all(task.files().join(place.as_str()))?;
    }
    let shelf: Arc<dyn Shelf> = Arc::new(FolderShelf::open(task.files()).await?);
    let mover = Mover::new(shelf.clone(), documents.clone());
    let policy = Policy { retry_all: true, ..Policy::reliability().with_max_retries(3) };
    let options = IntakeOptions {
        policy: policy.clone(),
        concurrency: CONCURRENCY,
        mapping: None,
        max_result: MAX_RESULT,
        pages_per_part: 50,
        command: None,
    };
    let intake = Intake::new(engine.clone(), mover.clone(), gateway.clone(), options);
    engine.register(intake.parts());
    engine.register(intake);
    engine.register(Analyst::new(store.clone(), mover.clone(), gateway, policy));
    engine.projector("intake.cleaner", Cleaner::new(engine.clone(), mover.clone())).await?;
    let queue = Queue::new(engine.clone(), mover, queue_options());
    let queue = engine.permanent("intake.queue", queue).await?;
    let running = engine.start();
    // It has looked once.
    while store.payload(queue).await?.is_none_or(|payload| payload.state.is_none()) {
        tokio::time::sleep(LOOK).await;
    }
    say("ready")?;
    let mut done = 0;
    while done < task.documents {
        tokio::time::sleep(LOOK).await;
        let counts = documents.document_counts(shelf.root()).await?;
        let of = |stage| counts.iter().find(|(one, _)| *one == stage).map_or(0, |(_, count)| *count);
        anyhow::ensure!(of(Stage::Failed) + of(Stage::Gone) == 0, "a document failed: {counts:?}");
        done = usize::try_from(of(Stage::Done))?;
    }
    say("done")?;
    running.drain().await;
    let _ = stop.send(());
    serving.await??;
    Report::new(done, Vec::new())
}

fn say(word: &str) -> Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{word}")?;
    Ok(out.flush()?)
}
