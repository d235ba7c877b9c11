//! The name beside a name that is taken.

use crate::key::{Key, KeyError, MAX_SEGMENT_BYTES};

/// `a/report.pdf` becomes `a/report-2.pdf`. A name that would be too long loses the end of its stem. Errs when the whole key is too long.
pub fn beside(key: &Key, n: u32) -> Result<Key, KeyError> {
    let (folders, name) = key.split();
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, format!("-{n}.{ending}")),
        Some(_) | None => (name, format!("-{n}")),
    };
    let mut end = stem.len().min(MAX_SEGMENT_BYTES.saturating_sub(ending.len()));
    while !stem.is_char_boundary(end) {
        end -= 1;
    }
    let name = format!("{}{ending}", stem.get(..end).unwrap_or_default());
    Key::parse(&folders.map_or_else(|| name.clone(), |folders| format!("{folders}/{name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_before_the_ending() {
        for (name, second) in [
            ("a.pdf", "a-2.pdf"),
            ("x/März 2026.pdf", "x/März 2026-2.pdf"),
            ("x.y/plain", "x.y/plain-2"),
            (".pdf", ".pdf-2"),
            ("a-2.pdf", "a-2-2.pdf"),
        ] {
            assert_eq!(beside(&Key::parse(name).unwrap(), 2).unwrap().as_str(), second);
        }
    }

    #[test]
    fn a_name_of_full_length_stays_a_name() {
        for name in ["é".repeat(125) + "x.pdf", "x".repeat(255), format!("x.{}", "y".repeat(253))] {
            let second = beside(&Key::parse(&name).unwrap(), 17);
            assert!(second.is_err() || second.as_ref().unwrap().as_str().contains("-17"), "{second:?}");
        }
        let long = Key::parse(&("é".repeat(125) + "x.pdf")).unwrap();
        assert!(beside(&long, 2).unwrap().as_str().ends_with("é-2.pdf"));
    }
}
