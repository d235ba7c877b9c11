//! Numbers in the output: short, the same on every machine, never an exponent, a minus zero or a `NaN`.

use std::io::{self, Write};

use crate::page::Rect;

/// A coordinate in hundredths of a point. What is not a number, or beyond all paper, is brought back to the edge.
pub(crate) fn hundredths(value: f32) -> i64 {
    scaled(value, 100.0)
}

/// A coordinate in 1/1200 inch, the unit that ALTO has for exact places.
pub(crate) fn inch1200(value: f32) -> i64 {
    scaled(value, 1200.0 / 72.0)
}

#[expect(clippy::cast_possible_truncation, reason = "clamped just before")]
fn scaled(value: f32, factor: f64) -> i64 {
    if value.is_nan() { 0 } else { (f64::from(value) * factor).round().clamp(-1e9, 1e9) as i64 }
}

/// Writes hundredths as a decimal number without trailing zeros: `12`, `0.5`, `-3.25`.
pub(crate) fn write_hundredths(out: &mut impl Write, value: i64) -> io::Result<()> {
    let sign = if value < 0 { "-" } else { "" };
    let (whole, part) = (value.unsigned_abs() / 100, value.unsigned_abs() % 100);
    match (part, part % 10) {
        (0, _) => write!(out, "{sign}{whole}"),
        (_, 0) => write!(out, "{sign}{whole}.{}", part / 10),
        (_, _) => write!(out, "{sign}{whole}.{part:02}"),
    }
}

/// A rectangle in whole steps of a unit: its edges are rounded, and its size is what lies between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Steps {
    pub(crate) x: i64,
    pub(crate) y: i64,
    pub(crate) width: i64,
    pub(crate) height: i64,
}

impl Steps {
    /// Rounds every edge by the same rule, so that what touches on the page touches in the output.
    pub(crate) fn of(rect: Rect, unit: fn(f32) -> i64) -> Self {
        let (x0, y0, x1, y1) = (unit(rect.x0), unit(rect.y0), unit(rect.x1), unit(rect.y1));
        Self { x: x0.min(x1), y: y0.min(y1), width: (x1 - x0).abs(), height: (y1 - y0).abs() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: f32) -> String {
        let mut out = Vec::new();
        write_hundredths(&mut out, hundredths(value)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_short_and_plain() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (-0.001, "0"),
            (12.0, "12"),
            (0.5, "0.5"),
            (-3.254, "-3.25"),
            (595.276, "595.28"),
            (1.05, "1.05"),
            (f32::NAN, "0"),
            (f32::INFINITY, "10000000"),
            (f32::NEG_INFINITY, "-10000000"),
            (1e-30, "0"),
        ] {
            assert_eq!(written(value), text, "{value}");
        }
    }

    #[test]
    fn a_rectangle_turned_over_has_a_size_all_the_same() {
        let steps = Steps::of(Rect { x0: 10.0, y0: 5.0, x1: 4.0, y1: 5.0 }, hundredths);
        assert_eq!(steps, Steps { x: 400, y: 500, width: 600, height: 0 });
    }
}
