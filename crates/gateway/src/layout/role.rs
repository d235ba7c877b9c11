//! Guesses what blocks are, where the file itself does not say.
//!
//! Looks at the whole document: what is repeated at the edge of many pages is no part of the text, and what is set larger
//! or bolder than most text is a heading.

use crate::page::{Block, Document, Page, Rect, Role};
use std::collections::BTreeMap;

/// The upper and lower part of a page where running heads and page numbers stand.
const EDGE: f32 = 0.12;
/// The same for what stands there alone, with nothing between it and the edge.
const WIDE_EDGE: f32 = 0.2;
/// More lines than this are no heading.
const HEADING_LINES: usize = 4;
/// More words than this are no heading.
const HEADING_WORDS: usize = 30;

/// Gives roles to all blocks that have none from tags.
pub(crate) fn guess(document: &mut Document) {
    let body = body_size(document);
    let repeated = repeated(document);
    let sizes = heading_sizes(document, body);
    let bold: Vec<bool> = document.fonts.iter().map(|font| font.weight >= 600).collect();
    for page in &mut document.pages {
        let edges = Edges::of(page);
        let text = std::mem::take(&mut page.text);
        for block in page.blocks.iter_mut().filter(|block| !block.tagged && block.role == Role::Paragraph) {
            block.role = role(block, &text, edges, &repeated, body, &sizes, &bold);
        }
        page.text = text;
    }
}

fn role(
    block: &Block,
    text: &str,
    edges: Edges,
    repeated: &BTreeMap<(bool, String), usize>,
    body: f32,
    sizes: &[u32],
    bold: &[bool],
) -> Role {
    let words = || block.lines.iter().flat_map(|line| &line.words);
    let of = |word: &crate::page::Word| {
        let range =
            usize::try_from(word.text.start).unwrap_or(0)..usize::try_from(word.text.end).unwrap_or(0);
        text.get(range).unwrap_or_default()
    };
    if let Some(key) = edge_key(block, text, edges) {
        let number = key.1.chars().all(|c| c == '#') && block.lines.len() == 1;
        if number || repeated.get(&key).copied().unwrap_or(0) > 1 {
            return Role::Artifact;
        }
    }
    let first = words().next();
    if first.is_some_and(|word| is_bullet(of(word))) && words().nth(1).is_some() {
        return Role::ListItem;
    }
    let letters = words().any(|word| of(word).chars().any(char::is_alphabetic));
    let short = block.lines.len() <= HEADING_LINES && words().count() <= HEADING_WORDS;
    if !letters || !short || body <= 0.0 {
        return Role::Paragraph;
    }
    let size = words().map(|word| word.size).fold(0.0, f32::max);
    if size > 1.15 * body {
        let level = sizes.iter().position(|known| *known <= rounded(size)).unwrap_or(sizes.len());
        return Role::Heading(u8::try_from(level + 1).unwrap_or(6).min(6));
    }
    let all_bold = words().all(|word| bold.get(usize::from(word.font)).copied().unwrap_or(false));
    let sentence = words().last().is_some_and(|word| of(word).ends_with(['.', ',', ';', ':']));
    if all_bold && size >= 0.95 * body && block.lines.len() <= 2 && !sentence {
        let level = sizes.len() + 1;
        return Role::Heading(u8::try_from(level).unwrap_or(6).clamp(1, 6));
    }
    Role::Paragraph
}

/// Bullets, and numbers or letters as lists have them: `•`, `1.`, `(a)`, `iv)`.
pub(crate) fn is_bullet(word: &str) -> bool {
    const BULLETS: &str = "•‣◦▪▫■□●○–—-*·∙➢➤✓►▶\u{f0b7}\u{f0a7}";
    let mut characters = word.chars();
    if let (Some(only), None) = (characters.next(), characters.next()) {
        return BULLETS.contains(only);
    }
    let inner = word.strip_prefix('(').unwrap_or(word);
    let Some(inner) = inner.strip_suffix(')').or_else(|| inner.strip_suffix('.')) else { return false };
    let number = !inner.is_empty() && inner.len() <= 2 && inner.bytes().all(|b| b.is_ascii_digit());
    let letter = inner.len() == 1 && inner.bytes().all(|b| b.is_ascii_lowercase());
    let roman =
        !inner.is_empty() && inner.len() <= 4 && inner.bytes().all(|b| matches!(b, b'i' | b'v' | b'x'));
    number || letter || roman
}

/// The size of most text.
fn body_size(document: &Document) -> f32 {
    let mut count: BTreeMap<u32, usize> = BTreeMap::new();
    for word in document.pages.iter().flat_map(all_words) {
        *count.entry(rounded(word.size)).or_default() += word.text.len();
    }
    let most = count.iter().max_by_key(|(size, count)| (**count, std::cmp::Reverse(**size)));
    most.map_or(0.0, |(size, _)| *size as f32 / 2.0)
}

/// The sizes of headings, the largest first; few sizes are many levels already.
fn heading_sizes(document: &Document, body: f32) -> Vec<u32> {
    let mut sizes: Vec<u32> = document
        .pages
        .iter()
        .flat_map(|page| &page.blocks)
        .filter(|block| block.lines.len() <= HEADING_LINES)
        .map(|block| {
            block.lines.iter().flat_map(|line| &line.words).map(|word| word.size).fold(0.0, f32::max)
        })
        .filter(|size| *size > 1.15 * body)
        .map(rounded)
        .collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup();
    sizes.truncate(5);
    sizes
}

/// How many pages say the same in the same place.
fn repeated(document: &Document) -> BTreeMap<(bool, String), usize> {
    let mut count: BTreeMap<(bool, String), usize> = BTreeMap::new();
    for page in &document.pages {
        let edges = Edges::of(page);
        let keys = page.blocks.iter().filter_map(|block| edge_key(block, &page.text, edges));
        for key in keys.collect::<std::collections::BTreeSet<_>>() {
            *count.entry(key).or_default() += 1;
        }
    }
    count
}

/// Where running heads and page numbers stand on a page.
#[derive(Debug, Clone, Copy)]
struct Edges {
    top: f32,
    bottom: f32,
}

impl Edges {
    fn of(page: &Page) -> Self {
        let height = page.height;
        let drawn = || page.blocks.iter().filter(|block| block.role != Role::Figure);
        let highest = drawn().map(|block| block.bounds.y1).fold(f32::MAX, f32::min);
        let lowest = drawn().map(|block| block.bounds.y0).fold(f32::MIN, f32::max);
        Self {
            top: (EDGE * height).max(highest.min(WIDE_EDGE * height) + 0.01),
            bottom: ((1.0 - EDGE) * height).min(lowest.max((1.0 - WIDE_EDGE) * height) - 0.01),
        }
    }
}

/// What a block at a page's edge says, numbers as `#`, and whether it stands at the top.
fn edge_key(block: &Block, text: &str, edges: Edges) -> Option<(bool, String)> {
    let Rect { y0, y1, .. } = block.bounds;
    let (top, bottom) = (y1 < edges.top, y0 > edges.bottom);
    if !(top || bottom) || block.lines.len() > 2 {
        return None;
    }
    let mut key = String::new();
    for word in block.lines.iter().flat_map(|line| &line.words) {
        let range = usize::try_from(word.text.start).ok()?..usize::try_from(word.text.end).ok()?;
        for character in text.get(range)?.chars() {
            let digit = character.is_ascii_digit();
            if !(digit && key.ends_with('#')) {
                key.push(if digit { '#' } else { character });
            }
        }
    }
    Some((top, key))
}

fn all_words(page: &Page) -> impl Iterator<Item = &crate::page::Word> {
    page.blocks.iter().flat_map(|block| &block.lines).flat_map(|line| &line.words)
}

/// In half points: sizes that differ by less are one.
fn rounded(size: f32) -> u32 {
    if size.is_finite() && size > 0.0 { (size * 2.0).round().min(100_000.0) as u32 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::is_bullet;

    #[test]
    fn bullets_and_numbers_begin_items_and_words_do_not() {
        for yes in ["•", "-", "1.", "12.", "(a)", "iv)", "3)"] {
            assert!(is_bullet(yes), "{yes}");
        }
        for no in ["A", "1", "2024.", "end.", "1.5", "", ")", "I"] {
            assert!(!is_bullet(no), "{no}");
        }
    }
}
