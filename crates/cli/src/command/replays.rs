//! `redrive replays`: how replays are, and pausing or ending them.

use redrive_api::{Replay, ReplayFilter, ReplayQuery};
use redrive_model::text::one_line_chars;

use super::asking::{ask, each, pages};
use super::groups::why;
use crate::args::{Replays, Shared};
use crate::exit::Stop;
use crate::say;

pub(crate) fn run(shared: &Shared, replays: &Replays) -> Result<(), Stop> {
    ask(shared, replays.flags(), async |client| match replays {
        Replays::List { workload, limit, json, .. } => {
            let page = async |rows: usize, cursor| {
                let (workload, limit) = (workload.clone(), Some(rows.to_string()));
                let list = client.replays(&ReplayQuery { workload, limit, cursor }).await?;
                Ok((list.replays, list.next_cursor))
            };
            pages(*limit, page, |replay| row(replay, *json)).await
        }
        Replays::Show(looked) => {
            each(&looked.ids, async |id| show(&client.replay(id).await?, looked.json)).await
        }
        Replays::Pause(acted) => {
            let why = why(acted);
            each(&acted.ids, async |id| row(&client.pause_replay(id, &why).await?, acted.json)).await
        }
        Replays::Resume(acted) => {
            let why = why(acted);
            each(&acted.ids, async |id| row(&client.resume_replay(id, &why).await?, acted.json)).await
        }
        Replays::Cancel(acted) => {
            let why = why(acted);
            each(&acted.ids, async |id| row(&client.cancel_replay(id, &why).await?, acted.json)).await
        }
    })
}

/// One line about a replay.
pub(super) fn row(replay: &Replay, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(replay);
    }
    let (id, total, failed) = (&replay.id, replay.total, replay.failed);
    let ended = ended(replay);
    let row = format!("{id}  {:<9}  {ended} of {total} ended, {failed} failed", phase(replay));
    say::row(&row, &replay.workload)
}

/// Those with which it has nothing more to do.
fn ended(replay: &Replay) -> u64 {
    let skipped = &replay.skipped;
    let skipped = skipped.duplicate + skipped.gone + skipped.changed;
    replay.complete + replay.failed + replay.cancelled + skipped
}

fn phase(replay: &Replay) -> &str {
    if replay.paused { "paused" } else { &replay.phase }
}

fn show(replay: &Replay, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(replay);
    }
    let line = |text: &Option<String>| text.as_deref().map(|text| one_line_chars(text, 400));
    let skipped = &replay.skipped;
    let phase = match (replay.phase.as_str(), replay.paused) {
        (phase, true) => format!("{phase}, paused: redrive replays resume {}", replay.id),
        ("stopped", false) => "stopped: too many failed again".to_owned(),
        (phase, false) => phase.to_owned(),
    };
    let how = format!(
        "{} first, then {} per second; stops above {} failed",
        replay.canary, replay.rate_per_sec, replay.stop_at_failure_share
    );
    let skipped = format!(
        "{} (already done by another job), {} (source gone), {} (changed meanwhile)",
        skipped.duplicate, skipped.gone, skipped.changed
    );
    say::facts(&[
        ("replay", Some(replay.id.clone())),
        ("name", line(&replay.name)),
        ("state", Some(phase)),
        ("workload", Some(replay.workload.clone())),
        ("which", Some(which(&replay.filter))),
        ("ended", Some(format!("{} of {}", ended(replay), replay.total))),
        ("live", Some(replay.live.to_string())),
        ("complete", Some(replay.complete.to_string())),
        ("failed", Some(replay.failed.to_string())),
        ("cancelled", Some(replay.cancelled.to_string())),
        ("skipped", Some(skipped)),
        ("left", Some(replay.left.to_string())),
        ("how", Some(how)),
        ("by", Some(one_line_chars(&replay.by, 200))),
        ("reason", line(&replay.reason)),
        ("started", Some(replay.started_at.to_string())),
        ("finished", replay.finished_at.map(|at| at.to_string())),
    ])
}

/// The words of a filter, as they are said on the command line.
fn which(filter: &ReplayFilter) -> String {
    let ReplayFilter { workload: _, code, group, owner, target, q, created_since, label, since, until } =
        filter;
    let words = [
        ("code", code),
        ("group", group),
        ("owner", owner),
        ("target", target),
        ("search", q),
        ("created since", created_since),
        ("label", label),
        ("since", since),
        ("until", until),
    ];
    let said: Vec<String> = words
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name} {}", one_line_chars(value.as_deref()?, 80))))
        .collect();
    if said.is_empty() { "all that were open".to_owned() } else { said.join(", ") }
}
