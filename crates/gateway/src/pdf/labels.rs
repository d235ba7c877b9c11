//! What the file calls its pages: `iv`, `A-3`.

use super::text::decode;
use hayro_syntax::object::{Array, Dict, Name, Object, String as Bytes};

/// Ranges beyond this number are not looked at.
const MOST: usize = 100_000;

/// The labels of all pages.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    /// Where each range begins, from 0, in order.
    ranges: Vec<(u32, Range)>,
}

#[derive(Debug)]
struct Range {
    style: Option<u8>,
    prefix: String,
    first: u32,
}

impl Labels {
    pub(crate) fn of(catalog: &Dict<'_>, nesting: usize) -> Self {
        let mut labels = Self::default();
        if let Some(root) = catalog.get::<Dict<'_>>("PageLabels") {
            labels.node(&root, nesting.min(32));
        }
        labels.ranges.sort_by_key(|(start, _)| *start);
        labels
    }

    fn node(&mut self, node: &Dict<'_>, depth: usize) {
        if depth == 0 || self.ranges.len() > MOST {
            return;
        }
        if let Some(numbers) = node.get::<Array<'_>>("Nums") {
            let mut items = numbers.iter::<Object<'_>>();
            while let (Some(start), Some(range)) = (items.next(), items.next()) {
                let start = start.into_number().and_then(|number| u32::try_from(number.as_i64()).ok());
                let (Some(start), Some(range)) = (start, range.into_dict()) else { continue };
                self.ranges.push((
                    start,
                    Range {
                        style: range.get::<Name<'_>>("S").and_then(|name| name.first().copied()),
                        prefix: range.get::<Bytes<'_>>("P").map(|text| decode(&text)).unwrap_or_default(),
                        first: range.get("St").unwrap_or(1),
                    },
                ));
            }
        }
        if let Some(kids) = node.get::<Array<'_>>("Kids") {
            for kid in kids.iter::<Dict<'_>>() {
                self.node(&kid, depth - 1);
            }
        }
    }

    /// The label of a page, counted from 0, when it is not simply the page's number.
    pub(crate) fn get(&self, page: u32) -> Option<String> {
        let (start, range) = self.ranges.iter().rev().find(|(start, _)| *start <= page)?;
        let number = range.first.saturating_add(page - start);
        let mut label = range.prefix.clone();
        match range.style {
            Some(b'D') => label.push_str(&number.to_string()),
            Some(b'r') => label.push_str(&roman(number).to_lowercase()),
            Some(b'R') => label.push_str(&roman(number)),
            Some(b'a') => label.push_str(&letters(number, 'a')),
            Some(b'A') => label.push_str(&letters(number, 'A')),
            _ => {}
        }
        let label: String = label.chars().filter(|c| !c.is_control()).collect();
        (!label.is_empty() && label != (u64::from(page) + 1).to_string()).then_some(label)
    }
}

fn roman(mut number: u32) -> String {
    const SIGNS: [(u32, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if number > 10_000 {
        return number.to_string();
    }
    let mut signs = String::new();
    for (value, sign) in SIGNS {
        while number >= value {
            signs.push_str(sign);
            number -= value;
        }
    }
    signs
}

/// `a` to `z`, then `aa` to `zz`, and so on.
fn letters(number: u32, first: char) -> String {
    let Some(from_zero) = number.checked_sub(1) else { return String::new() };
    let letter = char::from_u32(u32::from(first) + from_zero % 26).unwrap_or(first);
    let times = usize::try_from(from_zero / 26).unwrap_or(0).min(50) + 1;
    std::iter::repeat_n(letter, times).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hayro_syntax::object::FromBytes;

    #[test]
    fn ranges_have_their_own_style_prefix_and_start() {
        let catalog = b"<</PageLabels<</Nums[0<</S/r>>2<</S/D>>4<</P(A-)/S/A/St 27>>]>>>>";
        let labels = Labels::of(&Dict::from_bytes(catalog).unwrap(), 256);
        let all: Vec<_> = (0..6).map(|page| labels.get(page).unwrap_or_default()).collect();
        assert_eq!(all, ["i", "ii", "1", "2", "A-AA", "A-BB"]);
    }

    #[test]
    fn a_label_that_is_the_number_is_none() {
        let labels = Labels::of(&Dict::from_bytes(b"<</PageLabels<</Nums[0<</S/D>>]>>>>").unwrap(), 256);
        assert_eq!(labels.get(0), None);
    }
}
