//! How far it is, while it runs: a bar on a terminal, else a line now and then. stderr alone.

use std::collections::{BTreeMap, VecDeque};
use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use redrive_api::FetchSnapshot;
use tokio::sync::watch;
use tokio::time::Instant;

use super::doer::Doer;
use crate::exit::Stop;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// Between two looks at what is held.
const LOOK_AT_HELD: Duration = Duration::from_secs(2);
/// Between two lines where there is no terminal.
const LINE: Duration = Duration::from_secs(10);
/// The rate is that of the last while.
const WHILE: Duration = Duration::from_secs(15);

/// Tells how far a batch is until it has ended, or until we are told to stop.
pub(crate) async fn follow(
    doer: &Doer,
    quiet: bool,
    stopped: &mut watch::Receiver<bool>,
) -> Result<FetchSnapshot, Stop> {
    let mut progress = Progress::new(quiet);
    let mut look = tokio::time::interval(LOOK);
    let mut look_at_held = tokio::time::interval(LOOK_AT_HELD);
    let mut seen = doer.snapshot().await?;
    loop {
        progress.show(&seen);
        if seen.finished_at.is_some() || *stopped.borrow() {
            progress.bar.finish_and_clear();
            return Ok(seen);
        }
        tokio::select! {
            biased;
            _ = stopped.wait_for(|stop| *stop) => {}
            _ = look_at_held.tick() => progress.held(&doer.held().await?),
            _ = look.tick() => seen = doer.snapshot().await?,
        }
    }
}

struct Progress {
    bar: ProgressBar,
    lines: bool,
    told: Instant,
    /// How many had ended when.
    past: VecDeque<(Instant, u64, u64)>,
    held: Vec<String>,
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

    /// Says what is waited for, when that changes.
    fn held(&mut self, held: &[String]) {
        let new: Vec<&String> = held.iter().filter(|target| !self.held.contains(target)).collect();
        let back: Vec<&String> = self.held.iter().filter(|target| !held.contains(target)).collect();
        let say = |text: String| self.bar.suspend(|| drop(writeln!(stderr(), "{text}")));
        for target in new {
            say(format!(
                "redrive: {target} does not answer well; what needs it waits, and goes on by itself"
            ));
        }
        for target in back {
            say(format!("redrive: {target} is asked again"));
        }
        self.held = held.to_vec();
    }
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
    fn the_most_frequent_codes_come_first_and_few_are_named() {
        let by_code = [("A", 1), ("B", 3_000), ("C", 1), ("D", 2)].map(|(code, n)| (code.to_owned(), n));
        assert_eq!(codes(&BTreeMap::from(by_code)), "B 3,000, D 2, A 1, 1 more");
    }
}
