//! `redrive breakers`: the targets that jobs depend on, held and let go.

use redrive_api::{Because, BreakerDetail, BreakerTurn, HoldTarget, TurnQuery};

use super::asking::{ask, each, pages, part};
use crate::args::{Breakers, Shared};
use crate::exit::Stop;
use crate::say;

pub(crate) fn run(shared: &Shared, breakers: &Breakers) -> Result<(), Stop> {
    ask(shared, breakers.flags(), async |client| match breakers {
        Breakers::List { json, .. } => {
            let page = async |rows, cursor| {
                let list = client.breakers(&part(rows, cursor)).await?;
                Ok((list.breakers, list.next_cursor))
            };
            pages(usize::MAX, page, |one| row(one, *json)).await
        }
        Breakers::History { target, limit, json, .. } => {
            let page = async |rows: usize, cursor| {
                let wanted = TurnQuery { target: target.clone(), limit: Some(rows.to_string()), cursor };
                let list = client.breaker_history(&wanted).await?;
                Ok((list.turns, list.next_cursor))
            };
            pages(*limit, page, |turn| told(turn, *json)).await
        }
        Breakers::Hold { targets, until, reason, json, .. } => {
            let how = HoldTarget { until: *until, reason: reason.clone() };
            each(targets, async |target| row(&client.hold(target, &how).await?, *json)).await
        }
        Breakers::Release { targets, reason, json, .. } => {
            let why = Because { reason: reason.clone() };
            each(targets, async |target| row(&client.release(target, &why).await?, *json)).await
        }
    })
}

fn told(turn: &BreakerTurn, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(turn);
    }
    let by = turn.by.as_deref().map_or_else(String::new, |by| format!("by {by} "));
    let row = format!("{:.0}  {:<16}  {:<9}", turn.at, turn.target, turn.what);
    say::row(&row, &format!("{by}{}", turn.why.as_deref().unwrap_or_default()))
}

fn row(detail: &BreakerDetail, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(detail);
    }
    let one = &detail.breaker;
    let row = format!("{:<16}  {:<9}  {:>5} held", one.target, one.state, one.held_jobs);
    say::row(&row, &more(detail))
}

/// Why, and what comes next; or how it was.
fn more(detail: &BreakerDetail) -> String {
    let one = &detail.breaker;
    if let Some(hold) = &detail.hold {
        let until = hold.until.map_or_else(|| "until released".to_owned(), |at| format!("until {at:.0}"));
        return if hold.reason.is_empty() { until } else { format!("{until}: {}", hold.reason) };
    }
    let next = match (one.next_probe_at, detail.throttled_until) {
        (Some(at), _) => format!("next try {at:.0}"),
        (None, Some(at)) => format!("until {at:.0}"),
        (None, None) => format!("{} of {} calls failed", detail.failures, detail.calls),
    };
    detail.failure_code.as_ref().map_or_else(|| next.clone(), |code| format!("{code}, {next}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_is_down_says_with_what_its_last_call_failed() {
        let open = serde_json::json!({
            "target": "gateway", "state": "open", "mode": "hold", "since": "2026-11-18T07:00:00Z", "held_jobs": 4,
            "next_probe_at": "2026-11-18T07:31:02.5Z", "down_since": "2026-11-18T07:00:00Z", "failure_code": "GW_TIMEOUT",
            "failed_probes": 2, "calls": 10, "failures": 7, "throttled_until": null, "hold": null,
        });
        let mut detail: BreakerDetail = serde_json::from_value(open).unwrap();
        assert_eq!(more(&detail), "GW_TIMEOUT, next try 2026-11-18T07:31:02Z");
        detail.failure_code = None;
        detail.breaker.next_probe_at = None;
        assert_eq!(more(&detail), "7 of 10 calls failed");
    }
}
