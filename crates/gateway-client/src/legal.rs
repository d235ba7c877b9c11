//! Which characters and names a document of XML 1.0 may hold. The parser looks at structure alone; whoever opens a result
//! later has a parser that looks at these too.

/// Whether a character may stand in a document, by itself or as a reference.
pub(crate) fn is_legal(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        c => c >= ' ',
    }
}

/// The text that these bytes are; why not, where they are none.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    // Nearly everything is found legal by two looks at the bytes that need no decoding.
    let odd = |b: u8| (b < b' ' && !matches!(b, b'\t' | b'\n' | b'\r')) | (b == 0xef);
    let suspect = bytes.iter().fold(false, |found, b| found | odd(*b));
    match suspect.then(|| text.chars().find(|c| !is_legal(*c))).flatten() {
        Some(odd) => Err(format!("it holds the character U+{:04X}", u32::from(odd))),
        None => Ok(text),
    }
}

/// Whether an element or an attribute may be called so.
pub(crate) fn is_name(name: &[u8]) -> bool {
    if let Some((first, rest)) = name.split_first()
        && (first.is_ascii_alphabetic() || matches!(first, b'_' | b':'))
        && rest.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':' | b'-' | b'.'))
    {
        return true;
    }
    let begins = |c: char| c.is_alphabetic() || matches!(c, '_' | ':');
    let goes_on = |c: char| begins(c) || c.is_numeric() || matches!(c, '-' | '.') || !c.is_ascii();
    let Ok(name) = std::str::from_utf8(name) else { return false };
    let mut chars = name.chars();
    chars.next().is_some_and(begins) && chars.all(goes_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_parser_takes_is_not_legal() {
        assert_eq!(text("aé\t\n\r\u{85}\u{fffd}\u{10ffff}".as_bytes()).unwrap().chars().count(), 8);
        for bytes in
            [&b"\x01"[..], b"\0", b"\x1f", b"\xef\xbf\xbe", b"\xef\xbf\xbf", b"caf\xe9", b"\xed\xa0\x80"]
        {
            assert!(text(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn names_begin_with_a_letter() {
        for name in ["a", "_a", "x:b", "é1", "a-b.c", "語"] {
            assert!(is_name(name.as_bytes()), "{name}");
        }
        for name in ["", "1a", "-a", "a<", "a&b", "a'b", "\u{300}a"] {
            assert!(!is_name(name.as_bytes()), "{name}");
        }
        assert!(!is_name(b"caf\xe9"));
    }
}
