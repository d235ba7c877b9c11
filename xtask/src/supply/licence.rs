//! What a package says about its licence, as an expression: `(MIT OR Apache-2.0) AND Unicode-3.0`. Old packages write `/` for `OR`.

/// Whether the expression can be met with licences that are allowed. What cannot be read is not.
pub(super) fn allows(said: &str, allowed: impl Fn(&str) -> bool) -> bool {
    let spaced = said.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = Words { rest: spaced.split_whitespace().collect(), allowed: &allowed };
    words.rest.reverse();
    let met = words.any();
    met == Some(true) && words.rest.is_empty()
}

struct Words<'a, A> {
    /// The next one is the last.
    rest: Vec<&'a str>,
    allowed: &'a A,
}

impl<A: Fn(&str) -> bool> Words<'_, A> {
    fn any(&mut self) -> Option<bool> {
        let mut met = self.all()?;
        while self.takes("OR") {
            met |= self.all()?;
        }
        Some(met)
    }

    fn all(&mut self) -> Option<bool> {
        let mut met = self.one()?;
        while self.takes("AND") {
            met &= self.one()?;
        }
        Some(met)
    }

    fn one(&mut self) -> Option<bool> {
        if self.takes("(") {
            let met = self.any()?;
            return self.takes(")").then_some(met);
        }
        let mut licence =
            self.rest.pop().filter(|word| !matches!(*word, "AND" | "OR" | "WITH" | ")"))?.to_owned();
        if self.takes("WITH") {
            licence = format!("{licence} WITH {}", self.rest.pop()?);
        }
        Some((self.allowed)(&licence))
    }

    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.rest.last() == Some(&word);
        if is_next {
            self.rest.pop();
        }
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_met_when_a_way_through_it_is_allowed() {
        let allowed = |licence: &str| matches!(licence, "MIT" | "Apache-2.0" | "Unicode-3.0");
        for (said, met) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("MIT OR GPL-3.0", true),
            ("MIT/GPL-3.0", true),
            ("GPL-2.0 / GPL-3.0", false),
            ("MIT AND GPL-3.0", false),
            ("(MIT OR GPL-3.0) AND Unicode-3.0", true),
            ("(MIT OR Apache-2.0) AND GPL-3.0", false),
            ("GPL-3.0 OR MIT AND Unicode-3.0", true),
            ("GPL-3.0 OR MIT AND BSL-1.0", false),
            ("Apache-2.0 WITH LLVM-exception", false),
            ("Apache-2.0 WITH LLVM-exception OR MIT", true),
            ("", false),
            ("MIT OR", false),
            ("(MIT", false),
            ("MIT)", false),
            ("MIT GPL-3.0", false),
        ] {
            assert_eq!(allows(said, allowed), met, "{said:?}");
        }
    }
}
