//! Text strings: titles, alternative texts and the like.

/// A text string as characters: UTF-16 with its mark, UTF-8 with its mark, or PDFDocEncoding.
pub(crate) fn decode(bytes: &[u8]) -> String {
    if let Some(units) = bytes.strip_prefix(b"\xFE\xFF") {
        return without_language(&utf16(units, u16::from_be_bytes));
    }
    if let Some(units) = bytes.strip_prefix(b"\xFF\xFE") {
        return without_language(&utf16(units, u16::from_le_bytes));
    }
    if let Some(text) = bytes.strip_prefix(b"\xEF\xBB\xBF") {
        return String::from_utf8_lossy(text).into_owned();
    }
    bytes.iter().map(|byte| character(*byte)).collect()
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.as_chunks::<2>().0.iter().map(|pair| unit(*pair));
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// A language may be said between two escapes; it is no part of the text.
fn without_language(text: &str) -> String {
    let mut parts = text.split('\u{1B}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for (at, part) in parts.enumerate() {
        if at % 2 == 1 {
            plain.push_str(part);
        }
    }
    plain
}

/// PDFDocEncoding is Latin-1 but for these.
fn character(byte: u8) -> char {
    const LOW: [char; 8] = ['˘', 'ˇ', 'ˆ', '˙', '˝', '˛', '˚', '˜'];
    const HIGH: [char; 33] = [
        '•', '†', '‡', '…', '—', '–', 'ƒ', '⁄', '‹', '›', '−', '‰', '„', '“', '”', '‘', '’', '‚', '™', 'ﬁ',
        'ﬂ', 'Ł', 'Œ', 'Š', 'Ÿ', 'Ž', 'ı', 'ł', 'œ', 'š', 'ž', '\u{FFFD}', '€',
    ];
    let from = |table: &[char], first: u8| table.get(usize::from(byte - first)).copied();
    match byte {
        0x18..=0x1F => from(&LOW, 0x18).unwrap_or(' '),
        0x80..=0xA0 => from(&HIGH, 0x80).unwrap_or(' '),
        other => char::from(other),
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn each_encoding_is_recognised_by_its_mark() {
        assert_eq!(decode(b"\xFE\xFF\x00A\xD8\x3D\xDE\x00"), "A\u{1F600}");
        assert_eq!(decode(b"\xFF\xFEA\x00"), "A");
        assert_eq!(decode(b"\xEF\xBB\xBF\xC3\xA4"), "ä");
        assert_eq!(decode(b"\x84caf\xE9\xA0"), "—café€");
    }

    #[test]
    fn a_language_between_escapes_is_no_text() {
        assert_eq!(decode(b"\xFE\xFF\x00\x1B\x00e\x00n\x00\x1B\x00A"), "A");
    }
}
