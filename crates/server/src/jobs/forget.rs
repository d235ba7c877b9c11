//! `DELETE /api/session`: what a session has left here goes.
//!
//! Jobs and batches that have not ended are stopped, PDFs and results are removed, dead letters are put away, and the session ends, with the
//! sign-in of the same browser and whatever both listen to. What was fetched stays where it was asked to go. Rows and manifests stay until
//! retention takes them: nobody but an operator can see them any more.

use axum::extract::State;
use axum::http::StatusCode;
use redrive_blob::{Blobs, Key};
use redrive_model::State as JobState;
use redrive_model::limits::MAX_PAGE;
use redrive_store::{JobFilter, PageRequest, SessionKey};

use crate::app::App;
use crate::deadline::to_its_end;
use crate::own::Owned;
use crate::refusal::Refusal;
use crate::session::{Ended, Session, Visit};

/// Removes what the session has left here, ends it, and signs out. Jobs and downloads that have not ended are stopped; PDFs and XML are
/// removed. What was fetched stays. The rows of jobs stay until their time is over, and nobody but an operator sees them. Who has no
/// session has left nothing.
#[utoipa::path(delete, path = "/api/session", tag = "session",
    responses((status = 204, description = "Files are removed, jobs are stopped, the cookies are gone")))]
pub(crate) async fn forget_me(State(app): State<App>, visit: Visit) -> Result<StatusCode, Refusal> {
    forgotten(&app, visit).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The same for whoever asks in another way. It can be done again: only when all is gone the session ends.
pub(crate) async fn forgotten(app: &App, visit: Visit) -> Result<(), Refusal> {
    let (app, session) = (app.clone(), visit.known(app).await?);
    to_its_end(async move {
        if let Some(session) = session {
            remove_all(&app, &session).await?;
            end(&app, session.key()).await?;
        }
        if visit.has_signed_in()
            && let Some(key) = visit.sign_out()
        {
            end(&app, key).await?;
        }
        visit.end();
        Ok(())
    })
    .await
}

async fn end(app: &App, key: SessionKey) -> Result<(), Refusal> {
    app.desk().end_key(key).await?;
    app.feed().let_go(Ended::Session(key)).await;
    Ok(())
}

async fn remove_all(app: &App, session: &Session) -> Result<(), Refusal> {
    app.desk().cancel_batches(session).await?;
    let mut cursor = None;
    loop {
        let page = PageRequest { limit: MAX_PAGE, cursor };
        let page = app.desk().list_own(session, JobFilter::default(), page).await?;
        let failed = page.jobs.iter().filter(|job| job.state == JobState::Failed).map(|job| job.id).collect();
        app.desk().put_away(session, failed).await?;
        for job in page.jobs {
            forget(app, job).await?;
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    app.desk().put_away_batches(session).await
}

async fn forget(app: &App, mut job: Owned) -> Result<(), Refusal> {
    if !job.state.is_terminal() {
        // It may have ended meanwhile: then it has left what such a job leaves.
        let _ = job.cancel().await;
        job = job.again().await?;
    }
    if let Some(key) = job.made().and_then(|made| made.key()) {
        // The row says so first: whoever asks in between hears EXPIRED.
        job.expire().await?;
        remove(&**app.results(), &key).await?;
    }
    let source = job.pdf().await?.and_then(|pdf| pdf.source().ok());
    match source {
        Some(key) => remove(&**app.sources(), &key).await,
        None => Ok(()),
    }
}

async fn remove(place: &dyn Blobs, key: &Key) -> Result<(), Refusal> {
    place.delete(key).await?;
    Ok(())
}
