//! How states, sizes, times and spans are said to people.

use std::time::Duration;

use maud::{Markup, html};
use redrive_model::{Shown, Target, TargetSet, Timestamp, instant};

/// A state's word.
pub(super) const fn state(shown: Shown) -> &'static str {
    match shown {
        Shown::Queued => "Queued",
        Shown::Scheduled => "Scheduled",
        Shown::WaitingRetry => "Waiting to retry",
        Shown::WaitingBatch => "Waiting for its parts",
        Shown::Held => "Held",
        Shown::Processing => "Processing",
        Shown::Complete => "Complete",
        Shown::Partial => "Partly complete",
        Shown::Failed => "Failed",
        Shown::Cancelled => "Cancelled",
    }
}

/// What a held job waits for. Whoever may see the job knows what it was handed in with: the converter, or the hosts of its addresses.
pub(super) fn waits_for(targets: &TargetSet, operator: bool) -> String {
    let name = |target: &Target| match (target.as_str(), target.as_str().strip_prefix("host:")) {
        (redrive_convert::TARGET, _) => "the converter".to_owned(),
        (_, Some(host)) => host.to_owned(),
        (name, None) if operator => name.to_owned(),
        (_, None) => "a service that it needs".to_owned(),
    };
    let mut names: Vec<String> = targets.iter().map(name).collect();
    names.dedup();
    if names.is_empty() { "a service that it needs".to_owned() } else { names.join(" or ") }
}

/// The states that one file can be in, in the order people look for them.
pub(super) const FILTERS: &[Shown] = &[
    Shown::Queued,
    Shown::Processing,
    Shown::WaitingRetry,
    Shown::WaitingBatch,
    Shown::Held,
    Shown::Scheduled,
    Shown::Complete,
    Shown::Failed,
    Shown::Cancelled,
];

/// A size.
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)];
    for (name, unit) in UNITS {
        if bytes >= unit {
            let tenths = (u128::from(bytes) * 10).div_ceil(u128::from(unit));
            let (whole, tenth) = (tenths / 10, tenths % 10);
            return if tenth == 0 || whole >= 100 {
                format!("{whole} {name}")
            } else {
                format!("{whole}.{tenth} {name}")
            };
        }
    }
    format!("{bytes} bytes")
}

/// A span: short ones exactly, long ones by their two largest units.
pub(super) fn span(span: Duration) -> String {
    let (seconds, ms) = (span.as_secs(), span.subsec_millis());
    match seconds {
        0 => format!("{ms} ms"),
        1..10 => format!("{seconds}.{} s", ms / 100),
        10..60 => format!("{seconds} s"),
        60..3_600 => two(seconds / 60, "min", seconds % 60, "s"),
        3_600..86_400 => two(seconds / 3_600, "h", seconds % 3_600 / 60, "min"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
    }
}

fn two(large: u64, large_name: &str, small: u64, small_name: &str) -> String {
    match small {
        0 => format!("{large} {large_name}"),
        _ => format!("{large} {large_name} {small} {small_name}"),
    }
}

/// How long something is kept.
pub(super) fn days(span: Duration) -> String {
    const DAY: u64 = 86_400;
    match span.as_secs() {
        DAY => "1 day".to_owned(),
        seconds if seconds >= DAY && seconds.is_multiple_of(DAY) => format!("{} days", seconds / DAY),
        _ => self::span(span),
    }
}

/// An instant: in UTC, and with script in the reader's own zone.
pub(super) fn time(at: Timestamp) -> Markup {
    html! { time datetime=(at) data-time { (at.strftime("%Y-%m-%d %H:%M UTC")) } }
}

/// An instant to the second.
pub(super) fn time_exactly(at: Timestamp) -> Markup {
    html! { time datetime=(at) data-time="exactly" { (at.strftime("%Y-%m-%d %H:%M:%S UTC")) } }
}

/// How long it is until then; with script it counts down. The time left is said, not the instant alone: clocks differ.
pub(super) fn countdown(until: Timestamp, now: Timestamp) -> Markup {
    let left = instant::between(now, until);
    let seconds = left.as_millis().div_ceil(1_000);
    let text = match u64::try_from(seconds).unwrap_or(u64::MAX) {
        0 => "now".to_owned(),
        seconds => format!("in {}", span(Duration::from_secs(seconds)).replace(".0 s", " s")),
    };
    html! { time datetime=(until) data-left=(left.as_millis()) { (text) } }
}

/// A number with commas.
pub(super) fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// One file, two files.
pub(super) fn count(n: u64, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_spans_are_short() {
        for (n, text) in [
            (0, "0 bytes"),
            (1_023, "1023 bytes"),
            (1_024, "1 kB"),
            (1_536, "1.5 kB"),
            (52_428_800, "50 MB"),
            (u64::MAX, "17179869184 GB"),
        ] {
            assert_eq!(bytes(n), text);
        }
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_250, "1.2 s"),
            (12_900, "12 s"),
            (60_000, "1 min"),
            (61_000, "1 min 1 s"),
            (3_600_000, "1 h"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(span(Duration::from_millis(ms)), text);
        }
        assert_eq!(days(Duration::from_secs(7 * 86_400)), "7 days");
        assert_eq!(days(Duration::from_secs(86_400)), "1 day");
        assert_eq!(days(Duration::from_secs(90)), "1 min 30 s");
    }

    #[test]
    fn a_held_job_says_what_it_waits_for_and_tells_inner_names_to_operators_alone() {
        let of =
            |names: &[&str]| TargetSet::new(names.iter().map(|name| Target::new(*name).unwrap())).unwrap();
        for (names, owner, operator) in [
            (&["gateway"][..], "the converter", "the converter"),
            (&["host:a.example:443"], "a.example:443", "a.example:443"),
            (&["bucket:results"], "a service that it needs", "bucket:results"),
            (
                &["gateway", "bucket:results"],
                "a service that it needs or the converter",
                "bucket:results or the converter",
            ),
            (&[], "a service that it needs", "a service that it needs"),
        ] {
            assert_eq!(
                (waits_for(&of(names), false).as_str(), waits_for(&of(names), true).as_str()),
                (owner, operator)
            );
        }
    }

    #[test]
    fn large_numbers_have_commas() {
        for (n, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(number(n), text);
        }
    }

    #[test]
    fn a_countdown_says_what_is_left_and_never_less_than_nothing() {
        let now = instant::from_millis(10_000);
        let text = |ms| countdown(instant::from_millis(ms), now).into_string();
        assert!(
            text(21_500).contains(r#"data-left="11500""#) && text(21_500).contains("in 12 s"),
            "{}",
            text(21_500)
        );
        assert!(text(11_000).contains(">in 1 s<"), "{}", text(11_000));
        assert!(text(5_000).contains(r#"data-left="0""#) && text(5_000).contains(">now<"));
    }
}
