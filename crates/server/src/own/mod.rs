//! The one way to jobs.
//!
//! [`Desk`] alone holds the engine, and its field is private to this module: a handler gets a job only as [`Owned`], and an
//! [`Owned`] is made only after its owner was compared with the session's. "Not yours" and "not there" are the same refusal
//! after the same work.

mod owned;

use redrive_convert::Pdf;
use redrive_engine::{Engine, Enqueue, Failure};
use redrive_model::{EventSeq, JobId, Timestamp};
use redrive_store::{
    BreakerRow, Counts, EnqueueReply, Event, Idempotency, JobFilter, PageRequest, QueueStats, SessionKey,
    SessionLife, SessionRow, ShownCount,
};

pub(crate) use owned::Owned;

use crate::refusal::Refusal;
use crate::session::Session;

/// What handlers may ask of the engine.
#[derive(Clone)]
pub(crate) struct Desk {
    engine: Engine,
}

/// One page of a session's jobs.
pub(crate) struct OwnedPage {
    /// The jobs, newest first.
    pub(crate) jobs: Vec<Owned>,
    /// Where the next page starts.
    pub(crate) next: Option<String>,
}

impl Desk {
    pub(crate) const fn new(engine: Engine) -> Self {
        Self { engine }
    }

    // --- a session's own ---------------------------------------------------------------------------------------

    /// A job of this session; the same refusal for one of somebody else and for none.
    pub(crate) async fn owned(&self, session: &Session, id: JobId) -> Result<Owned, Refusal> {
        let row = self.engine.job(id).await?;
        match row.filter(|row| row.owner.as_ref() == Some(session.owner())) {
            Some(row) => Ok(Owned::new(self.engine.clone(), session.clone(), row)),
            None => Err(Refusal::forbidden()),
        }
    }

    /// A page of this session's jobs. Whatever the filter says about owners, it is this one.
    pub(crate) async fn list(
        &self,
        session: &Session,
        filter: JobFilter,
        page: PageRequest,
    ) -> Result<OwnedPage, Refusal> {
        let filter = JobFilter { owner: Some(session.owner().clone()), ..filter };
        let page = self.engine.store().jobs(filter, page).await?;
        let own = |row| Owned::new(self.engine.clone(), session.clone(), row);
        Ok(OwnedPage { jobs: page.rows.into_iter().map(own).collect(), next: page.next })
    }

    /// How many jobs this session has, by what people see.
    pub(crate) async fn counts(&self, session: &Session) -> Result<Vec<ShownCount>, Refusal> {
        Ok(self.engine.store().owner_counts(session.owner()).await?)
    }

    /// Hands in a conversion for this session.
    pub(crate) async fn hand_in(
        &self,
        session: &Session,
        id: JobId,
        pdf: &Pdf,
        idempotency: Option<Idempotency>,
    ) -> Result<EnqueueReply, Refusal> {
        let how = Enqueue::default().id(id).owner(session.owner().clone());
        let job = self.engine.new_job(pdf, how)?;
        let call = redrive_store::Enqueue { jobs: vec![job], idempotency, ..Default::default() };
        Ok(self.engine.hand_in(call).await?)
    }

    /// Leaves a failed job for an upload that was refused.
    pub(crate) async fn reject(
        &self,
        session: &Session,
        id: JobId,
        pdf: &Pdf,
        why: Failure,
    ) -> Result<JobId, Refusal> {
        let how = Enqueue::default().id(id).owner(session.owner().clone());
        Ok(self.engine.reject(pdf, how, why).await?)
    }

    // --- sessions themselves -----------------------------------------------------------------------------------

    pub(crate) async fn open_session(&self, key: SessionKey) -> Result<(), Refusal> {
        Ok(self.engine.store().open_session(key).await?)
    }

    pub(crate) async fn session(
        &self,
        key: SessionKey,
        life: SessionLife,
    ) -> Result<Option<SessionRow>, Refusal> {
        Ok(self.engine.store().session(key, life).await?)
    }

    pub(crate) async fn touch_session(&self, key: SessionKey) -> Result<bool, Refusal> {
        Ok(self.engine.store().touch_session(key).await?)
    }

    pub(crate) async fn end_session(&self, session: &Session) -> Result<bool, Refusal> {
        Ok(self.engine.store().end_session(session.key()).await?)
    }

    pub(crate) async fn forget_sessions(&self, life: SessionLife, limit: usize) -> Result<u64, Refusal> {
        Ok(self.engine.store().forget_sessions(life, limit).await?)
    }

    // --- what belongs to nobody --------------------------------------------------------------------------------

    /// A fresh id for a job.
    pub(crate) fn new_id(&self) -> JobId {
        self.engine.new_id()
    }

    pub(crate) async fn now(&self) -> Result<Timestamp, Refusal> {
        Ok(self.engine.store().now().await?)
    }

    pub(crate) async fn queue(&self) -> Result<QueueStats, Refusal> {
        Ok(self.engine.store().queue().await?)
    }

    pub(crate) async fn breakers(&self) -> Result<Vec<BreakerRow>, Refusal> {
        Ok(self.engine.store().breakers().await?)
    }

    pub(crate) async fn lanes(&self) -> Result<Counts, Refusal> {
        Ok(self.engine.store().counts().await?)
    }

    /// Events of everybody, for the one reader that hands each to its owner.
    pub(crate) async fn events_after(
        &self,
        after: EventSeq,
        limit: usize,
    ) -> redrive_store::Result<Vec<Event>> {
        self.engine.store().events_after(after, limit).await
    }

    pub(crate) async fn last_event(&self) -> redrive_store::Result<EventSeq> {
        self.engine.store().last_event().await
    }
}
