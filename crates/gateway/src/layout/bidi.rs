//! From the order in which text is seen to the order in which it is read.
//!
//! Unicode's algorithm turns reading order into visual order by reversing runs; done to the visual order, the same
//! reversals lead back.

use unicode_bidi::{BidiInfo, Level};

/// The reading order of units of text that are given from left to right as seen. A unit is never taken apart: what one
/// glyph stands for is in reading order already.
pub(crate) fn reading_order(units: &[&str], rtl: bool) -> Vec<usize> {
    let text: String = units.concat();
    let level = if rtl { Level::rtl() } else { Level::ltr() };
    let info = BidiInfo::new(&text, Some(level));
    let mut levels = Vec::with_capacity(units.len());
    let mut at = 0;
    for unit in units {
        levels.push(info.levels.get(at).copied().unwrap_or(level));
        at += unit.len();
    }
    BidiInfo::reorder_visual(&levels)
}

#[cfg(test)]
mod tests {
    use super::reading_order;

    fn read(units: &[&str], rtl: bool) -> String {
        reading_order(units, rtl).iter().map(|at| units[*at]).collect()
    }

    #[test]
    fn hebrew_is_turned_around_and_numbers_are_not() {
        let seen = ["1", "2", " ", "ג", "ב", "א"];
        assert_eq!(read(&seen, true), "אבג 12");
    }

    #[test]
    fn a_hebrew_word_in_a_latin_line_is_turned_in_its_place() {
        let seen = ["a", " ", "ב", "א", " ", "c"];
        assert_eq!(read(&seen, false), "a אב c");
    }

    #[test]
    fn a_latin_word_in_a_hebrew_line_stays_readable() {
        let seen = ["ב", " ", "J", "o", " ", "א"];
        assert_eq!(read(&seen, true), "א Jo ב");
    }

    #[test]
    fn a_ligature_is_not_taken_apart() {
        let seen = ["ب", "لا"];
        assert_eq!(read(&seen, true), "لاب");
    }
}
