//! Dead letters discarded by the many: counted first, by a filter, with a bound.

use axum::Json;
use axum::extract::State;
use redrive_api::{DiscardAnswer, DiscardLetters, DiscardedLetters, Matching, Problem, ReplayFilter};
use redrive_model::{Code, Offset};
use redrive_store::{DeadFilter, Matching as Counted};

use super::bulk::MOST;
use super::replays::read_filter;
use crate::app::App;
use crate::body::Said;
use crate::deadline::to_its_end;
use crate::operator::Operator;
use crate::refusal::Refusal;

/// Counts open dead letters, or marks them as not wanted: the oldest first. They stay, and can be found by their state.
#[utoipa::path(post, path = "/api/dead-letters/discard", tag = "operators", request_body = DiscardLetters, responses(
    (status = 200, description = "What became of it; with `dry_run` `{matching, upto}`, how many and the newest of them", body = DiscardAnswer),
    (status = 400, description = "VALIDATION_*, VALIDATION_FILTER_REQUIRED", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "SYSTEM_UNAVAILABLE: the database does not answer; ANSWER_TIMEOUT: it was not done within 120 s and goes on without you: a smaller `limit` is answered sooner", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn discard(
    State(app): State<App>,
    operator: Operator,
    body: Said,
) -> Result<Json<DiscardAnswer>, Refusal> {
    let asked: DiscardLetters = body.json()?;
    if asked.dry_run {
        let found = count(&app, operator, asked.filter).await?;
        let upto = found.newest.map(|offset| offset.0);
        return Ok(Json(DiscardAnswer::Counted(Matching {
            matching: found.count,
            upto,
            workloads: Vec::new(),
        })));
    }
    Ok(Json(DiscardAnswer::Discarded(discarded(&app, operator, asked).await?)))
}

/// How many match now, and the newest of them.
async fn count(app: &App, operator: Operator, asked: ReplayFilter) -> Result<Counted<Offset>, Refusal> {
    app.desk().count_discard(operator, parse(asked, None)?).await
}

/// Discards them. What was begun is done, whether or not the client waits for it.
pub(crate) async fn discarded(
    app: &App,
    operator: Operator,
    asked: DiscardLetters,
) -> Result<DiscardedLetters, Refusal> {
    let most = asked.limit.unwrap_or(MOST);
    if !(1..=MOST).contains(&most) {
        return Err(Refusal::field("limit", "is no number from 1 to 100,000"));
    }
    let filter = parse(asked.filter, asked.upto)?;
    let most = usize::try_from(most).unwrap_or(0);
    let (desk, reason) = (app.desk().clone(), asked.reason);
    let done = to_its_end(async move { desk.discard_many(operator, filter, most, reason).await }).await?;
    Ok(DiscardedLetters { discarded: done.discarded, more: done.more })
}

fn parse(asked: ReplayFilter, upto: Option<i64>) -> Result<DeadFilter, Refusal> {
    let (workload, filter) = read_filter(asked)?;
    if workload.is_none() && filter == redrive_engine::ReplayFilter::default() {
        let text = "Say which dead letters, in filter: a group, a code, a workload.";
        return Err(Refusal::new(Code::ValidationFilterRequired, text));
    }
    Ok(filter.dead(workload.as_ref(), upto.map(Offset)))
}
