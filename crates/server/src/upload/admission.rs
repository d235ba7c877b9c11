//! Whether an upload may begin, asked before a byte of its body is read.

use std::time::Duration;

use redrive_model::{Code, Shown};

use super::slots::Slot;
use super::turns::Turn;
use crate::app::App;
use crate::pulse;
use crate::rates::too_often;
use crate::refusal::Refusal;
use crate::session::{Guest, Session};

/// Lets an upload of so many bytes begin, as far as the client says how many. The answer is its place.
pub(crate) async fn admit(app: &App, guest: &Guest, coming: u64) -> Result<Slot, Refusal> {
    if *app.stopping().borrow() {
        return Err(overloaded("The server is about to stop."));
    }
    let slot = app.slots().take(guest.owner());
    let slot = slot.ok_or_else(|| overloaded("Too many uploads at once."))?;
    // Quotas are for strangers.
    if !guest.is_operator() {
        if let Some(session) = guest.known() {
            within_quota(app, session).await?;
        }
        app.meters().bytes.take(guest.owner(), coming as f64).map_err(|wait| {
            let refusal = too_often(wait);
            tracing::info!(event = "upload.bytes_quota", owner = %guest.owner());
            refusal
        })?;
    }
    pulse::accepting(app, coming).await?;
    Ok(slot)
}

/// The same for a manifest: it has limits of its own, because one manifest is many jobs.
pub(crate) async fn admit_manifest(app: &App, guest: &Guest, coming: u64) -> Result<Slot, Refusal> {
    if *app.stopping().borrow() {
        return Err(overloaded("The server is about to stop."));
    }
    let slot = app.slots().take(guest.owner());
    let slot = slot.ok_or_else(|| overloaded("Too many uploads at once."))?;
    if !guest.is_operator() {
        if let Some(session) = guest.known() {
            within_batches(app, session).await?;
        }
        app.meters().bytes.take(guest.owner(), coming as f64).map_err(too_often)?;
    }
    pulse::fetching(app, coming).await?;
    Ok(slot)
}

/// The same once more, when a manifest is read and about to be handed in: others of the same session may have been faster. Until the
/// answer is dropped no other manifest of this session is handed in here.
pub(crate) async fn admit_received(app: &App, session: &Session) -> Result<Turn, Refusal> {
    let turn = app.turns().wait(session.owner()).await;
    if !session.is_operator() {
        within_batches(app, session).await?;
    }
    pulse::fetching(app, 0).await?;
    Ok(turn)
}

/// Whether this session may have one more batch.
async fn within_batches(app: &App, session: &Session) -> Result<(), Refusal> {
    let live = app.desk().live_batches(session).await?;
    if live < app.limits().batches_per_session {
        return Ok(());
    }
    let text = format!("You have {live} batches that have not ended, and that is the most.");
    Err(Refusal::new(Code::RateLimited, text).retry_after(Duration::from_secs(30)))
}

/// Whether this session may have one more job.
pub(crate) async fn within_quota(app: &App, session: &Session) -> Result<(), Refusal> {
    let counts = app.desk().own_counts(session).await?;
    let (mut all, mut active) = (0, 0);
    for count in counts {
        all += count.jobs;
        active += if is_active(count.shown) { count.jobs } else { 0 };
    }
    let limits = app.limits();
    if active >= limits.active_per_session {
        let text = format!("You have {active} jobs that have not ended, and that is the most.");
        return Err(Refusal::new(Code::RateLimited, text).retry_after(Duration::from_secs(30)));
    }
    if all >= limits.jobs_per_session {
        let text = format!("You have {all} jobs, and that is the most. Old ones are removed with time.");
        return Err(Refusal::new(Code::RateLimited, text).retry_after(Duration::from_secs(3_600)));
    }
    Ok(())
}

/// Whether a job in this state will still do something.
pub(crate) const fn is_active(shown: Shown) -> bool {
    match shown {
        Shown::Queued
        | Shown::Scheduled
        | Shown::WaitingRetry
        | Shown::WaitingBatch
        | Shown::Held
        | Shown::Processing => true,
        Shown::Complete | Shown::Partial | Shown::Failed | Shown::Cancelled => false,
    }
}

pub(crate) fn overloaded(text: &str) -> Refusal {
    Refusal::new(Code::Overloaded, text)
}
