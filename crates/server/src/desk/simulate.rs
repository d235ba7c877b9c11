//! Another policy, tried on what has happened. Nothing is changed.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use redrive_api::{Problem, Simulate, Simulated, TriedPolicy};
use redrive_engine as engine;
use redrive_model::{Code, Policy, instant};

use crate::app::App;
use crate::body::Said;
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

/// So far back unless said.
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

/// What would have become of a workload's jobs under another policy. It takes as long as there are jobs, and ends when nobody waits for it.
#[utoipa::path(post, path = "/api/simulate", tag = "operators", request_body = Simulate, responses(
    (status = 200, body = Simulated),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "SYSTEM_UNAVAILABLE: the database does not answer; ANSWER_TIMEOUT: it was not done within 120 s and was stopped: ask for a later `since`", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn simulate(
    State(app): State<App>,
    operator: Operator,
    body: Said,
) -> Result<Json<Simulated>, Refusal> {
    let asked: Simulate = body.json()?;
    let workload = query::workload(Some(asked.workload))?
        .ok_or_else(|| Refusal::field("workload", "is no name of a workload"))?;
    let policy = policy(asked.policy)?;
    let since = match asked.since {
        Some(since) => since,
        None => instant::before(app.desk().now().await?, WEEK),
    };
    let simulated = app.desk().simulate(operator, &workload, &policy, since).await?;
    Ok(Json(view(simulated)))
}

fn policy(tried: TriedPolicy) -> Result<Policy, Refusal> {
    let base = match tried.preset.as_deref() {
        None | Some("reliability") => Policy::reliability(),
        Some("stepped") => Policy::stepped(),
        Some("on_demand") => Policy::on_demand(),
        Some("permanent") => Policy::permanent(),
        Some(_) => {
            let why = "is none of reliability, stepped, on_demand, permanent";
            return Err(Refusal::field("policy.preset", why));
        }
    };
    if tried.max_attempts == Some(0) {
        return Err(Refusal::field("policy.max_attempts", "is no number from 1"));
    }
    let deadline = match tried.deadline_sec {
        None => base.deadline,
        Some(secs) => Some(
            Duration::try_from_secs_f64(secs)
                .map_err(|_| Refusal::field("policy.deadline_sec", "is no number of seconds"))?,
        ),
    };
    let mut code_caps = base.code_caps.clone();
    for (name, cap) in tried.code_caps {
        let code = Code::parse(&name.to_ascii_uppercase());
        code_caps
            .insert(code.ok_or_else(|| Refusal::field("policy.code_caps", "names no failure code"))?, cap);
    }
    Ok(Policy {
        max_attempts: tried.max_attempts.map_or(base.max_attempts, Some),
        retry_all: tried.retry_all.unwrap_or(base.retry_all),
        deadline,
        code_caps,
        ..base
    })
}

fn view(simulated: engine::Simulated) -> Simulated {
    Simulated {
        jobs: simulated.jobs,
        same: simulated.same,
        lost: simulated.lost,
        tried_longer: simulated.tried_longer,
        given_up_earlier: simulated.given_up_earlier,
        attempts: simulated.attempts,
        saved: simulated.saved,
        by_code: simulated.by_code.into_iter().map(|(code, jobs)| (code.to_owned(), jobs)).collect(),
    }
}
