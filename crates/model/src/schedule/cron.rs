//! The five fields of a cron expression.

use std::fmt;

use jiff::civil::{Date, Time};

use super::ScheduleError;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// A parsed expression: one bit for every value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cron {
    text: String,
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// The hour is `*`.
    every_hour: bool,
    /// Day of the month and day of the week are both restricted: either will do.
    either_day: bool,
}

impl Cron {
    pub(super) fn parse(text: &str) -> Result<Self, ScheduleError> {
        let bad = |why: &dyn fmt::Display| ScheduleError::new(text, why);
        let expression = match text.trim() {
            "@hourly" => "0 * * * *",
            "@daily" | "@midnight" => "0 0 * * *",
            "@weekly" => "0 0 * * 0",
            "@monthly" => "0 0 1 * *",
            "@yearly" | "@annually" => "0 0 1 1 *",
            other => other,
        };
        let fields: Vec<&str> = expression.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(bad(&format_args!(
                "it has {} fields; minute, hour, day of the month, month and day of the week are wanted",
                fields.len()
            )));
        };
        let read = |name: &str, field: &str, from: u32, to: u32, names: &[&str], base: u32| {
            bits(field, from, to, names, base).map_err(|why| bad(&format_args!("{name} {field:?}: {why}")))
        };
        let weekdays = read("day of the week", weekday, 0, 7, &DAYS, 0)?;
        Ok(Self {
            text: text.trim().to_owned(),
            minutes: read("minute", minute, 0, 59, &[], 0)?,
            hours: read("hour", hour, 0, 23, &[], 0)?,
            days: read("day of the month", day, 1, 31, &[], 0)?,
            months: read("month", month, 1, 12, &MONTHS, 1)?,
            // Sunday is 0 and 7.
            weekdays: (weekdays | (weekdays >> 7)) & 0x7f,
            every_hour: hour == "*",
            either_day: !day.starts_with('*') && !weekday.starts_with('*'),
        })
    }

    /// Whether the hour is not restricted.
    pub(super) const fn every_hour(&self) -> bool {
        self.every_hour
    }

    /// Whether this date matches.
    pub(super) fn on(&self, date: Date) -> bool {
        let day = has(self.days, date.day());
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        let either = if self.either_day { day || weekday } else { day && weekday };
        has(self.months, date.month()) && either
    }

    /// Whether this minute matches.
    pub(super) fn at_minute(&self, minute: i8) -> bool {
        has(self.minutes, minute)
    }

    /// All times of a day that match.
    pub(super) fn times(&self) -> Vec<Time> {
        let hours = (0..24i8).filter(|hour| has(self.hours, *hour));
        let at = |hour: i8| {
            (0..60i8)
                .filter(|minute| has(self.minutes, *minute))
                .filter_map(move |m| Time::new(hour, m, 0, 0).ok())
        };
        hours.flat_map(at).collect()
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn has(bits: u64, value: i8) -> bool {
    u32::try_from(value).is_ok_and(|value| bits & (1 << value) != 0)
}

/// Reads a field: values, names, ranges, steps, lists.
fn bits(field: &str, from: u32, to: u32, names: &[&str], base: u32) -> Result<u64, String> {
    let value = |word: &str| -> Result<u32, String> {
        let lower = word.to_ascii_lowercase();
        let named = names.iter().position(|name| *name == lower);
        let number = match named {
            Some(at) => base + u32::try_from(at).unwrap_or(0),
            None => word.parse().map_err(|_| format!("{word:?} is no number"))?,
        };
        if (from..=to).contains(&number) {
            Ok(number)
        } else {
            Err(format!("{number} is not between {from} and {to}"))
        }
    };
    let mut all = 0u64;
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => {
                (range, step.parse::<usize>().ok().filter(|n| *n > 0).ok_or("a step is a number from 1 on")?)
            }
            None => (part, 1),
        };
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (from, to),
            Some((first, last)) => (value(first)?, value(last)?),
            // A step from one value on goes to the end.
            None if part.contains('/') => (value(range)?, to),
            None => (value(range)?, value(range)?),
        };
        if first > last {
            return Err(format!("{first}-{last} runs backwards"));
        }
        all |= (first..=last).step_by(step).fold(0, |bits, n| bits | (1u64 << n));
    }
    Ok(all)
}
