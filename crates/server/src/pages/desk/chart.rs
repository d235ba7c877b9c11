//! Charts as plain SVG, made here: bars that stand on each other, steps, and lying bars. Colours are classes, so that they are right in
//! light and dark. Every chart stands beside the same numbers as a table, and is left out for those who are read to.

use std::fmt::Write;

use maud::{Markup, html};

/// Height of a chart, and the width of a bar's place in it.
const HEIGHT: u64 = 100;
const WIDTH: u64 = 10;
/// Length of a bar that lies.
const LENGTH: u64 = 1_000;

/// A part of a bar: how it is coloured, and how much it is.
pub(super) type Part = (&'static str, u64);

/// Bars that stand, their parts from the bottom up; the highest fills the height.
pub(super) fn bars(bars: &[Vec<Part>]) -> Markup {
    let highest = bars.iter().map(|parts| total(parts)).max().unwrap_or(0).max(1);
    html! {
        svg.chart viewBox={ "0 0 " (WIDTH * bars.len() as u64) " " (HEIGHT) } preserveAspectRatio="none" aria-hidden="true" {
            (grid(bars.len()))
            @for (n, parts) in bars.iter().enumerate() {
                @for (class, from, length) in pieces(parts, highest, HEIGHT) {
                    rect.(class) x=(WIDTH * n as u64 + 1) y=(HEIGHT - from - length) width=(WIDTH - 2) height=(length) {}
                }
            }
        }
    }
}

/// Lines that go in steps, each with its class; where nothing is known there is a gap.
pub(super) fn steps(lines: &[(&'static str, Vec<Option<u64>>)]) -> Markup {
    let highest = lines.iter().flat_map(|(_, values)| values).flatten().max().copied().unwrap_or(0).max(1);
    let places = lines.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    html! {
        svg.chart viewBox={ "0 0 " (WIDTH * places as u64) " " (HEIGHT) } preserveAspectRatio="none" aria-hidden="true" {
            (grid(places))
            @for (class, values) in lines { path.line.(class) d=(path(values, highest)) {} }
        }
    }
}

/// A bar that lies, as long as its share of the longest.
pub(super) fn lying(parts: &[Part], longest: u64) -> Markup {
    html! {
        svg.bar viewBox={ "0 0 " (LENGTH) " 10" } preserveAspectRatio="none" aria-hidden="true" {
            rect.track width=(LENGTH) height="10" {}
            @for (class, from, length) in pieces(parts, longest.max(1), LENGTH) {
                rect.(class) x=(from) width=(length) height="10" {}
            }
        }
    }
}

/// What a colour means.
pub(super) fn key(class: &str, text: &str) -> Markup {
    html! {
        span.key-of-colour {
            svg.key viewBox="0 0 10 10" width="12" height="12" aria-hidden="true" { rect.(class) width="10" height="10" {} }
            " " (text)
        }
    }
}

fn grid(places: usize) -> Markup {
    html! {
        @for part in 1..4u64 {
            line.grid x1="0" x2=(WIDTH * places as u64) y1=(HEIGHT * part / 4) y2=(HEIGHT * part / 4) {}
        }
    }
}

fn total(parts: &[Part]) -> u64 {
    parts.iter().map(|(_, n)| n).sum()
}

/// Where each part begins and how long it is. A part that is there can be seen, and none goes beyond the end.
fn pieces(parts: &[Part], longest: u64, room: u64) -> Vec<(&'static str, u64, u64)> {
    let mut from = 0;
    let there = parts.iter().filter(|(_, n)| *n > 0);
    let piece = |(class, n): &Part| {
        let share = u128::from(*n) * u128::from(room) / u128::from(longest.max(1));
        let length = u64::try_from(share).unwrap_or(room).max(room / 50).min(room - from);
        from += length;
        (*class, from - length, length)
    };
    there.map(piece).collect()
}

fn path(values: &[Option<u64>], highest: u64) -> String {
    let (mut path, mut drawn) = (String::new(), false);
    for (n, value) in values.iter().enumerate() {
        let Some(value) = value else {
            drawn = false;
            continue;
        };
        let up =
            u64::try_from(u128::from(*value) * u128::from(HEIGHT - 4) / u128::from(highest)).unwrap_or(0);
        let (x, y) = (WIDTH * n as u64, HEIGHT - 2 - up);
        // Writing to a string cannot fail.
        let _ = match drawn {
            true => write!(path, "V{y}H{}", x + WIDTH),
            false => write!(path, "M{x} {y}H{}", x + WIDTH),
        };
        drawn = true;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_on_each_other_are_seen_and_stay_within() {
        assert_eq!(pieces(&[("a", 50), ("b", 0), ("c", 50)], 100, 100), [("a", 0, 50), ("c", 50, 50)]);
        assert_eq!(pieces(&[("a", 1)], 1_000_000, 100), [("a", 0, 2)]);
        assert_eq!(pieces(&[("a", 100), ("b", 1)], 101, 100), [("a", 0, 99), ("b", 99, 1)]);
        assert_eq!(pieces(&[("a", u64::MAX)], u64::MAX, 1_000), [("a", 0, 1_000)]);
    }

    #[test]
    fn a_line_has_a_gap_where_nothing_is_known() {
        let values = [Some(10), Some(5), None, Some(0)];
        assert_eq!(path(&values, 10), "M0 2H10V50H20M30 98H40");
        assert_eq!(path(&[None], 1), "");
    }
}
