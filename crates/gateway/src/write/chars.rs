//! Characters: what XML 1.0 takes as it is, what must be escaped, what must be replaced.
//!
//! Nothing outside the production `Char` ever leaves here: a control character, U+FFFE or U+FFFF becomes U+FFFD and is
//! counted. (A lone surrogate cannot exist in a Rust string.) The test over every code point is in `tests/it/chars.rs`.

use std::io::{self, Write};

/// Where a text stands; attribute values lose their line breaks in a parser unless these are written as references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Between tags.
    Content,
    /// Between double quotes.
    Attribute,
}

/// Whether XML 1.0 allows the character at all (production 2, `Char`).
pub(crate) fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

/// Writes the text so that a parser gives back exactly its allowed characters. Answers how many were replaced.
pub(crate) fn write_escaped(out: &mut impl Write, text: &str, place: Place) -> io::Result<u64> {
    let mut replaced = 0;
    let mut rest = text;
    while let Some((at, c)) = rest.char_indices().find(|&(_, c)| substitute(c, place).is_some()) {
        let (plain, special) = rest.split_at(at);
        out.write_all(plain.as_bytes())?;
        out.write_all(substitute(c, place).unwrap_or_default().as_bytes())?;
        replaced += u64::from(!is_allowed(c));
        rest = special.get(c.len_utf8()..).unwrap_or_default();
    }
    out.write_all(rest.as_bytes())?;
    Ok(replaced)
}

/// What stands in the output for a character that cannot stand there itself.
fn substitute(c: char, place: Place) -> Option<&'static str> {
    match (c, place) {
        ('&', _) => Some("&amp;"),
        ('<', _) => Some("&lt;"),
        // Always, so that `]]>` needs no thought.
        ('>', _) => Some("&gt;"),
        ('"', Place::Attribute) => Some("&quot;"),
        // A parser turns a bare carriage return into a line feed everywhere, and in attributes all three into blanks.
        ('\r', _) => Some("&#13;"),
        ('\n', Place::Attribute) => Some("&#10;"),
        ('\t', Place::Attribute) => Some("&#9;"),
        (c, _) if is_allowed(c) => None,
        (_, _) => Some("\u{FFFD}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str, place: Place) -> (String, u64) {
        let mut out = Vec::new();
        let replaced = write_escaped(&mut out, text, place).unwrap();
        (String::from_utf8(out).unwrap(), replaced)
    }

    #[test]
    fn markup_in_a_text_is_text() {
        let (text, replaced) = escaped("a<b>&\"c\" ]]> -- ?>", Place::Content);
        assert_eq!(text, "a&lt;b&gt;&amp;\"c\" ]]&gt; -- ?&gt;");
        assert_eq!(replaced, 0);
        assert_eq!(escaped("\"\t\r\n'", Place::Attribute).0, "&quot;&#9;&#13;&#10;'");
        assert_eq!(escaped("\t\r\n", Place::Content).0, "\t&#13;\n");
    }

    #[test]
    fn forbidden_characters_are_replaced_and_counted() {
        let (text, replaced) = escaped("\u{0}a\u{B}\u{1F}b\u{FFFE}\u{FFFF}", Place::Content);
        assert_eq!(text, "\u{FFFD}a\u{FFFD}\u{FFFD}b\u{FFFD}\u{FFFD}");
        assert_eq!(replaced, 5);
    }

    #[test]
    fn odd_but_legal_characters_stay() {
        let odd = "\u{7F}\u{85}\u{9F}\u{FDD0}\u{FFFD}\u{1FFFE}\u{10FFFF}";
        assert_eq!(escaped(odd, Place::Content), (odd.to_owned(), 0));
    }
}
