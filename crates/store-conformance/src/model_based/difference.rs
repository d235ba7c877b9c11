//! Says in few lines how two values differ.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write};

use super::universe::ID_PREFIX;

/// Ids as `#00000001`, so that people can read them.
pub(crate) fn short(text: &str) -> String {
    text.replace(ID_PREFIX, "#")
}

/// How two maps differ, at the first key where they do.
pub(crate) fn of_maps<K: Ord + Debug, V: PartialEq + Debug>(
    what: &str,
    expected: &BTreeMap<K, V>,
    actual: &BTreeMap<K, V>,
) -> Option<String> {
    let keys = expected.keys().chain(actual.keys());
    keys.filter_map(|key| of(&format!("{what} {key:?}"), &expected.get(key), &actual.get(key))).next()
}

/// How two lists differ: their lengths, then the first place where they do.
pub(crate) fn of_lists<T: PartialEq + Debug>(what: &str, expected: &[T], actual: &[T]) -> Option<String> {
    let places = expected.len().max(actual.len());
    let first = (0..places).find(|&n| expected.get(n) != actual.get(n))?;
    let lengths = match (expected.len(), actual.len()) {
        (a, b) if a == b => String::new(),
        (a, b) => format!(" (the reference has {a}, the store {b})"),
    };
    of(&format!("{what} number {first}{lengths}"), &expected.get(first), &actual.get(first))
}

/// How two values differ. Of two values of the same shape only the lines that differ are shown.
pub(crate) fn of<T: PartialEq + Debug>(what: &str, expected: &T, actual: &T) -> Option<String> {
    if expected == actual {
        return None;
    }
    let (left, right) = (format!("{expected:#?}"), format!("{actual:#?}"));
    let mut out = format!("{what} differs\n");
    if left.lines().count() == right.lines().count() {
        for (n, (a, b)) in left.lines().zip(right.lines()).enumerate() {
            if a != b {
                let field = field_of(&left, n).unwrap_or_default();
                let _ =
                    writeln!(out, "    reference: {field}{}\n    store:     {field}{}", a.trim(), b.trim());
            }
        }
    } else {
        let _ = writeln!(out, "  reference: {left}\n  store: {right}");
    }
    Some(short(&out))
}

/// The name of the field that a line belongs to, where the line itself does not say it.
fn field_of(text: &str, line: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let depth = |l: &str| l.len() - l.trim_start().len();
    let here = lines.get(line)?;
    if here.contains(": ") {
        return None;
    }
    let above = lines.iter().take(line).rev().find(|l| depth(l) < depth(here) && l.contains(": "))?;
    let name = above.trim().split(": ").next()?;
    Some(format!("{name}: … "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Row {
        id: u8,
        at: Option<u8>,
    }

    #[test]
    fn only_the_field_that_differs_is_shown() {
        let text = of("row 1", &Row { id: 1, at: Some(3) }, &Row { id: 1, at: Some(4) }).unwrap();
        assert_eq!(text, "row 1 differs\n    reference: at: … 3,\n    store:     at: … 4,\n");
        assert_eq!(of("row 1", &1, &1), None);
    }

    #[test]
    fn a_missing_row_is_named() {
        let text = of_maps("row", &BTreeMap::from([(7, 1)]), &BTreeMap::new()).unwrap();
        assert!(text.starts_with("row 7 differs") && text.contains("None"), "{text}");
        let text = of_lists("row", &[1, 2], &[1]).unwrap();
        assert!(text.starts_with("row number 1 (the reference has 2, the store 1) differs"), "{text}");
    }
}
