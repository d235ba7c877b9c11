//! The code page of Western Windows, for fonts that say nothing of their encoding.

/// The character of a code; nothing for control codes and gaps.
pub(super) fn character(code: u32) -> Option<char> {
    const HIGH: [char; 32] = [
        '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘', '’',
        '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
    ];
    match code {
        0x80..=0x9F => {
            let at = usize::try_from(code - 0x80).ok()?;
            HIGH.get(at).copied().filter(|character| *character != '\0')
        }
        0x20..=0x7E | 0xA0..=0xFF => char::from_u32(code),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::character;

    #[test]
    fn the_code_page_is_latin_but_for_its_middle() {
        let all: Vec<Option<char>> =
            [0x27, 0x80, 0x81, 0x9F, 0xE4, 0x1F, 0x7F, 0x100].map(character).to_vec();
        assert_eq!(all, [Some('\''), Some('€'), None, Some('Ÿ'), Some('ä'), None, None, None]);
    }
}
