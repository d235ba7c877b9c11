//! How names, sizes, times and counts are written for people, in mails and in documents.
//!
//! Whatever came from outside goes through [`line`] or [`name`]: one line, bounded, without characters that turn, hide or break text. What is
//! left is legal XML. An ending that is made to look like another one (`\u{202e}fdp.exe`) is shown as it is.

use jiff::tz::TimeZone;
use redrive_model::{Timestamp, text};

/// Longer texts are not looked at.
const LONGEST: usize = 64 * 1024;

/// One line of at most `most` characters, cut at its end.
pub(crate) fn line(raw: &str, most: usize) -> String {
    text::one_line_chars(&plain(raw), most)
}

/// A file's name or path of at most `most` characters, cut in its middle: people know files by their ending.
pub(crate) fn name(raw: &str, most: usize) -> String {
    let all = text::one_line(&plain(raw), LONGEST, false);
    let count = all.chars().count();
    if all.is_empty() {
        return "(no name)".to_owned();
    }
    if count <= most {
        return all;
    }
    let (before, behind) = (most.saturating_sub(1).div_ceil(2), most.saturating_sub(1) / 2);
    let start: String = all.chars().take(before).collect();
    let end: String = all.chars().skip(count - behind).collect();
    format!("{start}…{end}")
}

fn plain(raw: &str) -> String {
    text::head(raw, LONGEST).chars().filter(|&c| c.is_whitespace() || !text::misleads(c)).collect()
}

/// `512 bytes`, `1.4 MB (1,400,000 bytes)`: what people say, and what can be compared.
pub(crate) fn size(bytes: u64) -> String {
    let short = short_size(bytes);
    if bytes < 1_000 { short } else { format!("{short} ({} bytes)", number(bytes)) }
}

/// `512 bytes`, `1.4 MB`.
pub(crate) fn short_size(bytes: u64) -> String {
    for (unit, name) in [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")] {
        if bytes >= unit {
            let tenths = bytes / (unit / 10);
            let tenth = if tenths.is_multiple_of(10) { String::new() } else { format!(".{}", tenths % 10) };
            return format!("{}{tenth} {name}", number(tenths / 10));
        }
    }
    counted(bytes, "byte", "bytes")
}

/// `1,234,567`.
pub(crate) fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 page`, `2 pages`.
pub(crate) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(n), if n == 1 { one } else { many })
}

/// `2026-03-01 14:05:09 CET`, as the reader's clock says it.
pub(crate) fn instant(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
}

/// `2026-03-01 14:05`.
pub(crate) fn minute(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// `0.4 s`, `12 s`, `3 min 5 s`, `2 h 1 min`.
pub(crate) fn duration(ms: u64) -> String {
    let (seconds, tenths) = (ms / 1_000, ms % 1_000 / 100);
    match seconds {
        0..10 => format!("{seconds}.{tenths} s"),
        10..60 => format!("{seconds} s"),
        60..3_600 => with_rest(seconds / 60, "min", seconds % 60, "s"),
        _ => with_rest(seconds / 3_600, "h", seconds % 3_600 / 60, "min"),
    }
}

fn with_rest(n: u64, unit: &str, rest: u64, smaller: &str) -> String {
    let n = number(n);
    if rest == 0 { format!("{n} {unit}") } else { format!("{n} {unit} {rest} {smaller}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_durations_and_counts_read_as_people_say_them() {
        for (bytes, shown) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1_450, "1.4 kB (1,450 bytes)"),
            (50_000_000, "50 MB (50,000,000 bytes)"),
            (52_428_800, "52.4 MB (52,428,800 bytes)"),
            (u64::MAX, "18,446,744,073.7 GB (18,446,744,073,709,551,615 bytes)"),
        ] {
            assert_eq!(size(bytes), shown);
        }
        for (ms, shown) in [
            (0, "0.0 s"),
            (449, "0.4 s"),
            (12_900, "12 s"),
            (180_000, "3 min"),
            (185_000, "3 min 5 s"),
            (7_260_000, "2 h 1 min"),
        ] {
            assert_eq!(duration(ms), shown);
        }
    }

    #[test]
    fn instants_are_told_in_the_readers_zone() {
        let at: Timestamp = "2026-03-01T13:05:09Z".parse().unwrap();
        assert_eq!(instant(at, &TimeZone::UTC), "2026-03-01 13:05:09 UTC");
        assert_eq!(instant(at, &TimeZone::get("Europe/Berlin").unwrap()), "2026-03-01 14:05:09 CET");
    }

    #[test]
    fn names_are_cut_in_the_middle_and_lose_what_turns_them() {
        assert_eq!(name("collection/März 1912.pdf", 80), "collection/März 1912.pdf");
        assert_eq!(name("abcdefghij.pdf", 9), "abcd….pdf");
        assert_eq!(name("\u{202e}fdp.exe", 80), "fdp.exe");
        assert_eq!(name("a\r\nBcc: x\0.pdf", 80), "a Bcc: x.pdf");
        assert_eq!(name("\u{200b}", 80), "(no name)");
    }

    proptest! {
        #[test]
        fn whatever_comes_is_one_bounded_line_of_legal_characters(raw in any::<String>(), most in 4usize..60) {
            for shown in [line(&raw, most), name(&raw, most.max(9))] {
                prop_assert!(shown.chars().count() <= most.max(9));
                prop_assert!(!shown.chars().any(|c| text::misleads(c) || (c != ' ' && c.is_whitespace())));
            }
        }
    }
}
