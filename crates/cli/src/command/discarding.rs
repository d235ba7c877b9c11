//! `redrive dead discard`: single letters at once; many by a filter, counted before any of them is closed.

use redrive_api::client::Client;
use redrive_api::{Because, DiscardLetters, DiscardedLetters, NewReplay, ReplayFilter};
use serde::Serialize;

use super::asking::each;
use super::dead;
use super::sure::sure;
use crate::args::DiscardDead;
use crate::exit::{Exit, Stop};
use crate::say;

/// The most that the server discards with one call.
const AT_ONCE: u64 = 100_000;

/// What is discarded together: what it is, how many, and the newest of them.
struct Part {
    filter: ReplayFilter,
    matching: u64,
    upto: Option<i64>,
}

#[derive(Serialize)]
struct Counted {
    matching: u64,
}

/// Whoever discards many says which, or that all are meant.
pub(super) fn check(asked: &DiscardDead) -> Result<(), Stop> {
    if !asked.offsets.is_empty() || !asked.which.is_unsaid() {
        return Ok(());
    }
    let text = "say which: offsets of `redrive dead list`, or --group, --code, --workload, --owner, --target, --search, --since, --until, or --all; nothing was discarded";
    Err(Stop::new(Exit::Usage, text))
}

pub(super) async fn discard(client: &Client, asked: &DiscardDead) -> Result<(), Stop> {
    if asked.offsets.is_empty() { many(client, asked).await } else { single(client, asked).await }
}

/// Exactly the letters that were named.
async fn single(client: &Client, asked: &DiscardDead) -> Result<(), Stop> {
    let why = Because { reason: asked.reason.clone() };
    let act = async |offset: &str| {
        let letter = match asked.dry_run {
            true => client.dead_letter(offset).await?,
            false => client.discard_letter(offset, &why).await?,
        };
        dead::row(&letter, asked.json)
    };
    each(&asked.offsets, act).await
}

/// Those that were counted: what dies meanwhile is not meant.
async fn many(client: &Client, asked: &DiscardDead) -> Result<(), Stop> {
    let parts = parts(client, asked).await?;
    let matching = parts.iter().map(|part| part.matching).sum();
    if asked.dry_run {
        return match asked.json {
            true => say::json(&Counted { matching }),
            false => say::line(&format!("{} would be discarded", letters(matching))),
        };
    }
    if matching == 0 {
        return Err(Stop::new(Exit::NotFound, "no open dead letter matches, so nothing is discarded"));
    }
    say::note(&format!("{} match; a discarded one is not started again by a replay", letters(matching)));
    sure(asked.yes, "Discard them?").await?;
    let mut sum = DiscardedLetters { discarded: 0, more: false };
    for part in parts {
        sum.discarded += all_of(client, part, asked.reason.as_deref()).await?;
    }
    match asked.json {
        true => say::json(&sum),
        false => say::line(&format!("{} discarded", letters(sum.discarded))),
    }
}

/// One call after the other, until all that were counted are closed.
async fn all_of(client: &Client, part: Part, reason: Option<&str>) -> Result<u64, Stop> {
    let (mut left, mut discarded) = (part.matching, 0);
    while left > 0 {
        let limit = left.min(AT_ONCE);
        let (filter, reason) = (part.filter.clone(), reason.map(str::to_owned));
        let how = DiscardLetters { filter, upto: part.upto, limit: Some(limit), reason, dry_run: false };
        let done = client.discard_letters(&how).await?;
        (left, discarded) = (left - limit, discarded + done.discarded);
        if !done.more {
            break;
        }
    }
    Ok(discarded)
}

/// How many match. A filter that says nothing is not taken by the server: who means all names each kind of job.
async fn parts(client: &Client, asked: &DiscardDead) -> Result<Vec<Part>, Stop> {
    let filter = dead::filter(&asked.which);
    if filter != ReplayFilter::default() {
        let found = client.count_discard(&filter).await?;
        return Ok(vec![Part { filter, matching: found.matching, upto: found.upto }]);
    }
    let found = client.count_replay(&NewReplay::default()).await?;
    let of_one = |workload| ReplayFilter { workload: Some(workload), ..ReplayFilter::default() };
    let parts = found.workloads.into_iter().map(|one| Part {
        filter: of_one(one.workload),
        matching: one.matching,
        upto: one.upto,
    });
    Ok(parts.collect())
}

/// One dead letter, two dead letters.
fn letters(n: u64) -> String {
    if n == 1 { "1 dead letter".to_owned() } else { format!("{n} dead letters") }
}
