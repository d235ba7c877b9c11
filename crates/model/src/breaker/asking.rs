//! A target that asks for time again and again, and does nothing else: since when, and until nobody waits for it any more.
//!
//! Each wish has an end, and whoever waits behind it hears none of them itself. Together they would keep everybody waiting for as long as
//! the target likes. So its row remembers the first of them, by the store's clock, until an answer of another kind comes. The law "only
//! a good answer, a person's word or a long silence makes the time begin anew" is checked here.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Breaker;
use crate::failure::Code;
use crate::instant;

/// Wishes that are further apart than this do not belong together: nobody asked meanwhile, so nobody waited for the target. What is due
/// later than so long after the last one waits for something else.
pub const NEXT_WISH: Duration = Duration::from_secs(3600);

/// A target that has asked for time, without one good answer between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asking {
    /// Since when.
    pub since: Timestamp,
    /// What it asked with last.
    pub code: Code,
}

impl Breaker {
    /// The target asked for time until then, with this code.
    pub fn asks(&mut self, now: Timestamp, until: Timestamp, code: Code) {
        let since = self.asking.filter(|_| self.still_asks(now)).map_or(now, |asking| asking.since);
        self.asking = Some(Asking { since, code });
        self.throttle(until);
    }

    /// Since when it asks for time, once that is as long as the limit. Only while it does: what was waited for and has come is to be tried.
    #[must_use]
    pub fn asks_too_long(&self, limit: Duration, now: Timestamp) -> Option<Asking> {
        let asks = self.throttled_until.is_some_and(|until| until > now) && !self.is_held(now);
        self.asking.filter(|asking| asks && instant::between(asking.since, now) >= limit)
    }

    /// Nobody waits for it any more: whoever comes next has all the time again.
    pub const fn ask_anew(&mut self) {
        self.asking = None;
    }

    /// Whether its next wish would belong to the one before.
    pub(super) fn still_asks(&self, now: Timestamp) -> bool {
        let lately = |until| instant::between(until, now) <= NEXT_WISH;
        self.asking.is_some() && self.throttled_until.is_some_and(lately)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Call, Config, Hold};
    use super::*;
    use crate::id::WorkerId;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn at(secs: u64) -> Timestamp {
        instant::after(Timestamp::UNIX_EPOCH, Duration::from_secs(secs))
    }

    /// Asked for an hour, every hour, up to this hour.
    fn asked_up_to(hour: u64) -> Breaker {
        let mut b = Breaker::new(at(0));
        for n in 0..=hour {
            b.asks(at(n * 3600), at((n + 1) * 3600), Code::DownloadRateLimited);
        }
        b
    }

    #[test]
    fn it_is_counted_from_the_first_wish_and_told_with_the_last_code() {
        let mut b = asked_up_to(23);
        assert_eq!(b.asks_too_long(DAY, at(86_399)), None, "not yet");
        b.asks(at(86_400), at(86_460), Code::DownloadBusy);
        let asking = Asking { since: at(0), code: Code::DownloadBusy };
        assert_eq!(b.asks_too_long(DAY, at(86_400)), Some(asking));
        assert_eq!(b.asks_too_long(DAY, at(86_460)), None, "its time is over: it is tried first");
        let hold = Hold { by: "ann".into(), reason: "repairs".into(), since: at(0), until: None };
        let held = Breaker { hold: Some(hold), ..b.clone() };
        assert_eq!(held.asks_too_long(DAY, at(86_400)), None, "a person wants it so");
        b.ask_anew();
        assert_eq!(b.asks_too_long(DAY, at(86_400)), None);
        assert_eq!(b.throttled_until, Some(at(86_460)), "what it asked for still holds");
        b.asks(at(86_460), at(86_520), Code::DownloadBusy);
        assert_eq!(b.asking.map(|asking| asking.since), Some(at(86_460)));
    }

    #[test]
    fn a_good_answer_between_makes_the_time_begin_anew_and_trouble_does_not() {
        let config = Config::default();
        for (call, ends) in [
            (Call::Success, true),
            (Call::Answered, true),
            (Call::ServerError, false),
            (Call::Unreachable, false),
            (Call::Busy, false),
            (Call::Neutral, false),
        ] {
            let mut b = asked_up_to(5);
            b.record(&config, at(20_000), 0, call, 0);
            assert_eq!(b.asking.is_none(), ends, "{call:?}");
            let mut b = asked_up_to(5);
            for _ in 0..3 {
                b.record(&config, at(21_600), 0, Call::Unreachable, b.epoch);
            }
            let worker = WorkerId::from_parts(at(0), [1; 10]);
            let probe = b.start_probe(&config, at(22_000), worker).unwrap();
            b.probe_ended(&config, at(22_001), 0, probe.epoch, call);
            assert_eq!(b.asking.is_none(), ends, "a probe: {call:?}");
        }
        let mut b = asked_up_to(5);
        b.release(at(20_000));
        assert_eq!((b.asking, b.throttled_until), (None, None), "a person said so");
    }

    #[test]
    fn after_a_long_silence_it_is_another_story() {
        let mut b = asked_up_to(5);
        let last = 6 * 3600;
        assert!(!b.is_forgettable(at(last + 3600), false), "the next wish belongs to it");
        assert!(b.is_forgettable(at(last + 3601), true));
        let mut late = b.clone();
        late.asks(at(last + 3601), at(last + 3700), Code::DownloadRateLimited);
        assert_eq!(late.asking.map(|asking| asking.since), Some(at(last + 3601)));
        b.asks(at(last + 3600), at(last + 3700), Code::DownloadRateLimited);
        assert_eq!(b.asking.map(|asking| asking.since), Some(at(0)));
    }

    #[test]
    fn a_row_from_before_reads_back_and_one_of_now_too() {
        let b = asked_up_to(0);
        let json = serde_json::to_string(&b).unwrap();
        assert!(
            json.contains(r#""asking":{"since":"1970-01-01T00:00:00Z","code":"DOWNLOAD_RATE_LIMITED"}"#),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<Breaker>(&json).unwrap(), b);
        let old = r#"{"phase":"closed","epoch":0,"since":"1970-01-01T00:00:00Z","reopened":0,"streak":0,"recent":[],"hold":null,
            "throttled_until":"1970-01-01T01:00:00Z"}"#;
        let expected = Breaker { throttled_until: Some(at(3600)), ..Breaker::new(at(0)) };
        assert_eq!(serde_json::from_str::<Breaker>(old).unwrap(), expected);
    }

    /// What comes from outside, with the seconds before it.
    #[derive(Debug, Clone, Copy)]
    enum Op {
        Asks(u64),
        Hears(Call),
    }

    fn op() -> impl Strategy<Value = (u64, Op)> {
        let call = prop_oneof![
            1 => Just(Call::Success),
            1 => Just(Call::Answered),
            3 => Just(Call::ServerError),
            3 => Just(Call::Unreachable),
            3 => Just(Call::Neutral),
        ];
        (0u64..4_000, prop_oneof![4 => (1u64..4_000).prop_map(Op::Asks), 1 => call.prop_map(Op::Hears)])
    }

    proptest! {
        /// The row knows what a history tells: the first wish of those that belong together.
        #[test]
        fn it_asks_since_the_first_wish_after_the_last_good_answer(ops in prop::collection::vec(op(), 1..200)) {
            let config = Config::default();
            let (mut b, mut now) = (Breaker::new(at(0)), 0);
            let (mut first, mut last_until) = (None, 0);
            for (wait, op) in ops {
                now += wait;
                match op {
                    Op::Asks(secs) => {
                        if first.is_some() && now > last_until + NEXT_WISH.as_secs() {
                            first = None;
                        }
                        first = first.or(Some(now));
                        last_until = last_until.max(now + secs);
                        b.asks(at(now), at(now + secs), Code::DownloadRateLimited);
                    }
                    Op::Hears(call) => {
                        b.record(&config, at(now), 0, call, b.epoch);
                        if matches!(call, Call::Success | Call::Answered) {
                            first = None;
                        }
                    }
                }
                prop_assert_eq!(b.asking.map(|asking| asking.since), first.map(at));
                let late = first.filter(|first| now >= first + 86_400 && last_until > now);
                prop_assert_eq!(b.asks_too_long(DAY, at(now)).map(|asking| asking.since), late.map(at));
                prop_assert!(first.is_none() || b.asking.is_some());
            }
        }
    }
}
