//! What the gateway of the demo does when: one minute, again and again.
//!
//! Pure: the time since the beginning is an argument. Everything that happens in a demo is made to fit this table: within one round the
//! breaker opens and closes again, and what was refused for want of a licence is replayed.

use std::time::Duration;

/// How long one round takes.
pub(super) const ROUND: Duration = Duration::from_secs(60);

/// How the gateway is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    /// It does its work.
    Well,
    /// It does its work, and takes its time.
    Slow,
    /// It answers 503, or hangs up in the middle of an answer.
    Down,
}

impl Mood {
    /// What people read when it begins.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Well => "the gateway is well",
            Self::Slow => "the gateway becomes slow: each answer takes two seconds longer",
            Self::Down => "the gateway goes down: it answers 503, or hangs up",
        }
    }
}

/// One act of a round: when it begins, in seconds, how the gateway is from then on, and whether it has its licence for TEI.
struct Act {
    begins: u64,
    mood: Mood,
    licensed: bool,
}

const ACTS: [Act; 4] = [
    Act { begins: 0, mood: Mood::Well, licensed: false },
    Act { begins: 12, mood: Mood::Slow, licensed: false },
    Act { begins: 20, mood: Mood::Down, licensed: false },
    Act { begins: 30, mood: Mood::Well, licensed: true },
];

/// When in a round the operator replays what was refused.
const REPLAY: Duration = Duration::from_secs(45);

/// So many rounds at first are lively, and then one of so many.
const LIVELY: u32 = 15;
const SELDOM: u32 = 10;

/// The schedule, so many times as fast as it is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule {
    speed: f64,
}

impl Schedule {
    pub(super) const fn new(speed: f64) -> Self {
        Self { speed }
    }

    /// So long of the demo's time, on the clock.
    pub(super) fn lasts(&self, time: Duration) -> Duration {
        time.div_f64(self.speed)
    }

    /// Whether many come then: at first, and now and then later. A demo that is left alone overnight must not fill a disk.
    pub(super) fn is_lively(&self, since: Duration) -> bool {
        let (round, _) = self.place(since);
        round < LIVELY || round % SELDOM == 0
    }

    /// How the gateway is after so long.
    pub(super) fn mood(&self, since: Duration) -> Mood {
        self.act(since).map_or(Mood::Well, |act| act.mood)
    }

    /// Whether TEI is made then.
    pub(super) fn licensed(&self, since: Duration) -> bool {
        self.act(since).is_none_or(|act| act.licensed)
    }

    /// When the next act begins.
    pub(super) fn next_act(&self, since: Duration) -> Duration {
        let (rounds, within) = self.place(since);
        let next = ACTS.iter().map(|act| Duration::from_secs(act.begins)).find(|begins| *begins > within);
        self.lasts(ROUND * rounds + next.unwrap_or(ROUND))
    }

    /// When the next replay is due.
    pub(super) fn next_replay(&self, since: Duration) -> Duration {
        let (rounds, within) = self.place(since);
        self.lasts(ROUND * if within < REPLAY { rounds } else { rounds + 1 } + REPLAY)
    }

    fn act(&self, since: Duration) -> Option<&'static Act> {
        let (_, within) = self.place(since);
        ACTS.iter().rev().find(|act| Duration::from_secs(act.begins) <= within)
    }

    /// The round, and how far into it. Whole milliseconds, so that whoever sleeps until an act finds it begun.
    fn place(&self, since: Duration) -> (u32, Duration) {
        let millis = since.mul_f64(self.speed).as_micros().div_ceil(1_000);
        let round = ROUND.as_millis();
        let within = u64::try_from(millis % round).unwrap_or_default();
        (u32::try_from(millis / round).unwrap_or(u32::MAX), Duration::from_millis(within))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_is_well_slow_down_and_well_again() {
        for speed in [1.0, 0.5, 12.0] {
            let schedule = Schedule::new(speed);
            for round in 0..3 {
                for (at, mood, licensed) in [
                    (0, Mood::Well, false),
                    (11, Mood::Well, false),
                    (12, Mood::Slow, false),
                    (20, Mood::Down, false),
                    (29, Mood::Down, false),
                    (30, Mood::Well, true),
                    (59, Mood::Well, true),
                ] {
                    let since = schedule.lasts(ROUND * round + Duration::from_secs(at));
                    let is = (schedule.mood(since), schedule.licensed(since));
                    assert_eq!(is, (mood, licensed), "round {round}, {at} s, {speed} times as fast");
                }
            }
        }
    }

    #[test]
    fn after_a_quarter_of_an_hour_most_rounds_are_calm() {
        let schedule = Schedule::new(1.0);
        let lively: Vec<u32> = (0..60).filter(|round| schedule.is_lively(ROUND * *round)).collect();
        assert_eq!(lively, [(0..15).collect::<Vec<_>>(), vec![20, 30, 40, 50]].concat());
    }

    #[test]
    fn whoever_waits_for_what_is_next_meets_every_act_and_one_replay_a_round() {
        let schedule = Schedule::new(6.0);
        let (mut since, mut moods) = (Duration::ZERO, vec![schedule.mood(Duration::ZERO)]);
        while moods.len() < 9 {
            let next = schedule.next_act(since);
            assert!(next > since, "time goes on: {next:?} after {since:?}");
            since = next;
            moods.push(schedule.mood(since));
        }
        use Mood::{Down, Slow, Well};
        assert_eq!(moods, [Well, Slow, Down, Well, Well, Slow, Down, Well, Well]);
        let first = schedule.next_replay(Duration::ZERO);
        let second = schedule.next_replay(first);
        assert_eq!((first, second - first), (REPLAY / 6, ROUND / 6));
        assert!(schedule.licensed(first), "what is replayed is mended");
    }
}
