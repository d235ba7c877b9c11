//! What is known about the place, from rows alone.

use redrive_api::IntakeLook;
use redrive_engine::Engine;
use redrive_model::WorkloadName;
use redrive_store::{JobFilter, PageRequest};

use crate::refusal::Refusal;

/// The permanent job that looks, whose state says what it saw.
const QUEUE: &str = "intake.queue";

/// What the last look found.
pub(crate) async fn last_look(engine: &Engine) -> Result<Option<IntakeLook>, Refusal> {
    let filter = JobFilter { workload: WorkloadName::new(QUEUE).ok(), ..JobFilter::default() };
    let page = engine.store().jobs(filter, PageRequest { limit: 1, cursor: None }).await?;
    let Some(job) = page.rows.first() else { return Ok(None) };
    let state = engine.store().payload(job.id).await?.and_then(|payload| payload.state);
    Ok(state.and_then(|state| serde_json::from_slice(&state).ok()))
}
