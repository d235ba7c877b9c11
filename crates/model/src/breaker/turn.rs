//! What a breaker did, as people want to read it afterwards: what, why, by whom.
//!
//! Not every change is a turn: calls are counted, ramps grow and probes are kept, and nobody wants to read that.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Breaker, Phase};
use crate::state::words;

words!(
    /// What a breaker did.
    Deed {
        /// Too many calls failed: jobs wait.
        Opened = "opened",
        /// One job looks whether the target answers.
        Probed = "probed",
        /// It does not: jobs wait on.
        Reopened = "reopened",
        /// It does: a few jobs at a time.
        Answered = "answered",
        /// All jobs again.
        Closed = "closed",
        /// The target asked for time.
        Throttled = "throttled",
        /// A person holds the target.
        Held = "held",
        /// A person let it go.
        Released = "released",
    }
);

/// One thing that a breaker did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// What.
    pub deed: Deed,
    /// Why: the code of the last failed call, until when, or a person's words.
    pub why: Option<String>,
    /// The person, where it was one.
    pub by: Option<String>,
}

impl Turn {
    /// A person let the target go.
    pub fn released(by: impl Into<String>, why: Option<&str>) -> Self {
        Self { deed: Deed::Released, why: why.map(str::to_owned), by: Some(by.into()) }
    }

    /// What the change from one to the other was, at this instant; nothing when it is of no interest.
    #[must_use]
    pub fn between(before: &Breaker, after: &Breaker, now: Timestamp) -> Option<Self> {
        if let Some(hold) = after.hold.as_ref().filter(|hold| before.hold.as_ref() != Some(hold)) {
            let why = Some(hold.reason.clone()).filter(|why| !why.is_empty());
            return Some(Self { deed: Deed::Held, why, by: Some(hold.by.clone()) });
        }
        let code = || after.down.and_then(|down| down.code).map(|code| code.name().to_owned());
        let turn = |deed: Deed, why: Option<String>| Some(Self { deed, why, by: None });
        match (&before.phase, &after.phase) {
            (Phase::Closed | Phase::Ramp { .. }, Phase::Open { .. }) => turn(Deed::Opened, code()),
            (Phase::HalfOpen { .. }, Phase::Open { .. }) if after.reopened > before.reopened => {
                turn(Deed::Reopened, code())
            }
            (Phase::Open { .. } | Phase::HalfOpen { .. }, Phase::HalfOpen { .. })
                if after.epoch > before.epoch =>
            {
                turn(Deed::Probed, None)
            }
            (Phase::Open { .. } | Phase::HalfOpen { .. }, Phase::Ramp { .. }) => turn(Deed::Answered, None),
            (Phase::Ramp { .. }, Phase::Closed) => turn(Deed::Closed, None),
            (_, _) => {
                let until = after.throttled_until.filter(|until| *until > now)?;
                let already = before.throttled_until.is_some_and(|until| until > now);
                if already { None } else { turn(Deed::Throttled, Some(until.to_string())) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Call, Config, Hold};
    use super::*;
    use crate::failure::Code;
    use crate::id::WorkerId;
    use crate::instant;

    fn at(secs: u64) -> Timestamp {
        instant::after(Timestamp::UNIX_EPOCH, Duration::from_secs(secs))
    }

    struct Story {
        breaker: Breaker,
        turns: Vec<String>,
    }

    impl Story {
        fn then<T>(&mut self, secs: u64, act: impl FnOnce(&mut Breaker, Timestamp) -> T) -> T {
            let before = self.breaker.clone();
            let said = act(&mut self.breaker, at(secs));
            if let Some(turn) = Turn::between(&before, &self.breaker, at(secs)) {
                let words = [Some(turn.deed.as_str().to_owned()), turn.why, turn.by];
                self.turns.push(words.into_iter().flatten().collect::<Vec<_>>().join(" "));
            }
            said
        }
    }

    #[test]
    fn a_breaker_tells_its_story_and_leaves_out_what_nobody_wants_to_read() {
        let config = Config::default();
        let worker = WorkerId::from_parts(at(1), [1; 10]);
        let mut story = Story { breaker: Breaker::new(at(0)), turns: Vec::new() };
        for second in 1..=3 {
            story.then(second, |b, now| {
                b.record(&config, now, 0, Call::Unreachable, b.epoch);
                b.blame(Code::GwTimeout);
            });
        }
        let probe = story.then(40, |b, now| b.start_probe(&config, now, worker)).unwrap();
        story.then(41, |b, now| b.keep_probe(&config, now, probe.epoch));
        story.then(42, |b, now| b.probe_ended(&config, now, 0, probe.epoch, Call::ServerError));
        let probe = story.then(200, |b, now| b.start_probe(&config, now, worker)).unwrap();
        story.then(201, |b, now| b.probe_ended(&config, now, 0, probe.epoch, Call::Success));
        for _ in 0..63 {
            story.then(202, |b, now| b.record(&config, now, 0, Call::Success, b.epoch));
        }
        story.then(300, |b, _| b.throttle(at(310)));
        story.then(301, |b, _| b.throttle(at(320)));
        let hold = Hold { by: "ann".into(), reason: "maintenance".into(), since: at(400), until: None };
        story.then(400, |b, _| b.hold(hold));
        let told = [
            "opened GW_TIMEOUT",
            "probed",
            "reopened GW_TIMEOUT",
            "probed",
            "answered",
            "closed",
            "throttled 1970-01-01T00:05:10Z",
            "held maintenance ann",
        ];
        assert_eq!(story.turns, told);
    }
}
