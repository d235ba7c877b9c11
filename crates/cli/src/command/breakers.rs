//! `redrive breakers`: the targets that jobs depend on, held and let go.

use redrive_api::{Because, BreakerDetail, HoldTarget};
use redrive_store::clock::{Clock, SystemClock};

use super::asking::{ask, each};
use super::when;
use crate::args::{Breakers, Shared};
use crate::exit::Stop;
use crate::say;

pub(crate) fn run(shared: &Shared, breakers: &Breakers) -> Result<(), Stop> {
    ask(shared, breakers.flags(), async |client| match breakers {
        Breakers::List { json, .. } => {
            for one in client.breakers().await?.breakers {
                row(&one, *json)?;
            }
            Ok(())
        }
        Breakers::Hold { targets, until, reason, json, .. } => {
            let until = until.as_deref().map(|text| when::ahead("--until", text, SystemClock.now()));
            let how = HoldTarget { until: until.transpose()?, reason: reason.clone() };
            each(targets, async |target| row(&client.hold(target, &how).await?, *json)).await
        }
        Breakers::Release { targets, reason, json, .. } => {
            let why = Because { reason: reason.clone() };
            each(targets, async |target| row(&client.release(target, &why).await?, *json)).await
        }
    })
}

fn row(detail: &BreakerDetail, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(detail);
    }
    let one = &detail.breaker;
    let row = format!("{:<16}  {:<9}  {:>5} held", one.target, one.state, one.held_jobs);
    say::row(&row, &more(detail))
}

/// What comes next, or how it was.
fn more(detail: &BreakerDetail) -> String {
    let one = &detail.breaker;
    if let Some(hold) = &detail.hold {
        let until = hold.until.map_or_else(|| "until released".to_owned(), |at| format!("until {at:.0}"));
        return if hold.reason.is_empty() { until } else { format!("{until}: {}", hold.reason) };
    }
    match (one.next_probe_at, detail.throttled_until) {
        (Some(at), _) => format!("next try {at:.0}"),
        (None, Some(at)) => format!("until {at:.0}"),
        (None, None) => format!("{} of {} calls failed", detail.failures, detail.calls),
    }
}
