//! Conversions by a server that runs: files are handed in over its API, its events tell when they end, results are fetched.
//!
//! The same file again is the same job there, so the same command goes on after it was killed.

use std::collections::HashMap;
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redrive_api::client::{Client, ClientError};
use redrive_api::{Job as ServerJob, JobError};
use redrive_blob::Sha256;
use redrive_model::Code;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::{JoinSet, spawn_blocking};

use super::outcome::{Outcome, Trouble, Written};
use super::place::{Placed, Placer};
use super::plan::Item;
use super::report::Report;
use super::{Job, WINDOW};
use crate::exit::{Exit, Stop};

/// A job is looked at so often even when no event came.
const LOOK: Duration = Duration::from_secs(5);
/// Before the event stream is asked for again.
const COME_BACK: Duration = Duration::from_secs(1);

/// What all files share.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    client: Client,
    job: Job,
    placer: Arc<Placer>,
    ended: Arc<Mutex<HashMap<String, Arc<Notify>>>>,
}

impl Remote {
    /// Through this server.
    pub(crate) fn new(client: Client, job: Job) -> Self {
        let placer = Arc::new(Placer::new(job.force, "remote"));
        Self { client, job, placer, ended: Arc::default() }
    }

    /// Converts everything, or as much as there is time for until it is told to stop.
    pub(crate) async fn run(
        self,
        items: Vec<Item>,
        report: &mut Report,
        stopped: watch::Receiver<bool>,
    ) -> Result<(), Stop> {
        let listening = tokio::spawn(self.clone().listen());
        let window = Arc::new(Semaphore::new(WINDOW / 4));
        let mut tasks = JoinSet::new();
        for item in items {
            let (this, window, mut stopped) = (self.clone(), window.clone(), stopped.clone());
            tasks.spawn(async move {
                let outcome = async {
                    let Ok(_place) = window.acquire().await else { return Outcome::Interrupted };
                    this.convert(&item).await.unwrap_or_else(Outcome::Failed)
                };
                let outcome = tokio::select! {
                    biased;
                    _ = stopped.wait_for(|stop| *stop) => Outcome::Interrupted,
                    outcome = outcome => outcome,
                };
                (item, outcome)
            });
        }
        while let Some(done) = tasks.join_next().await {
            match done {
                Ok((item, outcome)) => report.tell(&item, outcome),
                Err(error) => report.broke(&error.to_string()),
            }
        }
        if *stopped.borrow() {
            report.say("redrive: the server goes on with what was handed in");
        }
        listening.abort();
        self.placer.sync().map_err(|error| Stop::new(Exit::Failed, format!("cannot sync a folder: {error}")))
    }

    async fn convert(&self, item: &Item) -> Result<Outcome, Trouble> {
        let mapping = self.job.mapping.as_deref();
        let handed = patiently(|| self.client.upload(&item.input, mapping)).await?;
        let job = self.until_it_ends(handed.job).await?;
        match (job.status.as_str(), &job.error) {
            ("complete", _) => self.fetch(&job.id, &item.output).await,
            (_, Some(JobError { code, message })) => Err(Trouble::named(code, message)),
            (status, None) => Err(Trouble::new(Code::Unknown, Some(&format!("The job is {status}.")))),
        }
    }

    async fn until_it_ends(&self, mut job: ServerJob) -> Result<ServerJob, Trouble> {
        while job.finished_at.is_none() {
            let ended = {
                let mut waiting = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.entry(job.id.clone()).or_default().clone()
            };
            // Looked at after asking to be told: an end in between is seen by one of them.
            let told = ended.notified();
            job = patiently(|| self.client.job(&job.id)).await?;
            if job.finished_at.is_none() {
                let _ = tokio::time::timeout(LOOK, told).await;
            }
        }
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).remove(&job.id);
        Ok(job)
    }

    async fn fetch(&self, id: &str, output: &Path) -> Result<Outcome, Trouble> {
        let mut download = patiently(|| self.client.download(id)).await?;
        let hash = download.etag().and_then(|tag| Sha256::parse(&tag));
        let hash =
            hash.ok_or_else(|| Trouble::new(Code::GwBadResponse, Some("The server named no hash.")))?;
        let mut temp = tempfile::tempfile().map_err(|error| disk(&error))?;
        let mut bytes = 0;
        while let Some(chunk) = download.chunk().await.map_err(|error| trouble(&error))? {
            bytes += chunk.len() as u64;
            temp.write_all(&chunk).map_err(|error| disk(&error))?;
        }
        temp.rewind().map_err(|error| disk(&error))?;
        let (placer, to) = (self.placer.clone(), output.to_owned());
        let placed = spawn_blocking(move || placer.place(temp, &hash, &to)).await;
        let placed = placed.map_err(|e| Trouble::disk(&e.to_string()))?.map_err(|error| disk(&error))?;
        let already = match placed {
            Placed::New => false,
            Placed::Already => true,
            Placed::Taken => return Err(Trouble::taken(output)),
            Placed::Damaged => return Err(Trouble::disk("The result was damaged on its way.")),
        };
        let sha256 = hash.to_string();
        Ok(Outcome::Written(Written { already, bytes, sha256, pages: None, warnings: Vec::new() }))
    }

    /// Tells those who wait, as long as the server tells us.
    async fn listen(self) {
        let mut after = None;
        loop {
            if let Ok(mut events) = self.client.events(after).await {
                while let Ok(Some(event)) = events.next().await {
                    after = Some(event.sequence);
                    let ended = matches!(event.r#type.as_str(), "complete" | "failed" | "cancelled");
                    let job = event.job_id.filter(|_| ended).unwrap_or_default();
                    if let Some(wait) = self.ended.lock().unwrap_or_else(PoisonError::into_inner).get(&job) {
                        wait.notify_waiters();
                    }
                }
            }
            tokio::time::sleep(COME_BACK).await;
        }
    }
}

/// Asks again when the server says that it is too often or too much now.
async fn patiently<T, F>(ask: impl Fn() -> F) -> Result<T, Trouble>
where
    F: Future<Output = Result<T, ClientError>>,
{
    loop {
        match ask().await {
            Ok(answer) => return Ok(answer),
            Err(error) => match error.again_after() {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(trouble(&error)),
            },
        }
    }
}

fn trouble(error: &ClientError) -> Trouble {
    match error {
        ClientError::Refused(problem) => Trouble::named(&problem.code, &problem.detail),
        ClientError::File(error) => Trouble::disk(&format!("The file cannot be read: {error}.")),
        error => Trouble {
            what_we_do: "The server goes on with what it has.".to_owned(),
            what_you_can_do: "Run the same command again when the server answers.".to_owned(),
            ..Trouble::new(Code::SystemUnavailable, Some(&error.to_string()))
        },
    }
}

fn disk(error: &std::io::Error) -> Trouble {
    Trouble::disk(&format!("The result cannot be written: {error}."))
}
