//! Language tags: only what every schema takes is written.

/// The tag, if it has the form of `xs:language`: one to eight letters, then parts of one to eight letters or digits.
pub(crate) fn checked(tag: Option<&str>) -> Option<&str> {
    tag.filter(|tag| {
        let mut parts = tag.split('-');
        let fits = |part: &str| (1..=8).contains(&part.len());
        parts.next().is_some_and(|first| fits(first) && first.bytes().all(|b| b.is_ascii_alphabetic()))
            && parts.all(|part| fits(part) && part.bytes().all(|b| b.is_ascii_alphanumeric()))
    })
}

#[cfg(test)]
mod tests {
    use super::checked;

    #[test]
    fn only_tags_that_schemas_take() {
        for good in ["de", "en-GB", "zh-Hant-TW", "x-klingon", "de-1996"] {
            assert_eq!(checked(Some(good)), Some(good));
        }
        for bad in ["", "-", "de-", "de_DE", "1de", "languagetag", "de-languagetag", "dé"] {
            assert_eq!(checked(Some(bad)), None, "{bad:?}");
        }
    }
}
