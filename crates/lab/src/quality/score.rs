//! Agreement of words and of boxes.

use redrive_gateway::page::{Document, Role};
use std::collections::BTreeMap;
use unicode_normalization::UnicodeNormalization;

/// How often each word occurs.
pub type Words = BTreeMap<String, usize>;

/// A word and where it is: page, then left, upper, right, lower.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// From 1.
    pub page: u32,
    /// Normalised.
    pub text: String,
    /// In points.
    pub bounds: [f32; 4],
}

/// A word as it is compared: ligatures and presentation forms dissolved, controls, soft hyphens and unknown characters left
/// out, in lower case.
pub fn normalise(word: &str) -> String {
    let kept = |c: &char| {
        !c.is_control()
            && !matches!(c, '\u{AD}' | '\u{FFFD}' | '\u{200B}'..='\u{200F}')
            && !matches!(c, '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{E000}'..='\u{F8FF}')
    };
    word.nfkc().filter(kept).collect::<String>().to_lowercase()
}

/// Counts the words of a text.
pub fn words(text: &str) -> Words {
    let mut words = Words::new();
    for word in text.split_whitespace().map(normalise).filter(|word| !word.is_empty()) {
        *words.entry(word).or_default() += 1;
    }
    words
}

/// The words of a document, descriptions of figures left out: no other reader gives them.
pub fn placed(document: &Document) -> Vec<Placed> {
    let mut all = Vec::new();
    for page in &document.pages {
        for word in page
            .blocks
            .iter()
            .filter(|block| block.role != Role::Figure)
            .flat_map(|block| &block.lines)
            .flat_map(|line| &line.words)
        {
            let bounds = [word.bounds.x0, word.bounds.y0, word.bounds.x1, word.bounds.y1];
            all.push(Placed { page: page.number, text: normalise(page.text_of(word)), bounds });
        }
    }
    all
}

/// The harmonic mean of precision and recall, counting each word as often as it occurs. Two empty texts agree.
pub fn agreement(a: &Words, b: &Words) -> f64 {
    let size = |words: &Words| words.values().sum::<usize>();
    let all = size(a) + size(b);
    if all == 0 {
        return 1.0;
    }
    let shared: usize = a.iter().map(|(word, count)| (*count).min(b.get(word).copied().unwrap_or(0))).sum();
    2.0 * shared as f64 / all as f64
}

/// How many of our words Poppler has too on the same page, and for how many of them it draws the same box, within two
/// points. Poppler gives words that are read from right to left backwards, so both ways count as the same word.
pub fn boxes(ours: &[Placed], theirs: &[Placed]) -> (usize, usize) {
    let mut known: BTreeMap<(u32, &str), Vec<[f32; 4]>> = BTreeMap::new();
    for word in theirs {
        known.entry((word.page, word.text.as_str())).or_default().push(word.bounds);
    }
    let (mut shared, mut near) = (0, 0);
    for word in ours.iter().filter(|word| !word.text.is_empty()) {
        let backwards: String = word.text.chars().rev().collect();
        let found = known
            .get(&(word.page, word.text.as_str()))
            .or_else(|| known.get(&(word.page, backwards.as_str())));
        let Some(found) = found else { continue };
        shared += 1;
        let close = |other: &[f32; 4]| word.bounds.iter().zip(other).all(|(a, b)| (a - b).abs() <= 2.0);
        near += usize::from(found.iter().any(close));
    }
    (near, shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_counts_words_as_often_as_they_occur() {
        assert!((agreement(&words("a a b"), &words("a b b")) - 2.0 / 3.0).abs() < 1e-9);
        assert!((agreement(&words("ﬁne"), &words("FINE")) - 1.0).abs() < 1e-9);
        assert!(agreement(&words("a"), &words("")) < 1e-9);
        assert!((agreement(&words(""), &words("")) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_box_counts_when_any_word_of_the_same_text_is_near() {
        let word =
            |text: &str, x: f32| Placed { page: 1, text: text.to_owned(), bounds: [x, 0.0, x + 5.0, 9.0] };
        let theirs = [word("a", 0.0), word("a", 50.0), word("cb", 9.0)];
        assert_eq!(
            boxes(&[word("a", 51.0), word("a", 20.0), word("bc", 9.0), word("x", 0.0)], &theirs),
            (2, 3)
        );
    }
}
