//! The executions of a job as bars on one scale of time, each with the same in words.

use std::time::Duration;

use maud::{Markup, html};
use redrive_api::{Attempt, Explanation, Step};
use redrive_model::{Shown, Timestamp, instant};

use super::row::Line;
use super::words::{span, time_exactly};

/// The width of the scale.
const WIDTH: u64 = 1_000;
/// The narrowest bar that can still be seen.
const NARROWEST: u64 = 8;

/// All executions, oldest first, and the one that runs.
pub(super) fn timeline(line: &Line, story: &Explanation) -> Markup {
    let job = &line.job;
    let end = job.finished_at.unwrap_or(line.now);
    let starts = story.past.iter().map(|step| begin(&step.attempt));
    let start = starts.min().unwrap_or(job.queued_at).min(job.created_at);
    let scale = Scale { start, end: end.max(start) };
    let runs = (line.shown == Shown::Processing)
        .then(|| scale.bar("running", running_since(line, story), scale.end));
    html! {
        h2 { "Attempts" }
        @if story.past.is_empty() && runs.is_none() {
            p.fine { "It has not been tried." }
        } @else {
            ol.timeline {
                @for step in &story.past { (one(&scale, step)) }
                @if let Some(bar) = runs {
                    li {
                        (bar)
                        p { strong { "Attempt " (job.attempt) } " runs." }
                    }
                }
            }
            p.fine {
                "The whole bar is from " (time_exactly(scale.start)) " to "
                @if job.finished_at.is_some() { (time_exactly(scale.end)) } @else { "now" }
                " (" (span(scale.length())) ")."
            }
        }
    }
}

fn one(scale: &Scale, step: &Step) -> Markup {
    let attempt = &step.attempt;
    let class = match attempt.outcome.as_str() {
        "complete" => "good",
        _ if attempt.code.is_some() => "bad",
        _ => "other",
    };
    let begin = begin(attempt);
    html! {
        li {
            (scale.bar(class, begin, attempt.ended_at))
            p {
                strong { "Attempt " (attempt.number) }
                @if attempt.generation > 1 { " (after a retry by hand)" }
                ": " (attempt.outcome.replace('_', " ")) ", " (time_exactly(begin))
                @if let Some(ms) = attempt.duration_ms { ", took " (span(Duration::from_millis(ms))) }
                @if let Some(status) = attempt.target_status { ", the converter answered " (status) }
                "."
            }
            @if let (Some(code), Some(message)) = (&attempt.code, &attempt.message) {
                p.why { (message) " " a href={ "/failures/" (code) } { (code) } }
            }
            // Nobody asks why something went well.
            @if let Some(rule) = step.rule.as_ref().filter(|_| attempt.outcome != "complete") { p.fine { (rule) } }
        }
    }
}

/// An attempt that was lost has no beginning of its own.
fn begin(attempt: &Attempt) -> Timestamp {
    attempt.started_at.unwrap_or(attempt.ended_at)
}

/// The one that runs began after the last one ended.
fn running_since(line: &Line, story: &Explanation) -> Timestamp {
    let last = story.past.last().map(|step| step.attempt.ended_at);
    let started = line.job.started_at.unwrap_or(line.job.queued_at);
    last.map_or(started, |last| last.max(started))
}

/// From where to where the bars go.
struct Scale {
    start: Timestamp,
    end: Timestamp,
}

impl Scale {
    fn length(&self) -> Duration {
        instant::between(self.start, self.end)
    }

    /// Where an instant lies.
    fn place(&self, at: Timestamp) -> u64 {
        let (part, whole) = (instant::between(self.start, at).as_millis(), self.length().as_millis().max(1));
        u64::try_from(part.min(whole) * u128::from(WIDTH) / whole).unwrap_or(WIDTH)
    }

    /// A bar. What it shows is said beside it.
    fn bar(&self, class: &str, from: Timestamp, to: Timestamp) -> Markup {
        let width = (self.place(to) - self.place(from).min(self.place(to))).clamp(NARROWEST, WIDTH);
        let left = self.place(from).min(WIDTH - width);
        html! {
            svg.bar viewBox={ "0 0 " (WIDTH) " 10" } preserveAspectRatio="none" aria-hidden="true" {
                rect.track x="0" y="0" width=(WIDTH) height="10" {}
                rect.(class) x=(left) y="0" width=(width) height="10" {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_lie_where_their_times_are_and_can_always_be_seen() {
        let at = instant::from_millis;
        let scale = Scale { start: at(0), end: at(10_000) };
        for (from, to, x, width) in [
            (0, 10_000, 0, 1_000),
            (2_500, 5_000, 250, 250),
            (5_000, 5_000, 500, 8),
            (10_000, 10_000, 992, 8),
            (9_000, 20_000, 900, 100),
            (5_000, 1_000, 500, 8),
        ] {
            let bar = scale.bar("good", at(from), at(to)).into_string();
            assert!(
                bar.contains(&format!(r#"class="good" x="{x}" y="0" width="{width}""#)),
                "{from} {to} {bar}"
            );
        }
        let nothing = Scale { start: at(5), end: at(5) };
        assert!(nothing.bar("good", at(5), at(5)).into_string().contains(r#"width="8""#));
    }
}
