//! `DELETE /api/session`: what a session has left here goes.
//!
//! Jobs and batches that have not ended are stopped, PDFs and results are removed, and the session ends. What was fetched stays where
//! it was asked to go. Rows stay until retention takes
//! them: nobody but an operator can see them any more.

use axum::extract::State;
use axum::http::StatusCode;
use redrive_blob::{Blobs, Key};
use redrive_store::{JobFilter, PageRequest};

use crate::app::App;
use crate::deadline::to_its_end;
use crate::own::Owned;
use crate::refusal::Refusal;
use crate::session::{Session, Visit};

/// Removes what the session has left here, and ends it.
#[utoipa::path(delete, path = "/api/session", tag = "session",
    responses((status = 204, description = "Files are removed, jobs are stopped, the cookie is gone")))]
pub(crate) async fn forget_me(
    State(app): State<App>,
    visit: Visit,
    session: Session,
) -> Result<StatusCode, Refusal> {
    to_its_end(async move {
        let mut cursor = None;
        loop {
            let page = PageRequest { limit: 200, cursor };
            let page = app.desk().list_own(&session, JobFilter::default(), page).await?;
            for job in &page.jobs {
                forget(&app, job).await?;
            }
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        app.desk().cancel_batches(&session).await?;
        app.desk().end_session(&session).await?;
        visit.end();
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

async fn forget(app: &App, job: &Owned) -> Result<(), Refusal> {
    if !job.state.is_terminal() {
        // It may have ended meanwhile, which is as good.
        let _ = job.cancel().await;
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
