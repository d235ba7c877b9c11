use super::*;
use crate::instant::from_millis;
use proptest::prelude::*;

fn at(ms: i64) -> Timestamp {
    from_millis(ms)
}

fn worker(n: u8) -> WorkerId {
    WorkerId::from_parts(at(0), [n; 10])
}

fn config() -> Config {
    Config::for_timeout(Duration::from_secs(1))
}

/// A breaker that was opened by three dead connections at 1 s.
fn opened() -> Breaker {
    let mut b = Breaker::new(at(0));
    for _ in 0..3 {
        b.record(&config(), at(1_000), 0, Call::Unreachable, 0);
    }
    assert_eq!(b.phase, Phase::Open { until: at(31_000) });
    b
}

/// Also covers: T3, B1.
#[test]
fn opens_at_the_threshold_with_enough_calls() {
    let mut b = Breaker::new(at(0));
    for n in 0..9 {
        b.record(&config(), at(n), 0, Call::ServerError, 0);
    }
    assert_eq!(b.phase, Phase::Closed, "nine calls are too few");
    b.record(&config(), at(9), 0, Call::Success, 0);
    assert_eq!(b.phase_name(), "open", "nine of ten failed");
}

/// Also covers: T3.
#[test]
fn below_the_threshold_it_stays_closed() {
    let mut b = Breaker::new(at(0));
    for n in 0..40 {
        b.record(
            &config(),
            at(n),
            0,
            if matches!(n % 5, 1 | 3) { Call::ServerError } else { Call::Success },
            0,
        );
    }
    assert_eq!(b.phase, Phase::Closed);
}

/// Also covers: T3, B2.
#[test]
fn old_calls_do_not_count_and_the_window_slides() {
    let mut b = Breaker::new(at(0));
    for n in 0..9 {
        b.record(&config(), at(n), 0, Call::ServerError, 0);
    }
    b.record(&config(), at(70_000), 0, Call::ServerError, 0);
    assert_eq!(b.phase, Phase::Closed, "nine of the ten are older than a minute");
    let mut b = Breaker::new(at(0));
    for n in 0..200 {
        b.record(&config(), at(n), 0, Call::Success, 0);
    }
    for n in 200..210 {
        b.record(&config(), at(n), 0, Call::ServerError, 0);
    }
    assert_eq!(b.phase_name(), "open", "ten of the last twenty, however many went well before");
}

#[test]
fn down_is_from_the_call_that_opened_it_to_the_good_probe_however_often_it_was_tried() {
    let config = Config { patience: Some(Duration::from_secs(60)), ..config() };
    let mut b = opened();
    let since = at(1_000);
    b.blame(Code::GwUnavailable);
    let probe = b.start_probe(&config, at(40_000), worker(1)).unwrap();
    b.probe_ended(&config, at(41_000), 0, probe.epoch, Call::ServerError);
    b.blame(Code::Gw5xx);
    assert_eq!(b.overdue(&config, at(60_999)), None, "not yet");
    let down = Down { since, code: Some(Code::Gw5xx) };
    assert_eq!(b.overdue(&config, at(61_000)), Some(down));
    assert_eq!(
        b.overdue(&Config { patience: None, ..config.clone() }, at(61_000)),
        None,
        "nobody is impatient"
    );
    let hold = Hold { by: "she".into(), reason: "repairs".into(), since: at(50_000), until: None };
    assert_eq!(
        Breaker { hold: Some(hold), ..b.clone() }.overdue(&config, at(61_000)),
        None,
        "a person wants it so"
    );

    let mut asked = b.clone();
    let probe = asked.start_probe(&config, at(200_000), worker(1)).unwrap();
    assert_eq!(asked.overdue(&config, at(200_001)), None, "somebody is asking");
    asked.probe_ended(&config, at(200_002), 0, probe.epoch, Call::Answered);
    assert_eq!(asked.down, None);

    b.start_over(at(61_000));
    assert_eq!((b.down, b.phase.clone()), (None, Phase::Open { until: at(61_000) }));
    let probe = b.start_probe(&config, at(61_000), worker(1)).unwrap();
    b.probe_ended(&config, at(62_000), 0, probe.epoch, Call::Unreachable);
    assert_eq!(
        b.down.map(|down| down.since),
        Some(at(62_000)),
        "whoever comes next waits as long as those before"
    );
}

/// Also covers: T3.
#[test]
fn one_dead_call_of_one_opens_nothing_and_three_in_a_row_do() {
    let mut b = Breaker::new(at(0));
    b.record(&config(), at(1), 0, Call::Unreachable, 0);
    b.record(&config(), at(2), 0, Call::Unreachable, 0);
    b.record(&config(), at(3), 0, Call::Success, 0);
    b.record(&config(), at(4), 0, Call::Unreachable, 0);
    assert_eq!(b.phase, Phase::Closed);
    let mut off = config();
    off.consecutive = 0;
    for n in 5..10 {
        b.record(&off, at(n), 0, Call::Unreachable, 0);
    }
    assert_eq!(b.phase, Phase::Closed, "0 switches the rule off");
    opened();
}

/// Also covers: B3.
#[test]
fn neutral_calls_never_count() {
    let mut b = Breaker::new(at(0));
    for n in 0..100 {
        b.record(&config(), at(n), 0, Call::Neutral, 0);
    }
    assert_eq!(b, Breaker::new(at(0)));
}

#[test]
fn one_probe_after_the_cooldown_and_nobody_else() {
    let mut b = opened();
    assert_eq!(b.start_probe(&config(), at(30_999), worker(1)), None);
    let probe = b.start_probe(&config(), at(31_000), worker(1)).unwrap();
    assert_eq!(b.start_probe(&config(), at(31_001), worker(2)), None);
    assert_eq!(b.gate().probe, Some(worker(1)));
    assert_eq!(b.gate().blocked_until, Some(Timestamp::MAX));
    assert!(b.probe_ended(&config(), at(32_000), 0, probe.epoch, Call::Success));
    assert_eq!(b.gate(), Gate { blocked_until: None, limit: Some(1), probe: None });
}

/// Also covers: B8.
#[test]
fn a_dead_prober_is_replaced_and_its_late_word_is_ignored() {
    let mut b = opened();
    let old = b.start_probe(&config(), at(31_000), worker(1)).unwrap();
    let new = b.start_probe(&config(), old.expires_at, worker(2)).unwrap();
    assert!(!b.probe_ended(&config(), at(99_000), 0, old.epoch, Call::Success));
    assert_eq!(b.phase, Phase::HalfOpen { probe: new });
}

/// Also covers: B12.
#[test]
fn a_failed_probe_opens_for_longer_up_to_the_ceiling() {
    let mut b = opened();
    let mut now = 31_000;
    let mut waits = Vec::new();
    for _ in 0..5 {
        let probe = b.start_probe(&config(), at(now), worker(1)).unwrap();
        b.probe_ended(&config(), at(now), 0, probe.epoch, Call::ServerError);
        let until = instant::to_millis(b.next_probe_at().unwrap());
        waits.push(until - now);
        now = until;
    }
    assert_eq!(waits, [60_000, 120_000, 240_000, 300_000, 300_000]);
}

/// Also covers: B10.
#[test]
fn a_neutral_probe_frees_the_slot_and_the_next_one_takes_a_breath() {
    for call in [Call::Neutral, Call::Busy] {
        let mut b = opened();
        let probe = b.start_probe(&config(), at(31_000), worker(1)).unwrap();
        assert!(b.probe_ended(&config(), at(31_500), 0, probe.epoch, call));
        assert_eq!((b.next_probe_at(), b.reopened), (Some(at(36_500)), 0), "{call:?}");
        assert_eq!(b.start_probe(&config(), at(36_499), worker(2)), None);
        assert!(b.start_probe(&config(), at(36_500), worker(2)).is_some());
    }
    let short = Config { cooldown: Duration::from_millis(200), ..config() };
    let mut b = opened();
    let probe = b.start_probe(&short, at(31_000), worker(1)).unwrap();
    b.probe_ended(&short, at(31_500), 0, probe.epoch, Call::Neutral);
    assert_eq!(b.next_probe_at(), Some(at(31_700)), "never longer than the cool-down");
}

#[test]
fn an_answer_that_is_no_success_is_a_good_probe_and_lets_the_ramp_grow() {
    let mut b = opened();
    let probe = b.start_probe(&config(), at(31_000), worker(1)).unwrap();
    assert!(b.probe_ended(&config(), at(31_500), 0, probe.epoch, Call::Answered));
    assert_eq!(b.phase, Phase::Ramp { limit: 1, successes: 0 });
    let epoch = b.epoch;
    for _ in 0..63 {
        b.record(&config(), at(32_000), 0, Call::Answered, epoch);
    }
    assert_eq!(b.phase, Phase::Closed);
    b.record(&config(), at(32_000), 0, Call::Unreachable, epoch);
    b.record(&config(), at(32_000), 0, Call::Unreachable, epoch);
    let before = b.clone();
    b.record(&config(), at(32_000), 0, Call::Answered, epoch);
    assert_eq!(b, before, "4xx do not count while it is closed");
}

/// Also covers: B8.
#[test]
fn a_probe_that_is_kept_outlives_its_time() {
    let mut b = opened();
    let probe = b.start_probe(&config(), at(31_000), worker(1)).unwrap();
    let ttl = config().probe_ttl.as_millis() as i64;
    assert!(b.keep_probe(&config(), at(31_000 + ttl / 2), probe.epoch));
    assert_eq!(b.start_probe(&config(), probe.expires_at, worker(2)), None, "it is still out");
    let lost = at(31_000 + ttl / 2 + ttl);
    let next = b.start_probe(&config(), lost, worker(2)).unwrap();
    assert!(!b.keep_probe(&config(), lost, probe.epoch), "somebody else has it");
    assert_eq!(b.phase, Phase::HalfOpen { probe: next });
}

/// What speaks against a target, and what proves that it is there.
#[test]
fn codes_count_as_the_decisions_say() {
    for (code, call) in [
        (Code::DownloadTimeout, Call::Unreachable),
        (Code::DownloadConnect, Call::Unreachable),
        (Code::DownloadHttp5xx, Call::ServerError),
        (Code::DownloadBusy, Call::Busy),
        (Code::DownloadRateLimited, Call::Busy),
        (Code::DownloadHttp4xx, Call::Answered),
        (Code::DownloadHttp4xxTransient, Call::Answered),
        (Code::DownloadTooSlow, Call::Answered),
        (Code::DownloadDnsNxdomain, Call::Answered),
        (Code::UploadChecksum, Call::Answered),
        (Code::Gw4xx, Call::Answered),
        (Code::DownloadProxyFailed, Call::Neutral),
        (Code::DownloadProxyExhausted, Call::Neutral),
        (Code::HandlerFailed, Call::Neutral),
        (Code::SystemTimeout, Call::Neutral),
    ] {
        assert_eq!(Call::of(code), call, "{code}");
    }
}

/// Also covers: B9.
#[test]
fn a_call_from_before_the_opening_neither_closes_nor_reopens() {
    let mut b = opened();
    let before = b.clone();
    b.record(&config(), at(2_000), 0, Call::Success, 0);
    b.record(&config(), at(2_000), 0, Call::Unreachable, 0);
    assert_eq!(b, before);
    let probe = b.start_probe(&config(), at(31_000), worker(1)).unwrap();
    b.probe_ended(&config(), at(31_000), 0, probe.epoch, Call::Success);
    let ramp = b.clone();
    b.record(&config(), at(31_000), 0, Call::Unreachable, 0);
    assert_eq!(b, ramp);
}

/// Also covers: T3, M36.
#[test]
fn the_ramp_doubles_and_ends_closed() {
    let mut b = opened();
    let probe = b.start_probe(&config(), at(31_000), worker(1)).unwrap();
    b.probe_ended(&config(), at(31_000), 0, probe.epoch, Call::Success);
    let mut limits = vec![1];
    let epoch = b.epoch;
    while b.phase != Phase::Closed {
        b.record(&config(), at(32_000), 0, Call::Success, epoch);
        if let Phase::Ramp { limit, .. } = b.phase
            && limits.last() != Some(&limit)
        {
            limits.push(limit);
        }
    }
    assert_eq!(limits, [1, 2, 4, 8, 16, 32]);
    assert_eq!(b.reopened, 0);
}

#[test]
fn a_failure_in_the_ramp_halves_it_and_at_one_reopens() {
    let mut b = opened();
    b.phase = Phase::Ramp { limit: 4, successes: 1 };
    let epoch = b.epoch;
    b.record(&config(), at(40_000), 0, Call::ServerError, epoch);
    assert_eq!(b.phase, Phase::Ramp { limit: 2, successes: 0 });
    b.record(&config(), at(40_000), 0, Call::ServerError, epoch);
    b.record(&config(), at(40_000), 0, Call::ServerError, epoch);
    assert_eq!(b.phase_name(), "open");
}

#[test]
fn a_person_holds_and_releases() {
    let mut b = Breaker::new(at(0));
    let hold = Hold { by: "ann".into(), reason: "upgrade".into(), since: at(0), until: Some(at(500)) };
    b.hold(hold);
    assert_eq!(b.gate().blocked_until, Some(at(500)));
    assert!(b.is_held(at(499)) && !b.is_held(at(500)));
    b.release(at(100));
    assert_eq!(b.gate().blocked_until, None);
    let mut b = opened();
    b.hold(Hold { by: "ann".into(), reason: "x".into(), since: at(0), until: None });
    assert_eq!(b.start_probe(&config(), at(99_000), worker(1)), None, "nobody probes a held target");
    b.release(at(99_000));
    assert_eq!(b.phase_name(), "ramp");
}

#[test]
fn throttling_blocks_until_its_time_without_opening() {
    let mut b = Breaker::new(at(0));
    b.throttle(at(9_000));
    b.throttle(at(5_000));
    assert_eq!(b.gate().blocked_until, Some(at(9_000)));
    assert_eq!(b.phase, Phase::Closed);
}

#[test]
fn a_target_that_asked_for_time_is_not_probed_before() {
    let mut b = opened();
    b.throttle(at(90_000));
    assert_eq!(b.next_probe_at(), Some(at(90_000)));
    assert_eq!(b.start_probe(&config(), at(89_999), worker(1)), None);
    assert!(b.start_probe(&config(), at(90_000), worker(1)).is_some());
}

#[test]
fn it_says_when_a_call_may_be_made_again() {
    let mut b = Breaker::new(at(0));
    assert_eq!(b.free_at(at(0)), None);
    b.throttle(at(9_000));
    assert_eq!((b.free_at(at(8_999)), b.free_at(at(9_000))), (Some(at(9_000)), None));
    let mut b = opened();
    assert_eq!((b.free_at(at(2_000)), b.free_at(at(31_000))), (Some(at(31_000)), None));
    b.hold(Hold { by: "ann".into(), reason: "upgrade".into(), since: at(0), until: None });
    assert_eq!(b.free_at(at(31_000)), Some(Timestamp::MAX));
}

#[test]
fn only_what_says_nothing_any_more_is_forgotten() {
    let week = 7 * 24 * 3_600_000;
    let mut b = Breaker::new(at(0));
    assert!(b.is_forgettable(at(0), true));
    b.throttle(at(9_000));
    assert!(!b.is_forgettable(at(8_999), false) && b.is_forgettable(at(9_000), true));
    b.hold(Hold { by: "ann".into(), reason: "upgrade".into(), since: at(0), until: None });
    assert!(!b.is_forgettable(at(week * 9), false), "a person's word stays");
    let b = opened();
    assert!(!b.is_forgettable(at(31_000 + week - 1), false));
    assert!(b.is_forgettable(at(31_000 + week), false));
    assert!(!b.is_forgettable(at(31_000 + week), true), "jobs wait for it");
}

#[test]
fn a_breaker_reads_back_from_its_row() {
    let mut b = opened();
    b.start_probe(&config(), at(31_000), worker(1));
    let json = serde_json::to_string(&b).unwrap();
    assert_eq!(serde_json::from_str::<Breaker>(&json).unwrap(), b);
}

/// Random moves of the outside world.
#[derive(Debug, Clone)]
enum Op {
    Record(u8, u64),
    Probe(u8),
    ProbeEnded(u8, u64),
    Keep(u64),
    Pass(u32),
}

fn call(n: u8) -> Call {
    [Call::Success, Call::ServerError, Call::Unreachable, Call::Neutral, Call::Answered, Call::Busy]
        [n as usize % 6]
}

proptest! {
    /// Also covers: T3.
    #[test]
    fn it_never_closes_without_a_good_probe(ops in prop::collection::vec(prop_oneof![
        (0u8..6, 0u64..6).prop_map(|(c, back)| Op::Record(c, back)),
        (0u64..3).prop_map(Op::Keep),
        (0u8..3).prop_map(Op::Probe),
        (0u8..6, 0u64..3).prop_map(|(c, back)| Op::ProbeEnded(c, back)),
        (0u32..40_000).prop_map(Op::Pass),
    ], 1..400), draw: u64) {
        let cfg = config();
        let mut b = Breaker::new(at(0));
        let mut now = 0i64;
        for op in ops {
            let before = b.clone();
            let (mut good_probe, mut neutral) = (false, false);
            match op {
                Op::Pass(ms) => now += i64::from(ms),
                Op::Record(c, back) => b.record(&cfg, at(now), draw, call(c), before.epoch.saturating_sub(back)),
                Op::Keep(back) => { b.keep_probe(&cfg, at(now), before.epoch.saturating_sub(back)); }
                Op::Probe(w) => { b.start_probe(&cfg, at(now), worker(w)); }
                Op::ProbeEnded(c, back) => {
                    let counted = b.probe_ended(&cfg, at(now), draw, before.epoch.saturating_sub(back), call(c));
                    good_probe = counted && matches!(call(c), Call::Success | Call::Answered);
                    neutral = counted && matches!(call(c), Call::Neutral | Call::Busy);
                }
            }
            let was_shut = matches!(before.phase, Phase::Open { .. } | Phase::HalfOpen { .. });
            let passes = matches!(b.phase, Phase::Closed | Phase::Ramp { .. });
            prop_assert!(!(was_shut && passes) || good_probe, "{before:?} -> {b:?}");
            if let (Phase::HalfOpen { probe: a }, Phase::HalfOpen { probe: z }) = (&before.phase, &b.phase) {
                prop_assert!(a.epoch == z.epoch || a.expires_at <= at(now), "two probes at once");
            }
            // However a probe ends, the next one is not at once.
            prop_assert!(!neutral || b.next_probe_at() > Some(at(now)), "{b:?}");
            prop_assert!(b.epoch >= before.epoch);
            prop_assert!(b.recent.len() <= 20);
        }
    }
}
