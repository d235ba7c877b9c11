//! A batch of downloads that whoever asks may see, and what may be done with it.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use redrive_api::{FetchBatch, FetchProxy, FetchResources, FetchSnapshot};
use redrive_engine::Engine;
use redrive_engine::store::{BatchFailures, BatchRow, JobFilter, JobRow, PageRequest};
use redrive_fetch::{
    AcceptError, Accepted, Format, Handing, Manifests, Missing, Pools, ProxyState, Received, summary,
};
use redrive_model::limits::MAX_PAGE;
use redrive_model::{BatchId, BatchState, Code, Shown};

use super::Desk;
use crate::app::App;
use crate::fetch::FetchParts;
use crate::refusal::Refusal;
use crate::session::{Session, Visit};

/// A batch that the session that asks may see. It reads like its row.
#[derive(Clone)]
pub(crate) struct OwnedBatch {
    engine: Engine,
    manifests: Manifests,
    pools: Arc<Pools>,
    session: Session,
    row: BatchRow,
}

impl Deref for OwnedBatch {
    type Target = BatchRow;

    fn deref(&self) -> &BatchRow {
        &self.row
    }
}

/// One page of a session's batches.
pub(crate) struct BatchPage {
    pub(crate) batches: Vec<FetchBatch>,
    pub(crate) next: Option<String>,
}

impl Desk {
    /// Who takes manifests in, where this server does.
    pub(crate) fn manifests(&self) -> Result<&Manifests, Refusal> {
        self.fetching().map(|fetch| &fetch.manifests)
    }

    fn fetching(&self) -> Result<&FetchParts, Refusal> {
        let none =
            || Refusal::new(Code::NotFound, "This server does not fetch: it has no place for objects.");
        self.fetch.as_ref().ok_or_else(none)
    }

    /// A batch that this session may see; the same refusal for one of somebody else and for none.
    pub(crate) async fn batch(&self, session: &Session, id: BatchId) -> Result<OwnedBatch, Refusal> {
        let FetchParts { manifests, pools, .. } = self.fetching()?.clone();
        let row = manifests.batch(id).await?;
        match row.filter(|row| session.may_see(row.owner.as_ref())) {
            Some(row) => {
                let (engine, session) = (self.engine.clone(), session.clone());
                Ok(OwnedBatch { engine, manifests, pools, session, row })
            }
            None => Err(session.missing()),
        }
    }

    /// A page of the batches that this session may see: its own, for operators all.
    pub(crate) async fn batches(&self, session: &Session, page: PageRequest) -> Result<BatchPage, Refusal> {
        let owner = (!session.is_operator()).then(|| session.owner().clone());
        let page = self.manifests()?.batches(owner, page).await?;
        let batches = page.rows.iter().map(|row| told(session, summary(row))).collect();
        Ok(BatchPage { batches, next: page.next })
    }

    /// How many of this session's batches have not ended.
    pub(crate) async fn live_batches(&self, session: &Session) -> Result<usize, Refusal> {
        Ok(self.own_live(session).await?.len())
    }

    /// How many resources were accepted and are no jobs yet; nobody counts on when there are enough.
    pub(crate) async fn still_packed(&self, enough: u64) -> Result<u64, Refusal> {
        Ok(self.manifests()?.still_packed(enough).await?)
    }

    /// Stops every batch of this session that has not ended.
    pub(crate) async fn cancel_batches(&self, session: &Session) -> Result<(), Refusal> {
        let Ok(manifests) = self.manifests() else { return Ok(()) };
        for id in self.own_live(session).await? {
            // It may have ended meanwhile, which is as good.
            let _ = manifests.cancel(id, &session.by()).await;
        }
        Ok(())
    }

    /// Puts away the open dead letters of this session's batches.
    pub(crate) async fn put_away_batches(&self, session: &Session) -> Result<(), Refusal> {
        let Ok(manifests) = self.manifests() else { return Ok(()) };
        let mut batches = None;
        loop {
            let page = PageRequest { limit: MAX_PAGE, cursor: batches };
            let page = manifests.batches(Some(session.owner().clone()), page).await?;
            for batch in page.rows.iter().filter(|row| row.counters.failed > 0) {
                let failed =
                    JobFilter { batch: Some(batch.id), shown: vec![Shown::Failed], ..JobFilter::default() };
                let mut members = None;
                loop {
                    let page = PageRequest { limit: MAX_PAGE, cursor: members };
                    let page = self.engine.store().jobs(failed.clone(), page).await?;
                    self.put_away(session, page.rows.iter().map(|row| row.id).collect()).await?;
                    members = page.next;
                    if members.is_none() {
                        break;
                    }
                }
            }
            batches = page.next;
            if batches.is_none() {
                return Ok(());
            }
        }
    }

    async fn own_live(&self, session: &Session) -> Result<Vec<BatchId>, Refusal> {
        Ok(self.manifests()?.live_batches(session.owner()).await?)
    }

    /// Hands in a manifest that was read, for this session.
    pub(crate) async fn hand_in_manifest(
        &self,
        session: &Session,
        received: Received,
        idempotency_key: Option<String>,
    ) -> Result<Accepted, AcceptError<axum::Error>> {
        let Ok(manifests) = self.manifests() else { return Err(AcceptError::Mismatch) };
        let how = Handing { owner: Some(session.owner().clone()), idempotency_key, batch: None };
        manifests.commit(received, how).await
    }
}

impl OwnedBatch {
    /// How it is.
    pub(crate) async fn snapshot(&self) -> Result<FetchSnapshot, Refusal> {
        let snapshot = self.manifests.snapshot(&self.row).await?;
        let pool = snapshot.proxy_pool.as_deref().filter(|_| snapshot.finished_at.is_none());
        let states = pool.map(|pool| self.pools.states(pool)).unwrap_or_default();
        let proxies = states.into_iter().map(|(name, state)| proxy(name, state)).collect();
        Ok(FetchSnapshot { batch: told(&self.session, snapshot.batch), proxies, ..snapshot })
    }

    /// One page of its resources.
    pub(crate) async fn resources(
        &self,
        wanted: JobFilter,
        page: PageRequest,
    ) -> Result<FetchResources, Refusal> {
        Ok(self.manifests.resources(self.row.id, wanted, page).await?)
    }

    /// Some of its members that have not ended: those that run, and a page of those that wait; and whether there are more.
    pub(crate) async fn under_way(&self) -> Result<(Vec<JobRow>, bool), Refusal> {
        let waiting = vec![Shown::Held, Shown::WaitingRetry, Shown::Queued, Shown::Scheduled];
        let (mut rows, mut more) = (Vec::new(), false);
        for shown in [vec![Shown::Processing], waiting] {
            let wanted = JobFilter { batch: Some(self.row.id), shown, ..JobFilter::default() };
            let page = self.engine.store().jobs(wanted, PageRequest { limit: 200, cursor: None }).await?;
            rows.extend(page.rows);
            more |= page.next.is_some();
        }
        Ok((rows, more))
    }

    /// What failed in it, by minute and code.
    pub(crate) async fn failures(&self) -> Result<Vec<BatchFailures>, Refusal> {
        Ok(self.engine.batch_failures(self.row.id).await?)
    }

    /// Asks for everything that failed of it to be tried again.
    pub(crate) async fn start_again(&self) -> Result<(), Refusal> {
        Ok(self.manifests.again(self.row.id, &self.session.by()).await?)
    }

    /// What of it is not stored, with the real URLs and headers.
    pub(crate) async fn missing(&self, format: Option<Format>) -> Missing {
        self.manifests.missing(&self.row, format).await
    }

    /// As it is now.
    pub(crate) async fn again(&self) -> Result<Self, Refusal> {
        match self.manifests.batch(self.row.id).await? {
            Some(row) => Ok(Self { row, ..self.clone() }),
            None => Err(self.session.missing()),
        }
    }

    /// Asks for it to be stopped.
    pub(crate) async fn cancel(&self) -> Result<(), Refusal> {
        if self.row.state != BatchState::Processing {
            let text = format!("A batch that is {} does not take that.", self.row.state.as_str());
            return Err(Refusal::new(Code::ConflictState, text));
        }
        Ok(self.manifests.cancel(self.row.id, &self.session.by()).await?)
    }
}

/// The batch that the path names, for the session that asks. No session, no batch, somebody else's batch: all alike.
impl FromRequestParts<App> for OwnedBatch {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let visit = Visit::from_request_parts(parts, app).await?;
        let Some(session) = visit.known(app).await? else { return Err(Refusal::forbidden()) };
        let id = Path::<String>::from_request_parts(parts, app).await.ok();
        let id = id.and_then(|Path(text)| text.parse::<BatchId>().ok());
        match id {
            Some(id) => app.desk().batch(&session, id).await,
            None => Err(session.missing()),
        }
    }
}

/// A batch as this session may know it: whose it is, operators alone are told.
fn told(session: &Session, batch: FetchBatch) -> FetchBatch {
    FetchBatch { owner: batch.owner.filter(|_| session.is_operator()), ..batch }
}

/// How a proxy is, in the wire's words.
fn proxy(name: &str, state: ProxyState) -> FetchProxy {
    let (state, wait) = match state {
        ProxyState::Working => ("working", None),
        ProxyState::LeftAlone(wait) => ("left_alone", Some(wait)),
        ProxyState::Tried => ("tried", None),
    };
    let wait_ms = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    FetchProxy { proxy: name.to_owned(), state: state.to_owned(), wait_ms }
}
