use super::*;
use proptest::prelude::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn ticks(schedule: &Schedule, from: &str, n: usize) -> Vec<String> {
    let mut at = at(from);
    let mut next = || {
        at = schedule.next(at)?;
        Some(at.to_string())
    };
    std::iter::from_fn(&mut next).take(n).collect()
}

fn berlin(schedule: Schedule) -> Schedule {
    schedule.in_zone("Europe/Berlin").unwrap()
}

#[test]
fn expressions_mean_what_cron_means() {
    let cases = [
        ("*/15 * * * *", ["2026-01-01T00:15:00Z", "2026-01-01T00:30:00Z", "2026-01-01T00:45:00Z"]),
        ("30 4,16 * * *", ["2026-01-01T04:30:00Z", "2026-01-01T16:30:00Z", "2026-01-02T04:30:00Z"]),
        ("0 9 * * mon-fri", ["2026-01-01T09:00:00Z", "2026-01-02T09:00:00Z", "2026-01-05T09:00:00Z"]),
        ("0 0 31 * *", ["2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z"]),
        ("0 0 13 * 5", ["2026-01-02T00:00:00Z", "2026-01-09T00:00:00Z", "2026-01-13T00:00:00Z"]),
        ("0 12 29 2 *", ["2028-02-29T12:00:00Z", "2032-02-29T12:00:00Z", "2036-02-29T12:00:00Z"]),
        ("@monthly", ["2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z"]),
        ("10/20 8 * JAN sun", ["2026-01-04T08:10:00Z", "2026-01-04T08:30:00Z", "2026-01-04T08:50:00Z"]),
        ("0 0 * * 7", ["2026-01-04T00:00:00Z", "2026-01-11T00:00:00Z", "2026-01-18T00:00:00Z"]),
    ];
    for (expression, expected) in cases {
        let schedule = Schedule::cron(expression).unwrap();
        assert_eq!(ticks(&schedule, "2026-01-01T00:00:00Z", 3), expected, "{expression}");
    }
}

#[test]
fn nonsense_is_refused_with_a_reason() {
    for (expression, why) in [
        ("", "0 fields"),
        ("* * * *", "4 fields"),
        ("60 * * * *", "60 is not between 0 and 59"),
        ("* 24 * * *", "24 is not between 0 and 23"),
        ("* * 0 * *", "0 is not between 1 and 31"),
        ("*/0 * * * *", "a step is a number from 1 on"),
        ("5-1 * * * *", "runs backwards"),
        ("a * * * *", "is no number"),
        ("* * * foo *", "is no number"),
    ] {
        let error = Schedule::cron(expression).unwrap_err().to_string();
        assert!(error.contains(why), "{expression:?}: {error}");
    }
    assert!(Schedule::daily("25:00").unwrap_err().to_string().contains("no time like 23:55"));
    Schedule::daily("12:00").unwrap().in_zone("Mars/Olympus").unwrap_err();
    assert_eq!(ticks(&Schedule::cron("0 0 30 2 *").unwrap(), "2026-01-01T00:00:00Z", 1), [""; 0], "never");
}

/// 29 March 2026, Berlin: two o'clock is three o'clock. 25 October 2026: three o'clock is two o'clock again.
#[test]
fn each_civil_time_comes_once_on_the_days_when_the_clocks_change() {
    let daily = berlin(Schedule::daily("02:30").unwrap());
    assert_eq!(
        ticks(&daily, "2026-03-28T00:00:00Z", 3),
        ["2026-03-28T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"]
    );
    assert_eq!(
        ticks(&daily, "2026-10-24T00:00:00Z", 3),
        ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
    );
    let cron = berlin(Schedule::cron("30 2 * * *").unwrap());
    for from in ["2026-03-28T00:00:00Z", "2026-10-24T00:00:00Z"] {
        assert_eq!(ticks(&cron, from, 5), ticks(&daily, from, 5));
    }
}

#[test]
fn every_quarter_of_an_hour_is_every_quarter_of_an_hour_all_year() {
    let quarters = berlin(Schedule::cron("*/15 * * * *").unwrap());
    for day in ["2026-03-28T22:00:00Z", "2026-10-24T22:00:00Z"] {
        let mut before = at(day);
        for _ in 0..120 {
            let next = quarters.next(before).unwrap();
            assert_eq!(instant::between(before, next), Duration::from_secs(900));
            before = next;
        }
    }
}

#[test]
fn what_was_missed_is_skipped_made_up_once_or_made_up_for() {
    let hourly = Schedule::cron("0 * * * *").unwrap();
    let (from, now) = (at("2026-01-01T00:30:00Z"), at("2026-01-01T05:10:00Z"));
    let due = |missed| hourly.due(from, now, missed, Duration::from_secs(60));
    assert_eq!(due(Missed::Skip), []);
    assert_eq!(due(Missed::Once), [at("2026-01-01T05:00:00Z")]);
    assert_eq!(due(Missed::All).len(), 5);
    let on_time = hourly.due(from, at("2026-01-01T05:00:30Z"), Missed::Skip, Duration::from_secs(60));
    assert_eq!(on_time, [at("2026-01-01T05:00:00Z")]);
    let ages =
        hourly.due(at("2000-01-01T00:00:00Z"), at("2001-01-01T00:00:00Z"), Missed::All, Duration::ZERO);
    assert_eq!(ages.len(), 1_000, "bounded");
    assert_eq!(ages.last(), Some(&at("2001-01-01T00:00:00Z")));
}

#[test]
fn a_schedule_reads_back() {
    for text in ["cron 0 3 * * 1-5 in Europe/Berlin", "daily 23:55:00,12:00:00 in UTC", "every 300 s"] {
        let schedule: Schedule = text.parse().unwrap();
        assert_eq!(schedule.to_string(), text);
    }
    "nightly".parse::<Schedule>().unwrap_err();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the expression, the zone and the instant: the next time lies ahead, and nothing lies between.
    #[test]
    fn the_next_time_lies_ahead_and_none_between(
        minute in 0..60u32, hour in prop_oneof![Just("*".to_owned()), (0..24u32).prop_map(|h| h.to_string())],
        zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kathmandu"]),
        from in 1_000_000_000i64..2_000_000_000,
    ) {
        let schedule = Schedule::cron(&format!("{minute} {hour} * * *")).unwrap().in_zone(zone).unwrap();
        let from = instant::from_millis(from * 1000);
        let next = schedule.next(from).unwrap();
        prop_assert!(next > from);
        prop_assert!(instant::between(from, next) <= Duration::from_secs(49 * 3600));
        let between = instant::before(next, Duration::from_millis(1)).max(from);
        prop_assert_eq!(schedule.next(between), Some(next));
    }
}
