//! When something that comes again is due: cron expressions, daily civil times, fixed intervals.
//!
//! Times are civil: `0 3 * * *` in Berlin is three o'clock in Berlin, summer and winter. On the days when the clocks change
//! each civil time happens once: one that is skipped comes as much later as the clocks were put forward, one that comes twice
//! happens the first time. Only an expression with `*` for the hour counts real hours, all of them.

mod cron;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

use crate::instant;
use cron::Cron;

/// No schedule is looked ahead further than this: 29 February comes within eight years.
const HORIZON_DAYS: i32 = 366 * 9;

/// When something is due, again and again.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    rule: Rule,
    zone: TimeZone,
}

#[derive(Debug, Clone, PartialEq)]
enum Rule {
    Cron(Cron),
    Daily(Vec<Time>),
    Every(Duration),
}

/// Why a schedule cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no schedule: {why}")]
pub struct ScheduleError {
    text: String,
    why: String,
}

impl ScheduleError {
    fn new(text: &str, why: impl fmt::Display) -> Self {
        Self { text: text.to_owned(), why: why.to_string() }
    }
}

/// What is done about times that passed while nobody was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missed {
    /// Nothing: only what is on time happens.
    Skip,
    /// The newest one is made up for.
    #[default]
    Once,
    /// Every one is made up for, the newest thousand at most.
    All,
}

impl Schedule {
    /// Five fields, as cron has them: minute, hour, day of the month, month, day of the week. Lists, ranges, steps and
    /// names work; days of the month and of the week that are both restricted are joined by "or". Also `@hourly`, `@daily`,
    /// `@weekly`, `@monthly`, `@yearly`.
    pub fn cron(expression: &str) -> Result<Self, ScheduleError> {
        Ok(Self { rule: Rule::Cron(Cron::parse(expression)?), zone: TimeZone::UTC })
    }

    /// Every day at these civil times: `23:55`, or several with commas.
    pub fn daily(times: &str) -> Result<Self, ScheduleError> {
        let read = |text: &str| {
            Time::strptime("%H:%M", text.trim())
                .or_else(|_| Time::strptime("%H:%M:%S", text.trim()))
                .map_err(|_| ScheduleError::new(times, format_args!("{text:?} is no time like 23:55")))
        };
        let times = times.split(',').map(read).collect::<Result<Vec<Time>, _>>()?;
        Ok(Self { rule: Rule::Daily(times), zone: TimeZone::UTC })
    }

    /// At whole multiples of this interval since 1970, at least a second.
    #[must_use]
    pub fn every(interval: Duration) -> Self {
        Self { rule: Rule::Every(interval.max(Duration::from_secs(1))), zone: TimeZone::UTC }
    }

    /// In this time zone: an IANA name such as `Europe/Berlin`.
    pub fn in_zone(mut self, name: &str) -> Result<Self, ScheduleError> {
        self.zone = TimeZone::get(name).map_err(|error| ScheduleError::new(name, error))?;
        Ok(self)
    }

    /// The first due instant behind `after`.
    #[must_use]
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        match &self.rule {
            Rule::Every(interval) => {
                let ms = instant::millis(*interval).max(1);
                let at = instant::to_millis(after).div_euclid(ms).checked_add(1)?.checked_mul(ms)?;
                Some(instant::from_millis(at)).filter(|next| *next > after)
            }
            Rule::Daily(times) => self.first(after, |_| true, times),
            Rule::Cron(cron) if cron.every_hour() => self.real_hours(cron, after),
            Rule::Cron(cron) => self.first(after, |date| cron.on(date), &cron.times()),
        }
    }

    /// All due instants behind `after` up to `upto`, as far as the policy wants them: what came too late by more than
    /// `grace` was missed.
    #[must_use]
    pub fn due(&self, after: Timestamp, upto: Timestamp, missed: Missed, grace: Duration) -> Vec<Timestamp> {
        let mut due = std::collections::VecDeque::new();
        let mut at = after;
        while let Some(next) = self.next(at).filter(|next| *next <= upto) {
            due.push_back(next);
            if due.len() > MOST_MISSED {
                due.pop_front();
            }
            at = next;
        }
        let late = |at: &Timestamp| instant::between(*at, upto) > grace;
        match missed {
            Missed::All => due.into(),
            Missed::Once => due.pop_back().into_iter().collect(),
            Missed::Skip => due.pop_back().filter(|at| !late(at)).into_iter().collect(),
        }
    }

    /// Each civil time once, on the days that match.
    fn first(&self, after: Timestamp, on: impl Fn(Date) -> bool, times: &[Time]) -> Option<Timestamp> {
        let start = self.zone.to_datetime(after).date();
        // A time that was put forward can come after the next date has begun nowhere on earth, but a day ago may still
        // owe one.
        let mut date = start.checked_sub(1.day()).unwrap_or(start);
        for _ in 0..HORIZON_DAYS {
            if on(date) {
                let instants = times.iter().filter_map(|time| self.instant(date.to_datetime(*time)));
                if let Some(next) = instants.filter(|at| *at > after).min() {
                    return Some(next);
                }
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    fn instant(&self, civil: DateTime) -> Option<Timestamp> {
        self.zone.to_ambiguous_timestamp(civil).compatible().ok()
    }

    /// Every real minute that matches, also those that the clocks show twice.
    fn real_hours(&self, cron: &Cron, after: Timestamp) -> Option<Timestamp> {
        let minute = SignedDuration::from_mins(1);
        let ms = instant::to_millis(after).div_euclid(60_000).checked_add(1)?.checked_mul(60_000)?;
        let mut at = Timestamp::from_millisecond(ms).ok()?;
        let mut days = 0;
        while days < HORIZON_DAYS {
            let civil = self.zone.to_datetime(at);
            if !cron.on(civil.date()) {
                let next = self.instant(civil.date().tomorrow().ok()?.to_datetime(Time::midnight()))?;
                at = next.max(at.checked_add(minute).ok()?);
                days += 1;
                continue;
            }
            if cron.at_minute(civil.minute()) {
                return Some(at);
            }
            at = at.checked_add(minute).ok()?;
        }
        None
    }
}

/// Never more than this are made up for.
const MOST_MISSED: usize = 1_000;

impl FromStr for Schedule {
    type Err = ScheduleError;

    /// Reads what [`Schedule`] displays: `cron 0 3 * * * in Europe/Berlin`, `daily 23:55 in UTC`, `every 300 s`.
    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let (rule, zone) = text.split_once(" in ").unwrap_or((text, "UTC"));
        let schedule = match rule.split_once(' ') {
            Some(("cron", expression)) => Self::cron(expression)?,
            Some(("daily", times)) => Self::daily(times)?,
            Some(("every", wait)) => {
                let secs = wait.trim_end_matches('s').trim().parse::<u64>();
                Self::every(Duration::from_secs(secs.map_err(|error| ScheduleError::new(text, error))?))
            }
            _ => return Err(ScheduleError::new(text, "it starts with cron, daily or every")),
        };
        schedule.in_zone(zone.trim())
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zone = self.zone.iana_name().unwrap_or("UTC");
        match &self.rule {
            Rule::Cron(cron) => write!(f, "cron {cron} in {zone}"),
            Rule::Daily(times) => {
                f.write_str("daily ")?;
                for (n, time) in times.iter().enumerate() {
                    let comma = if n == 0 { "" } else { "," };
                    write!(f, "{comma}{}", time.strftime("%H:%M:%S"))?;
                }
                write!(f, " in {zone}")
            }
            Rule::Every(interval) => write!(f, "every {} s", interval.as_secs()),
        }
    }
}

#[cfg(test)]
mod tests;
