//! Whether an upload may begin, asked before a byte of its body is read.

use std::time::Duration;

use redrive_model::{Code, Shown};

use super::turns::Turn;
use crate::app::App;
use crate::disk::Incoming;
use crate::pulse;
use crate::rates::too_often;
use crate::refusal::Refusal;
use crate::session::{Guest, Session};
use crate::slots::Slot;

/// Lets an upload of so many bytes begin, as far as the client says how many. The answer is its place.
pub(crate) async fn admit(app: &App, guest: &Guest, coming: u64, key: Option<&str>) -> Result<Slot, Refusal> {
    let slot = place(app, guest)?;
    if is_repeat(app, guest.known(), key).await? {
        return repeated(app, guest, Incoming::Upload, coming).await.map(|()| slot);
    }
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
pub(crate) async fn admit_manifest(
    app: &App,
    guest: &Guest,
    coming: u64,
    key: Option<&str>,
) -> Result<Slot, Refusal> {
    let slot = place(app, guest)?;
    if is_repeat(app, guest.known(), key).await? {
        return repeated(app, guest, Incoming::Manifest, coming).await.map(|()| slot);
    }
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
pub(crate) async fn admit_received(app: &App, session: &Session, key: Option<&str>) -> Result<Turn, Refusal> {
    let turn = app.turns().wait(session.owner()).await;
    if is_repeat(app, Some(session), key).await? {
        return Ok(turn);
    }
    if !session.is_operator() {
        within_batches(app, session).await?;
    }
    pulse::fetching(app, 0).await?;
    Ok(turn)
}

/// What came without being announced was not charged before.
pub(crate) async fn charge(app: &App, guest: &Guest, bytes: u64, key: Option<&str>) -> Result<(), Refusal> {
    if guest.is_operator() {
        return Ok(());
    }
    let charged = app.meters().bytes.take(guest.owner(), bytes as f64);
    match is_repeat(app, guest.known(), key).await? {
        true => Ok(()),
        false => charged.map_err(too_often),
    }
}

fn place(app: &App, guest: &Guest) -> Result<Slot, Refusal> {
    if *app.stopping().borrow() {
        return Err(overloaded("The server is about to stop."));
    }
    let slot = app.slots().take(guest.owner(), guest.address());
    slot.ok_or_else(|| overloaded("Too many uploads at once."))
}

/// Whether this was asked for before, by a client that has lost the answer, perhaps: it gets that answer, and what it made counts already.
async fn is_repeat(app: &App, session: Option<&Session>, key: Option<&str>) -> Result<bool, Refusal> {
    match (session, key) {
        (Some(session), Some(key)) => app.desk().is_answered(session, key).await,
        _ => Ok(false),
    }
}

/// No quota refuses a repeat. Its body needs room all the same, and counts as far as there is something left to count.
async fn repeated(app: &App, guest: &Guest, what: Incoming, coming: u64) -> Result<(), Refusal> {
    let _ = app.meters().bytes.take(guest.owner(), coming as f64);
    app.disk().admit(what, coming).await
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
