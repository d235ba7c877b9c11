//! How far it is, while it runs: a bar on a terminal, else a line now and then. stderr alone.

use std::collections::{BTreeMap, VecDeque};
use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use redrive_api::FetchSnapshot;
use redrive_api::client::Client;
use redrive_model::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;

use super::doer::Doer;
use crate::absence::Absence;
use crate::exit::{Exit, Stop};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// Between two looks at what is held.
const LOOK_AT_HELD: Duration = Duration::from_secs(2);
/// Between two lines where there is no terminal.
const LINE: Duration = Duration::from_secs(10);
/// A batch that was asked to go on does so within this.
const BEGINS: Duration = Duration::from_secs(60);
/// The rate is that of the last while.
const WHILE: Duration = Duration::from_secs(15);

/// Tells how far a batch is until it has ended, or until we are told to stop. Where it was asked to go on after an end, that end does not
/// count. A server that is away is waited for, and looked for with `find`.
pub(crate) async fn follow(
    doer: &mut Doer,
    quiet: bool,
    before: Option<Timestamp>,
    stopped: &mut watch::Receiver<bool>,
    find: impl Fn() -> Option<Client>,
) -> Result<FetchSnapshot, Stop> {
    let (mut progress, asked) = (Progress::new(quiet), Instant::now());
    let mut look = tokio::time::interval(LOOK);
    let mut look_at_held = tokio::time::interval(LOOK_AT_HELD);
    let mut absence = Absence::default();
    let mut seen = doer.snapshot().await?;
    loop {
        progress.show(&seen);
        let as_before = before.is_some() && seen.finished_at == before;
        if as_before && asked.elapsed() >= BEGINS {
            progress.bar.finish_and_clear();
            let text = format!("the server has not begun to try again what failed of batch {}", seen.job_id);
            return Err(Stop::new(Exit::Conflict, text));
        }
        if (seen.finished_at.is_some() && !as_before) || *stopped.borrow() {
            progress.bar.finish_and_clear();
            return Ok(seen);
        }
        if let Some(why) = never_ends(&seen) {
            progress.bar.finish_and_clear();
            return Err(Stop::new(Exit::Failed, why));
        }
        tokio::select! {
            biased;
            _ = stopped.wait_for(|stop| *stop) => {}
            _ = look_at_held.tick() => progress.held(&doer.held().await.unwrap_or_default()),
            _ = look.tick() => match doer.snapshot().await {
                Ok(now) => {
                    seen = now;
                    if absence.over() {
                        progress.say("the server answers again");
                    }
                }
                Err(stop) => {
                    let why = stop.message().to_owned();
                    let news = absence.bear(stop, Instant::now()).inspect_err(|_| progress.bar.finish_and_clear())?;
                    if news {
                        progress.say(&format!("{why}; waiting for it"));
                    }
                    if let Some(client) = find() {
                        doer.turn_to(client);
                    }
                }
            },
        }
    }
}

/// Why a batch does not end by itself: the manifest that it is made from is lost.
fn never_ends(seen: &FetchSnapshot) -> Option<String> {
    let error = seen.last_error.as_ref().filter(|error| {
        !seen.unpacked
            && matches!(error.code.as_str(), "STORAGE_MANIFEST_MISSING" | "STORAGE_MANIFEST_INVALID")
    })?;
    let done = seen.resources_completed + seen.resources_failed + seen.resources_cancelled;
    Some(format!(
        "{}: {} The other {} of {} cannot be begun; --again begins anew with the manifest at hand",
        error.code,
        error.message,
        HumanCount(seen.resources_total.saturating_sub(done)),
        HumanCount(seen.resources_total),
    ))
}

struct Progress {
    bar: ProgressBar,
    lines: bool,
    told: Instant,
    /// How many had ended when.
    past: VecDeque<(Instant, u64, u64)>,
    held: Vec<(String, &'static str)>,
}

impl Progress {
    fn new(quiet: bool) -> Self {
        let shown = stderr().is_terminal() && !quiet;
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:25} {msg}") {
            bar.set_style(style);
        }
        let lines = !shown && !quiet;
        Self { bar, lines, told: Instant::now(), past: VecDeque::new(), held: Vec::new() }
    }

    fn show(&mut self, seen: &FetchSnapshot) {
        let now = Instant::now();
        let done = seen.resources_completed + seen.resources_failed + seen.resources_cancelled;
        self.past.push_back((now, done, seen.bytes));
        while self.past.len() > 2 && self.past.get(1).is_some_and(|(at, ..)| now - *at >= WHILE) {
            self.past.pop_front();
        }
        let rates = self.past.front().map(|(at, ended, bytes)| {
            let seconds = (now - *at).as_secs_f64().max(0.001);
            (per(done.saturating_sub(*ended), seconds), per(seen.bytes.saturating_sub(*bytes), seconds))
        });
        let text = words(seen, done, rates.unwrap_or_default());
        self.bar.set_length(seen.resources_total);
        self.bar.set_position(done);
        if self.lines && now - self.told >= LINE {
            self.told = now;
            let _ = writeln!(stderr(), "redrive: {text}");
        }
        self.bar.set_message(text);
    }

    /// Says what is waited for and why, when that changes.
    fn held(&mut self, held: &[(String, &'static str)]) {
        for line in changes(&self.held, held) {
            self.say(&line);
        }
        self.held = held.to_vec();
    }

    fn say(&self, line: &str) {
        self.bar.suspend(|| drop(writeln!(stderr(), "redrive: {line}")));
    }
}

/// What is new since the last look.
fn changes(before: &[(String, &'static str)], now: &[(String, &'static str)]) -> Vec<String> {
    let new = now.iter().filter(|held| !before.contains(held));
    let back = before.iter().filter(|(target, _)| !now.iter().any(|(other, _)| other == target));
    let new = new.map(|(target, why)| format!("{target} {why}"));
    new.chain(back.map(|(target, _)| format!("{target} is asked as usual again"))).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn per(count: u64, seconds: f64) -> f64 {
    count as f64 / seconds
}

/// `1,234 of 10,000, 512/s, 12.3 MiB/s, 3 failed (DOWNLOAD_HTTP_4XX 3), 2m left`.
fn words(seen: &FetchSnapshot, done: u64, (rate, bytes): (f64, f64)) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate for people")]
    let whole = |rate: f64| rate.round() as u64;
    let mut parts = vec![
        format!("{} of {}", HumanCount(done), HumanCount(seen.resources_total)),
        format!("{}/s", HumanCount(whole(rate))),
        format!("{}/s", HumanBytes(whole(bytes))),
    ];
    if seen.resources_failed > 0 {
        parts.push(format!(
            "{} failed ({})",
            HumanCount(seen.resources_failed),
            codes(&seen.failures_by_code)
        ));
    }
    let left = seen.resources_total.saturating_sub(done);
    if left > 0 && rate >= 0.1 {
        #[expect(clippy::cast_precision_loss, reason = "a guess for people")]
        let seconds = (left as f64 / rate).min(1e9);
        parts.push(format!("{} left", HumanDuration(Duration::from_secs_f64(seconds))));
    }
    parts.join(", ")
}

/// The most frequent codes with their counts.
pub(super) fn codes(by_code: &BTreeMap<String, u64>) -> String {
    let mut codes: Vec<_> = by_code.iter().collect();
    codes.sort_by_key(|(code, count)| (std::cmp::Reverse(**count), (*code).clone()));
    let more = codes.len().saturating_sub(3);
    let mut text: Vec<_> =
        codes.iter().take(3).map(|(code, n)| format!("{code} {}", HumanCount(**n))).collect();
    if more > 0 {
        text.push(format!("{more} more"));
    }
    text.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_whose_manifest_is_lost_is_not_waited_for() {
        let seen = |unpacked: bool, code: &str| -> FetchSnapshot {
            let error = serde_json::json!({"code": code, "message": "It is gone.", "context": {}, "at": "2026-11-18T00:00:00Z"});
            serde_json::from_value(serde_json::json!({"job_id": "b", "status": "processing", "resources_total": 20_000,
                "resources_completed": 500, "resources_failed": 0, "resources_cancelled": 0, "unpacked": unpacked, "bytes": 0,
                "created_at": "2026-11-18T00:00:00Z", "updated_at": "2026-11-18T00:00:00Z", "finished_at": null,
                "last_error": error, "dlq_offset": null, "failures_by_code": {}, "manifest_key": "m", "end_rule": "strict"}))
            .unwrap()
        };
        let why = never_ends(&seen(false, "STORAGE_MANIFEST_MISSING")).unwrap();
        assert!(why.contains("STORAGE_MANIFEST_MISSING: It is gone. The other 19,500 of 20,000"), "{why}");
        assert_eq!(never_ends(&seen(true, "STORAGE_MANIFEST_MISSING")), None);
        assert_eq!(never_ends(&seen(false, "DOWNLOAD_HTTP_4XX")), None);
    }

    #[test]
    fn a_target_is_told_of_when_it_changes_and_not_again() {
        let at = |target: &str, why| (target.to_owned(), why);
        let open = [at("host:a:443", "does not answer"), at("host:b:443", "asked for time")];
        assert_eq!(changes(&[], &open), ["host:a:443 does not answer", "host:b:443 asked for time"]);
        assert_eq!(changes(&open, &open), [""; 0]);
        let later = [at("host:a:443", "answers again")];
        assert_eq!(
            changes(&open, &later),
            ["host:a:443 answers again", "host:b:443 is asked as usual again"]
        );
    }

    #[test]
    fn the_most_frequent_codes_come_first_and_few_are_named() {
        let by_code = [("A", 1), ("B", 3_000), ("C", 1), ("D", 2)].map(|(code, n)| (code.to_owned(), n));
        assert_eq!(codes(&BTreeMap::from(by_code)), "B 3,000, D 2, A 1, 1 more");
    }
}
