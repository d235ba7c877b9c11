//! Cleaning text from outside: one line, bounded, without characters that lie about what is shown.

use std::fmt::{self, Write};

/// The end of every text that was cut.
pub const CUT_MARK: &str = " [cut]";

/// What [`render_bounded`] kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The beginning of the text.
    pub text: String,
    /// Whether there was more.
    pub cut: bool,
}

/// Renders a value, keeping at most `max` bytes and stopping the renderer there, so that a message of any size costs
/// no more than its beginning.
pub fn render_bounded(value: &dyn fmt::Display, max: usize) -> Rendered {
    struct Bounded {
        text: String,
        max: usize,
        cut: bool,
    }
    impl fmt::Write for Bounded {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            let room = self.max - self.text.len();
            if part.len() <= room {
                self.text.push_str(part);
                return Ok(());
            }
            self.text.push_str(head(part, room));
            self.cut = true;
            Err(fmt::Error)
        }
    }
    let mut out = Bounded { text: String::new(), max, cut: false };
    // An error that is not ours means that the value cannot be displayed; what came so far is kept.
    let failed = write!(out, "{value}").is_err();
    if failed && !out.cut && out.text.is_empty() {
        out.text.push_str("(the message could not be rendered)");
    }
    Rendered { text: out.text, cut: out.cut }
}

/// The longest beginning of `text` that has at most `max` bytes and ends between characters.
#[must_use]
pub fn head(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let end = (0..=max).rev().find(|&n| text.is_char_boundary(n)).unwrap_or(0);
    text.get(..end).unwrap_or("")
}

/// One line of at most `max` bytes. White space is folded, characters that move or hide text are replaced by U+FFFD.
/// A text that was cut, here or before, ends with [`CUT_MARK`].
#[must_use]
pub fn one_line(text: &str, max: usize, cut_before: bool) -> String {
    let mut out = String::with_capacity(text.len().min(max));
    let mut gap = false;
    let mut cut = cut_before;
    for c in text.chars() {
        if c.is_whitespace() {
            gap = !out.is_empty();
            continue;
        }
        let c = if misleads(c) { char::REPLACEMENT_CHARACTER } else { c };
        if out.len() + usize::from(gap) + c.len_utf8() > max {
            cut = true;
            break;
        }
        if std::mem::take(&mut gap) {
            out.push(' ');
        }
        out.push(c);
    }
    if cut && max > CUT_MARK.len() {
        out.truncate(head(&out, max - CUT_MARK.len()).len());
        out.push_str(CUT_MARK);
    }
    out
}

/// One line of at most `max` characters.
#[must_use]
pub fn one_line_chars(text: &str, max: usize) -> String {
    // What is put in the place of a control character is longer than it was.
    let line = one_line(text, text.len().saturating_mul(3).max(CUT_MARK.len() + 1), false);
    if line.chars().count() <= max {
        return line;
    }
    let kept: String = line.chars().take(max.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Control characters, bidirectional overrides and invisible marks.
#[must_use]
pub fn misleads(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{061c}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cleaned_line_is_one_line_and_fits(text in any::<String>(), max in 8usize..80) {
            let line = one_line(&text, max, false);
            prop_assert!(line.len() <= max);
            prop_assert!(!line.chars().any(|c| c != ' ' && (c.is_whitespace() || misleads(c))));
        }

        #[test]
        fn a_head_is_a_beginning(text in any::<String>(), max in 0usize..80) {
            let h = head(&text, max);
            prop_assert!(h.len() <= max && text.starts_with(h));
        }
    }

    #[test]
    fn what_fits_is_not_marked() {
        assert_eq!(one_line("  a  b\n", 80, false), "a b");
        assert_eq!(one_line(&"é".repeat(50), 20, false), format!("{}{CUT_MARK}", "é".repeat(7)));
    }

    #[test]
    fn characters_are_counted_not_bytes() {
        assert_eq!(one_line_chars("éééé", 4), "éééé");
        assert_eq!(one_line_chars("ééééé", 4), "ééé…");
        assert_eq!(one_line_chars("a\u{1b}[31mb", 20), "a\u{fffd}[31mb");
    }

    #[test]
    fn a_display_that_fails_leaves_a_sentence() {
        struct Broken;
        impl fmt::Display for Broken {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                Err(fmt::Error)
            }
        }
        assert_eq!(render_bounded(&Broken, 100).text, "(the message could not be rendered)");
    }
}
