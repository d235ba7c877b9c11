//! `redrive dead replay`: single letters at once; many as replays, one for each workload, counted before anything is started.

use redrive_api::client::Client;
use redrive_api::{Because, MatchingOf, NewReplay, Replay, ReplayFilter};
use redrive_model::text::one_line_chars;
use serde::Serialize;

use super::asking::each;
use super::sure::sure;
use super::{dead, jobs, replays};
use crate::args::ReplayDead;
use crate::exit::{Exit, Stop};
use crate::say;

/// How many dead letters of a workload match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Count {
    workload: String,
    matching: u64,
    /// The newest of them: what dies while the person is asked is not started.
    #[serde(skip)]
    upto: Option<i64>,
}

/// Whoever replays many says which, or that all are meant.
pub(super) fn check(asked: &ReplayDead) -> Result<(), Stop> {
    if !asked.offsets.is_empty() || !asked.which.is_unsaid() {
        return Ok(());
    }
    let text = "say which: offsets of `redrive dead list`, or --group, --code, --workload, --owner, --target, --search, --since, --until, or --all; nothing was started";
    Err(Stop::new(Exit::Usage, text))
}

pub(super) async fn replay(client: &Client, asked: &ReplayDead) -> Result<(), Stop> {
    if !asked.offsets.is_empty() {
        return single(client, asked).await;
    }
    let counts = count(client, asked).await?;
    if asked.dry_run {
        for one in &counts {
            tell(one, asked.json)?;
        }
        say::note(&format!("{} would be started again", letters(&counts)));
        return Ok(());
    }
    let total: u64 = counts.iter().map(|one| one.matching).sum();
    if total == 0 {
        return Err(Stop::new(Exit::NotFound, "no open dead letter matches, so nothing is started"));
    }
    say::note(&format!("{} match", letters(&counts)));
    sure(asked.yes, "Start them again?").await?;
    let some: Vec<&Count> = counts.iter().filter(|one| one.matching > 0).collect();
    let names: Vec<String> = some.iter().map(|one| one.workload.clone()).collect();
    let start = async |name: &str| {
        let upto = some.iter().find(|one| one.workload == name).and_then(|one| one.upto);
        let started = client.start_replay(&NewReplay { upto, ..new(asked, Some(name)) }).await?;
        follow(&started, asked.json)
    };
    each(&names, start).await
}

/// Exactly the letters that were named.
async fn single(client: &Client, asked: &ReplayDead) -> Result<(), Stop> {
    let why = Because { reason: asked.reason.clone() };
    if asked.dry_run {
        return each(&asked.offsets, async |offset| {
            dead::row(&client.dead_letter(offset).await?, asked.json)
        })
        .await;
    }
    each(&asked.offsets, async |offset| jobs::row(&client.replay_letter(offset, &why).await?, asked.json))
        .await
}

/// How many match, of which workload. A replay is of one kind of job: where none is said, the server tells of which there are some.
async fn count(client: &Client, asked: &ReplayDead) -> Result<Vec<Count>, Stop> {
    let workload = match (&asked.which.workload, &asked.which.group) {
        (Some(workload), _) => Some(workload.clone()),
        (None, Some(group)) => Some(client.group(group).await?.workload),
        (None, None) => None,
    };
    let found = client.count_replay(&new(asked, workload.as_deref())).await?;
    Ok(match workload {
        Some(workload) => vec![Count { workload, matching: found.matching, upto: found.upto }],
        None => found.workloads.into_iter().map(Count::from).collect(),
    })
}

impl From<MatchingOf> for Count {
    fn from(one: MatchingOf) -> Self {
        Self { workload: one.workload, matching: one.matching, upto: one.upto }
    }
}

fn new(asked: &ReplayDead, workload: Option<&str>) -> NewReplay {
    NewReplay {
        filter: ReplayFilter { workload: workload.map(str::to_owned), ..dead::filter(&asked.which) },
        dry_run: asked.dry_run,
        upto: None,
        canary: asked.canary,
        rate_per_sec: asked.rate,
        stop_at_failure_share: asked.stop_share,
        name: asked.name.clone(),
        reason: asked.reason.clone(),
    }
}

fn tell(count: &Count, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(count);
    }
    say::line(&format!("{:>8}  {}", count.matching, one_line_chars(&count.workload, 60)))
}

/// The counts as words: 15 open dead letters (12 of convert, 3 of fetch).
fn letters(counts: &[Count]) -> String {
    let total: u64 = counts.iter().map(|one| one.matching).sum();
    let noun = if total == 1 { "dead letter" } else { "dead letters" };
    let of: Vec<String> = counts.iter().map(|one| format!("{} of {}", one.matching, one.workload)).collect();
    match counts {
        [] => format!("0 open {noun}"),
        [one] => format!("{total} open {noun} of {}", one.workload),
        _ => format!("{total} open {noun} ({})", of.join(", ")),
    }
}

fn follow(replay: &Replay, json: bool) -> Result<(), Stop> {
    replays::row(replay, json)?;
    say::note(&format!("started; redrive replays show {} tells how it goes", replay.id));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_told_in_words() {
        let count = |workload: &str, matching| Count { workload: workload.into(), matching, upto: None };
        assert_eq!(letters(&[]), "0 open dead letters");
        assert_eq!(letters(&[count("fetch", 1)]), "1 open dead letter of fetch");
        let both = [count("convert", 12), count("fetch", 3)];
        assert_eq!(letters(&both), "15 open dead letters (12 of convert, 3 of fetch)");
    }
}
