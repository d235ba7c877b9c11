//! A job that whoever asks may see, and what may be done with it.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use redrive_blob::Blobs;
use redrive_convert::Pdf;
use redrive_engine::{EngineError, Explanation, Input};
use redrive_fetch::Resource;
use redrive_model::{Code, JobId};
use redrive_store::{Acted, AttemptRow, Event, JobRow, LastFailure, Payload};

use super::Desk;
use crate::app::App;
use crate::refusal::Refusal;
use crate::session::{Session, Visit};
use crate::view::attempts_know;

/// A job that the session that asks may see. It reads like its row.
#[derive(Clone)]
pub(crate) struct Owned {
    desk: Desk,
    session: Session,
    row: JobRow,
}

impl Deref for Owned {
    type Target = JobRow;

    fn deref(&self) -> &JobRow {
        &self.row
    }
}

impl Owned {
    /// Only the module above may say that a row is somebody's.
    pub(super) const fn new(desk: Desk, session: Session, row: JobRow) -> Self {
        Self { desk, session, row }
    }

    /// What the job was asked to convert; `None` for another kind of job.
    pub(crate) async fn pdf(&self) -> Result<Option<Pdf>, Refusal> {
        Ok(self.read(self.desk.engine.store().payload(self.row.id).await?))
    }

    /// Whether it is a conversion.
    pub(super) fn converts(&self) -> bool {
        self.row.workload.as_str() == Pdf::WORKLOAD
    }

    pub(super) fn read(&self, payload: Option<Payload>) -> Option<Pdf> {
        serde_json::from_slice(&payload.filter(|_| self.converts())?.input).ok()
    }

    /// What it fetched, if it is a download that is complete.
    pub(crate) fn fetched(&self) -> Option<redrive_fetch::Made> {
        let result =
            self.row.result.as_deref().filter(|_| self.row.workload.as_str() == Resource::WORKLOAD)?;
        redrive_fetch::Made::parse(result)
    }

    /// What it made, if it is a conversion that is complete.
    pub(crate) fn made(&self) -> Option<redrive_convert::Made> {
        let result = self.row.result.as_deref().filter(|_| self.converts())?;
        redrive_convert::Made::parse(result)
    }

    /// Where what it fetched lies, as far as this server knows that place.
    pub(crate) fn place(&self, made: &redrive_fetch::Made) -> Option<Arc<dyn Blobs>> {
        let places = &self.desk.fetch.as_ref()?.places;
        let place = match &made.place {
            None => Some(&places.usual),
            Some(name) => places.listed.get(name),
        };
        place.map(|place| place.blobs.clone())
    }

    /// Its executions, oldest first.
    pub(crate) async fn attempts(&self) -> Result<Vec<AttemptRow>, Refusal> {
        Ok(self.desk.engine.attempts(self.row.id).await?)
    }

    /// The newest failure that only its attempts know.
    pub(crate) async fn last_failure(&self) -> Result<Option<LastFailure>, Refusal> {
        if !attempts_know(&self.row) {
            return Ok(None);
        }
        Ok(self.desk.engine.store().last_failures(vec![self.row.id]).await?.pop().flatten())
    }

    /// Its transitions, oldest first.
    pub(crate) async fn events(&self) -> Result<Vec<Event>, Refusal> {
        Ok(self.desk.engine.store().job_events(self.row.id).await?)
    }

    /// Why it is where it is.
    pub(crate) async fn explain(&self) -> Result<Explanation, Refusal> {
        self.desk.engine.explain(self.row.id).await?.ok_or_else(|| self.session.missing())
    }

    /// As it is now.
    pub(crate) async fn again(&self) -> Result<Self, Refusal> {
        match self.desk.engine.job(self.row.id).await? {
            Some(row) if self.desk.may_see(&self.session, &row).await? => Ok(Self { row, ..self.clone() }),
            Some(_) | None => Err(self.session.missing()),
        }
    }

    /// Starts it again as a new generation.
    pub(crate) async fn retry(&self) -> Result<(), Refusal> {
        let id = self.row.id;
        let acted = match self.desk.engine.retry(vec![id], &self.session.by()).await {
            Ok(acted) => acted,
            Err(EngineError::Refused { code, .. }) if code.public() == Code::Expired => {
                return Err(self.gone());
            }
            Err(EngineError::Refused { code: Code::SystemUndecodable, .. }) => return Err(self.wrong_state()),
            Err(error) => return Err(error.into()),
        };
        self.outcome(acted.first())
    }

    /// Notes that its result is gone; the same upload may come again.
    pub(crate) async fn expire(&self) -> Result<(), Refusal> {
        self.desk.engine.store().expire(vec![self.row.id]).await?;
        Ok(())
    }

    /// Whether it is shown to an operator, who sees whose it is and what went wrong inside.
    pub(crate) fn for_operator(&self) -> bool {
        self.session.is_operator()
    }

    /// The most executions that its kind of job has, unless its own row says otherwise.
    pub(crate) fn policy_cap(&self) -> Option<u32> {
        self.desk.engine.policy_cap(&self.row.workload)
    }

    /// Stops it.
    pub(crate) async fn cancel(&self) -> Result<(), Refusal> {
        let acted = self.desk.engine.cancel(vec![self.row.id], &self.session.by()).await?;
        self.outcome(acted.first())
    }

    fn outcome(&self, acted: Option<&Acted>) -> Result<(), Refusal> {
        let id = self.row.id;
        match acted {
            Some(Acted::Done) => Ok(()),
            Some(Acted::NotFound) | None => Err(self.session.missing()),
            Some(Acted::SourceGone) => Err(self.gone()),
            Some(Acted::WrongState(_)) => Err(self.wrong_state()),
            // The twin has the same owner: its id is no secret.
            Some(Acted::Duplicate(twin)) => {
                let text = format!("Job {twin} does the same already; {id} is not needed.");
                Err(Refusal::new(Code::ConflictDuplicate, text).job(*twin))
            }
        }
    }

    pub(crate) fn wrong_state(&self) -> Refusal {
        let text = format!("A job that is {} does not take that.", self.row.shown);
        Refusal::new(Code::ConflictState, text).job(self.row.id)
    }

    pub(crate) fn gone(&self) -> Refusal {
        Refusal::new(Code::Expired, "The file was removed. Upload it again.").job(self.row.id)
    }
}

/// The job that the path names, for the session that asks. No session, no job, somebody else's job: all alike.
impl FromRequestParts<App> for Owned {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let visit = Visit::from_request_parts(parts, app).await?;
        let Some(session) = visit.known(app).await? else { return Err(Refusal::forbidden()) };
        let id = Path::<String>::from_request_parts(parts, app).await.ok();
        let id = id.and_then(|Path(text)| text.parse::<JobId>().ok());
        match id {
            Some(id) => app.desk().owned(&session, id).await,
            None => Err(session.missing()),
        }
    }
}
