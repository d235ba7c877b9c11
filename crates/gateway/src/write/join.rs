//! Lines become running text: what was divided at a line's end is put together again.
//!
//! A hyphen at the end of a line is taken out when the next line goes on in small letters; before a capital or a digit it
//! belongs to the word (`Baden-Württemberg`) and stays. Chinese and Japanese lines are joined without a blank.

use std::io;

use crate::page::{Block, Page};

/// What stands where one line ends and the next begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seam {
    /// Two words.
    Blank,
    /// One word, with nothing between.
    Close,
    /// One word that was divided: its last character is a hyphen that only the line's end asked for.
    Hyphen,
}

/// How the last word of a line and the first word of the next belong together.
pub(crate) fn seam(end: &str, start: &str) -> Seam {
    let mut backwards = end.chars().rev();
    let (Some(last), Some(first)) = (backwards.next(), start.chars().next()) else { return Seam::Blank };
    let before = backwards.next();
    match last {
        '\u{AD}' => Seam::Hyphen,
        '-' | '\u{2010}' if before.is_some_and(char::is_alphabetic) && first.is_lowercase() => Seam::Hyphen,
        '-' | '\u{2010}' if before.is_some_and(char::is_alphanumeric) && first.is_alphanumeric() => {
            Seam::Close
        }
        _ if is_unspaced(last) && is_unspaced(first) => Seam::Close,
        _ => Seam::Blank,
    }
}

/// The end of a divided word without its hyphen, and the hyphen.
pub(crate) fn split_hyphen(end: &str) -> (&str, &str) {
    end.split_at(end.char_indices().next_back().map_or(0, |(at, _)| at))
}

/// Scripts that put no blank between words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{2E80}'..='\u{2FDF}' | '\u{3000}'..='\u{30FF}' | '\u{31F0}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{FF00}'..='\u{FFEF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Gives the text of blocks in pieces, lines joined and blocks apart by a blank. Nothing is copied.
pub(crate) fn pieces<'a>(
    page: &'a Page,
    blocks: impl IntoIterator<Item = &'a Block>,
    mut emit: impl FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    let mut pending: Option<(&str, usize, usize)> = None;
    for (b, block) in blocks.into_iter().enumerate() {
        for (l, line) in block.lines.iter().enumerate() {
            for word in &line.words {
                let text = page.text_of(word);
                if text.is_empty() {
                    continue;
                }
                if let Some((end, of, at)) = pending {
                    let seam = if of == b && at != l { seam(end, text) } else { Seam::Blank };
                    match seam {
                        Seam::Hyphen => emit(split_hyphen(end).0)?,
                        Seam::Close => emit(end)?,
                        Seam::Blank => {
                            emit(end)?;
                            emit(" ")?;
                        }
                    }
                }
                pending = Some((text, b, l));
            }
        }
    }
    pending.map_or(Ok(()), |(end, _, _)| emit(end))
}

/// Whether a block has no text at all.
pub(crate) fn is_blank(page: &Page, block: &Block) -> bool {
    block.lines.iter().flat_map(|line| &line.words).all(|word| page.text_of(word).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_at_the_end_of_a_line() {
        for (end, start, expected) in [
            ("under-", "stand", Seam::Hyphen),
            ("under\u{AD}", "stand", Seam::Hyphen),
            ("under\u{2010}", "stand", Seam::Hyphen),
            ("Baden-", "Württemberg", Seam::Close),
            ("1914-", "1918", Seam::Close),
            ("COVID-", "19", Seam::Close),
            ("-", "item", Seam::Blank),
            ("so –", "and", Seam::Blank),
            ("x-", "(y)", Seam::Blank),
            ("end", "start", Seam::Blank),
            ("東京", "都", Seam::Close),
            ("東京", "Tokyo", Seam::Blank),
            ("서울", "특별시", Seam::Blank),
            ("", "x", Seam::Blank),
            ("x-", "", Seam::Blank),
        ] {
            assert_eq!(seam(end, start), expected, "{end:?} {start:?}");
        }
    }
}
