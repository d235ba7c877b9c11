//! A bucket of very many objects on `s3s-fs`: a look at it, and the queue processor's when each of them is a document already.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::TryStreamExt;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use redrive::sqlite::SqliteStore;
use redrive_blob::S3Settings;
use redrive_blob::shelf::{BucketShelf, Item, Shelf};
use redrive_engine::{Engine, Enqueue, Options};
use redrive_intake::{Document, Mover, Place, Queue, QueueOptions, Scanner, Seen};
use redrive_store::Store;
use redrive_store::intake::{IntakeStore, NewDocument};

use super::moves::taken;
use super::queue_options;

/// How often it is asked what was seen.
const LOOK: Duration = Duration::from_millis(10);
/// So many are written at once.
const CHUNK: usize = 1_000;

/// What was seen.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    /// A look, in seconds.
    pub look: f64,
    /// Pages that it asked for.
    pub pages: usize,
    /// From the start of a queue processor until it has seen all, in seconds; each of them is a document.
    pub known: f64,
    /// Questions about single objects, until it had considered them all and looked again.
    pub single: usize,
}

/// How often it was asked for lists, and for single objects.
#[derive(Debug, Default)]
struct Asked {
    lists: AtomicUsize,
    single: AtomicUsize,
}

/// Makes the objects and looks.
pub async fn run(home: &Path, objects: usize) -> Result<Figures> {
    let files = home.join("s3");
    let queue = files.join("bucket/queue");
    std::fs::create_dir_all(&queue)?;
    for n in 0..objects {
        std::fs::write(queue.join(super::pdfs::name(n)), format!("%PDF-1.7\n{n}\n%%EOF\n"))?;
    }
    let asked = Arc::new(Asked::default());
    let url = serve(&files, Arc::clone(&asked)).await?;
    let vars = [
        ("S3_ENDPOINT", url.as_str()),
        ("AWS_ACCESS_KEY_ID", "who"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "us-east-1"),
    ];
    let settings = S3Settings::new("bucket", None, home.join("spool")).with_vars(vars);
    let shelf: Arc<dyn Shelf> = Arc::new(BucketShelf::open(settings).await?);
    asked.lists.store(0, Ordering::Relaxed);
    let began = Instant::now();
    let look = Scanner::new(Duration::ZERO).look(&*shelf).await?;
    let took = began.elapsed().as_secs_f64();
    ensure!(look.lie == objects, "{} of {objects} were found", look.lie);
    let pages = asked.lists.load(Ordering::Relaxed);
    let items: Vec<Item> = shelf.list(&Place::Queue.key()?).try_collect().await?;
    asked.single.store(0, Ordering::Relaxed);
    let known = known(home, shelf, &items).await?;
    Ok(Figures { look: took, pages, known, single: asked.single.load(Ordering::Relaxed) })
}

/// The queue processor on a bucket of which it knows everything.
async fn known(home: &Path, shelf: Arc<dyn Shelf>, items: &[Item]) -> Result<f64> {
    let sqlite = Arc::new(SqliteStore::open(home.join("redrive.db")).await?);
    let (store, documents): (Arc<dyn Store>, Arc<dyn IntakeStore>) = (sqlite.clone(), sqlite);
    let engine = Engine::new(store.clone(), Options::default()).await?;
    for some in items.chunks(CHUNK) {
        let some: Vec<NewDocument> = some.iter().map(|item| taken(shelf.root(), item)).collect();
        let jobs = some.iter().map(|document| {
            let input = Document {
                root: document.root.clone(),
                path: document.path.clone(),
                targets: queue_options().targets,
            };
            engine.new_job(&input, Enqueue::default().id(document.id))
        });
        let jobs: Result<Vec<_>, _> = jobs.collect();
        documents.take_in(some.clone()).await?;
        engine.hand_in(redrive_store::Enqueue::jobs(jobs?)).await?;
    }
    // Nobody is there to process them, and there is room for all: each is considered, none is taken.
    let options = QueueOptions {
        settle: Duration::ZERO,
        interval: Duration::from_secs(1),
        max_in_flight: items.len() * 2,
        ..queue_options()
    };
    let queue = Queue::new(engine.clone(), Mover::new(shelf, documents), options);
    let queue = engine.permanent("intake.queue", queue).await?;
    let began = Instant::now();
    let running = engine.start();
    let mut looks = Vec::new();
    let mut took = 0.0;
    while looks.len() < 2 {
        tokio::time::sleep(LOOK).await;
        let payload = store.payload(queue).await?.context("no queue processor")?;
        let Some(state) = payload.state else { continue };
        let seen: Seen = serde_json::from_slice(&state)?;
        // What was considered since that look is no longer counted.
        ensure!((1..=items.len()).contains(&seen.lie), "{} of {} were found", seen.lie, items.len());
        if !looks.contains(&seen.at) {
            looks.push(seen.at);
            took = if looks.len() == 1 { began.elapsed().as_secs_f64() } else { took };
        }
    }
    running.drain().await;
    Ok(took)
}

/// A server that keeps objects as files, and counts what it is asked for.
async fn serve(files: &Path, asked: Arc<Asked>) -> Result<String> {
    let files = s3s_fs::FileSystem::new(files).map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let mut service = s3s::service::S3ServiceBuilder::new(files);
    service.set_auth(s3s::auth::SimpleAuth::from_single("who", "secret"));
    let service = service.build();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (service, asked) = (service.clone(), Arc::clone(&asked));
            let counted = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                let is_list = request.uri().query().is_some_and(|query| query.contains("list-type=2"));
                let count = if is_list { &asked.lists } else { &asked.single };
                count.fetch_add(1, Ordering::Relaxed);
                Service::call(&service, request)
            });
            tokio::spawn(async move {
                let server = Builder::new(TokioExecutor::new());
                drop(server.serve_connection(TokioIo::new(socket), counted).await);
            });
        }
    });
    Ok(url)
}
