//! `redrive jobs watch`: events as they happen, each once, also when the server is started again meanwhile.

use std::time::Duration;

use redrive_api::Event;
use redrive_api::client::{Client, ClientError};
use tokio::time::Instant;

use super::asking::Find;
use super::jobs::row;
use crate::absence::Absence;
use crate::exit::{Exit, Stop};
use crate::say;

/// Between two tries to hear a server again.
const COME_BACK: Duration = Duration::from_secs(1);

/// Prints events as they happen; with ids until those jobs have ended.
pub(super) async fn watch(find: Find<'_>, ids: &[String], json: bool) -> Result<(), Stop> {
    let mut watched = Watched::new(ids, json);
    loop {
        match watched.listen(find).await {
            Ok(Heard::All) => return watched.end(),
            Ok(Heard::Part) => {}
            // Who was never there is not waited for.
            Err(stop) if !watched.heard => return Err(stop),
            Err(stop) => {
                let why = stop.message().to_owned();
                if watched.absence.bear(stop, Instant::now())? {
                    say::note(&format!("{why}; waiting for it"));
                }
            }
        }
        tokio::time::sleep(COME_BACK).await;
    }
}

/// How far the stream went.
enum Heard {
    /// All have ended.
    All,
    /// It broke off.
    Part,
}

/// The jobs that are waited for, and up to where events were told.
struct Watched<'a> {
    /// None: all events are told, without end.
    all: Vec<&'a str>,
    waiting: Vec<&'a str>,
    failed: usize,
    after: Option<i64>,
    heard: bool,
    absence: Absence,
    json: bool,
}

impl<'a> Watched<'a> {
    fn new(ids: &'a [String], json: bool) -> Self {
        let mut all: Vec<&str> = Vec::new();
        for id in ids {
            if !all.contains(&id.as_str()) {
                all.push(id);
            }
        }
        let (waiting, absence) = (all.clone(), Absence::default());
        Self { all, waiting, failed: 0, after: None, heard: false, absence, json }
    }

    /// Tells what comes until all have ended.
    async fn listen(&mut self, find: Find<'_>) -> Result<Heard, Stop> {
        // One that was started again may have another address, and has another token for its neighbours.
        let client = find()?;
        let mut events = client.events(self.after).await?;
        self.heard = true;
        self.look(&client).await?;
        if self.absence.over() {
            say::note("the server answers again");
        }
        let mut resets = 0;
        while self.all.is_empty() || !self.waiting.is_empty() {
            let event = events.next().await;
            self.after = events.position().or(self.after);
            if events.resets() > resets {
                resets = events.resets();
                say::note("more happened meanwhile than can be told; redrive jobs list shows how it is");
            }
            match event {
                Ok(Some(event)) => self.tell(&event)?,
                Ok(None) | Err(ClientError::Unreachable(_)) => return Ok(Heard::Part),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Heard::All)
    }

    /// What ended before we listened tells nothing more.
    async fn look(&mut self, client: &Client) -> Result<(), Stop> {
        for id in self.waiting.clone() {
            let job = client.job(id).await.map_err(|error| Stop::from(error).about(id))?;
            if job.finished_at.is_some() {
                row(&job, self.json)?;
                self.ended(id, job.status == "complete");
            }
        }
        Ok(())
    }

    fn tell(&mut self, event: &Event) -> Result<(), Stop> {
        let job = event.job_id.as_deref().unwrap_or_default();
        // How one has ended was told before.
        if !self.all.is_empty() && !self.waiting.contains(&job) {
            return Ok(());
        }
        line(event, self.json)?;
        if matches!(event.r#type.as_str(), "complete" | "failed" | "cancelled") {
            self.ended(job, event.r#type == "complete");
        }
        Ok(())
    }

    fn ended(&mut self, job: &str, complete: bool) {
        let waited = self.waiting.len();
        self.waiting.retain(|id| *id != job);
        self.failed += usize::from(!complete && self.waiting.len() < waited);
    }

    fn end(&self) -> Result<(), Stop> {
        if self.failed == 0 {
            return Ok(());
        }
        let text = format!("{} of {} did not complete", self.failed, self.all.len());
        Err(Stop::new(Exit::SomeFailed, text))
    }
}

fn line(event: &Event, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(event);
    }
    let job = event.job_id.as_deref().unwrap_or("-");
    let code = event.error_code.as_deref().unwrap_or("");
    let text = format!("{}  {job}  {:<10} attempt {} {code}", event.at, event.r#type, event.attempt);
    say::line(text.trim_end())
}
