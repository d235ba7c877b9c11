//! Conversions without a server: an engine in this process, with the gateway that is built in.
//!
//! Each file is a task of its own, so many at a time. The engine's rows are what a next run goes by: a file whose job is complete
//! and whose XML is where it should be is not converted again.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use redrive_blob::{Blobs, Key};
use redrive_convert::{Made, Pdf, TARGET, source_key};
use redrive_engine::{By, Engine, Enqueue, Target};
use redrive_model::breaker::Phase;
use redrive_model::{Code, JobId, State as Stored};
use redrive_store::{Enqueued, JobRow};
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};

use super::endings::Endings;
use super::outcome::{Outcome, Trouble, Written};
use super::place::{Placed, Placer};
use super::plan::Item;
use super::report::Report;
use super::state::State;
use super::{Job, WINDOW};
use crate::exit::{Exit, Stop};
use crate::wiring::engine_stop;

/// How often it is looked whether the gateway is down.
const LOOK: Duration = Duration::from_secs(1);
/// So much of a file is read at once.
const PIECE: u64 = 1 << 20;
/// A PDF says so within its first bytes.
const HEAD: usize = 1_024;
/// A result that is gone or damaged is made again once.
const TRIES: usize = 2;

/// What all files share.
pub(crate) struct Alone {
    engine: Engine,
    state: State,
    endings: Endings,
    placer: Arc<Placer>,
    /// Where results of this run went, for files with the same content.
    placed: Mutex<HashMap<JobId, PathBuf>>,
    job: Job,
    mapping: String,
}

impl Alone {
    /// Everything that is needed, with nothing begun. The state's folder is locked from here on.
    pub(crate) async fn open(
        data_dir: &Path,
        out: &Path,
        mapping: String,
        job: Job,
        options: redrive_engine::Options,
    ) -> Result<Self, Stop> {
        let state = State::open(data_dir, out, &mapping).await?;
        let engine = Engine::new(state.store.clone(), options).await.map_err(engine_stop)?;
        // What a run before found out about its gateway is old.
        if let Some(gateway) = Target::new(TARGET).ok().filter(|_| !state.is_new) {
            let by = By::new("redrive convert").because("a new run");
            engine.release(&gateway, &by).await.map_err(engine_stop)?;
        }
        let placer = Arc::new(Placer::new(job.force, &state.name));
        Ok(Self {
            engine,
            state,
            endings: Endings::default(),
            placer,
            placed: Mutex::default(),
            job,
            mapping,
        })
    }

    /// Registers who converts.
    pub(crate) fn register(
        &self,
        gateway: redrive_convert::Gateway,
        options: redrive_convert::ConvertOptions,
    ) {
        let (sources, results) = (self.state.sources.clone(), self.state.results.clone());
        self.engine.register(redrive_convert::Convert::new(gateway, sources, results, options));
    }

    /// Converts everything, or as much as there is time for until it is told to stop.
    pub(crate) async fn run(
        self,
        items: Vec<Item>,
        report: &mut Report,
        mut stopped: watch::Receiver<bool>,
    ) -> Result<(), Stop> {
        self.placer.sweep(items.iter().map(|item| item.output.as_path()));
        let this = Arc::new(self);
        let store = this.state.store.clone();
        let reading = tokio::spawn(this.endings.clone().read(store.clone(), store.last_event().await?));
        let running = this.engine.start();
        let (mut items, mut tasks) = (items.into_iter(), JoinSet::new());
        let mut look = tokio::time::interval(LOOK);
        loop {
            // Many begin together, so that they are handed in together: one commit for all.
            if tasks.len() <= WINDOW / 2 {
                for item in items.by_ref().take(WINDOW - tasks.len()) {
                    let this = this.clone();
                    tasks.spawn(async move {
                        let outcome = this.file(&item).await;
                        (item, outcome)
                    });
                }
            }
            tokio::select! {
                // A word to stop comes first.
                biased;
                _ = stopped.wait_for(|stop| *stop) => {
                    report.stopping();
                    break;
                }
                done = tasks.join_next() => match done {
                    Some(done) => told_of(report, done),
                    None => break,
                },
                _ = look.tick() => report.waiting(this.gateway_is_held().await),
            }
        }
        running.drain().await;
        // What ended while we drained is still placed; whoever waits for more is told that nothing comes.
        this.endings.close();
        while let Some(done) = tasks.join_next().await {
            told_of(report, done);
        }
        report.left(items.len());
        reading.abort();
        this.placer.sync().map_err(|error| Stop::new(Exit::Failed, format!("cannot sync a folder: {error}")))
    }

    fn placed(&self) -> MutexGuard<'_, HashMap<JobId, PathBuf>> {
        self.placed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether files wait for a gateway that is down.
    async fn gateway_is_held(&self) -> bool {
        let Ok(breakers) = self.engine.store().breakers().await else { return false };
        breakers.iter().any(|row| match row.breaker.phase {
            Phase::Open { .. } | Phase::HalfOpen { .. } => true,
            Phase::Closed | Phase::Ramp { .. } => false,
        })
    }

    async fn file(&self, item: &Item) -> Outcome {
        match self.convert(item).await {
            Ok(outcome) => outcome,
            Err(trouble) => Outcome::Failed(trouble),
        }
    }

    async fn convert(&self, item: &Item) -> Result<Outcome, Trouble> {
        for _ in 0..TRIES {
            let id = self.engine.new_id();
            let source = source_key(id).map_err(|error| inner(&error))?;
            let pdf = self.take_in(&source, &item.input).await?;
            let row = self.ended(id, &pdf).await;
            self.state.tidy(Some(&source), None).await;
            let Some(row) = row? else { return Ok(Outcome::Interrupted) };
            if row.state != Stored::Complete {
                let code = row.failure_code.unwrap_or(Code::Unknown);
                return Err(Trouble::new(code, row.failure_message.as_deref()));
            }
            if let Some(outcome) = self.place(&row, &item.output).await? {
                return Ok(outcome);
            }
            // Its result is neither here nor there: it is made again.
            self.engine.store().expire(vec![row.id]).await.map_err(|error| inner(&error))?;
        }
        Err(Trouble::disk("The result was damaged twice on its way."))
    }

    /// A copy that cannot change while it is converted, and its hash.
    async fn take_in(&self, key: &Key, input: &Path) -> Result<Pdf, Trouble> {
        let cannot = |error: std::io::Error| Trouble::disk(&format!("The file cannot be read: {error}."));
        let mut upload = self.state.sources.begin(self.job.max_bytes).await?;
        let (path, mut open) = (input.to_owned(), None);
        loop {
            let path = path.clone();
            let read = spawn_blocking(move || {
                let mut file: File = open.map_or_else(|| File::open(path), Ok)?;
                let mut piece = Vec::new();
                file.by_ref().take(PIECE).read_to_end(&mut piece)?;
                std::io::Result::Ok((file, piece))
            });
            let (file, piece) = read.await.map_err(|e| inner(&e))?.map_err(cannot)?;
            open = Some(file);
            if upload.bytes() == 0 && !is_pdf(&piece) {
                let mut trouble = Trouble::new(Code::NotPdf, None);
                trouble.what_we_do = "The file is left alone.".to_owned();
                trouble.what_you_can_do = "Check that the file opens in a PDF viewer.".to_owned();
                return Err(trouble);
            }
            // Shorter than asked for: that was the end.
            let last = (piece.len() as u64) < PIECE;
            upload.write(Bytes::from(piece)).await?;
            if last {
                break;
            }
        }
        let mut sealed = upload.seal().await?;
        sealed.finish(key).await?;
        Ok(Pdf {
            source: key.as_str().to_owned(),
            sha256: sealed.sha256().to_string(),
            bytes: sealed.bytes(),
            filename: input.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            mapping: self.mapping.clone(),
        })
    }

    /// Hands it in and waits for its end, or for that of its twin. Nothing when we were told to stop before.
    async fn ended(&self, id: JobId, pdf: &Pdf) -> Result<Option<JobRow>, Trouble> {
        let mut told = self.endings.of(id);
        let handed = self.engine.enqueue_with(pdf, Enqueue::default().id(id)).await.map_err(|e| inner(&e))?;
        let job = handed.job();
        if let Enqueued::Duplicate(_) = handed {
            told = self.endings.of(job);
            let row = self.engine.job(job).await.map_err(|e| inner(&e))?;
            if let Some(row) = row.filter(|row| row.state.is_terminal()) {
                return Ok(Some(row));
            }
        }
        let _ = told.await;
        Ok(self.engine.job(job).await.map_err(|e| inner(&e))?.filter(|row| row.state.is_terminal()))
    }

    /// Gives the result its name. Nothing when it is not there any more.
    async fn place(&self, row: &JobRow, output: &Path) -> Result<Option<Outcome>, Trouble> {
        let made = row.result.as_deref().and_then(Made::parse);
        let whole = made.and_then(|made| Some((made.key()?, made.hash()?, made)));
        let Some((key, hash, made)) = whole else { return Ok(None) };
        let (results, from) = (self.state.results.clone(), key.clone());
        let (to, placer) = (output.to_owned(), self.placer.clone());
        let twin = self.placed().get(&row.id).cloned();
        let placed = spawn_blocking(move || match (results.open_now(&from), twin.map(File::open)) {
            (Ok(bytes), _) => placer.place(bytes, &hash, &to).map(Some),
            (Err(_), Some(Ok(file))) => placer.place(file, &hash, &to).map(Some),
            (Err(_), Some(Err(_)) | None) => {
                Placer::has(&to, &hash).map(|there| there.then_some(Placed::Already))
            }
        });
        let placed = placed.await.map_err(|error| inner(&error))?;
        let placed =
            placed.map_err(|e| Trouble::disk(&format!("{} cannot be written: {e}.", output.display())))?;
        let already = match placed {
            None | Some(Placed::Damaged) => return Ok(None),
            Some(Placed::Taken) => return Err(Trouble::taken(output)),
            Some(Placed::New) => false,
            Some(Placed::Already) => true,
        };
        self.placed().insert(row.id, output.to_owned());
        self.state.tidy(None, Some(&key)).await;
        let Made { sha256, bytes, pages, warnings, .. } = made;
        Ok(Some(Outcome::Written(Written { already, bytes, sha256, pages, warnings })))
    }
}

fn told_of(report: &mut Report, done: Result<(Item, Outcome), tokio::task::JoinError>) {
    match done {
        Ok((item, outcome)) => report.tell(&item, outcome),
        Err(error) => report.broke(&error.to_string()),
    }
}

fn is_pdf(piece: &[u8]) -> bool {
    let head = piece.get(..HEAD.min(piece.len())).unwrap_or_default();
    head.windows(5).any(|window| window == b"%PDF-")
}

fn inner(error: &dyn std::fmt::Display) -> Trouble {
    Trouble::disk(&format!("Something went wrong on our side: {error}."))
}
