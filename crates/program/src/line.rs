//! A command line as words: spaces between them, quotes around those that have spaces. Nothing is expanded.

/// The words; nothing when a quote has no end.
pub(crate) fn split(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (None | Some('"'), '\\') => word.get_or_insert_default().push(letters.next()?),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_words_together_and_nothing_is_expanded() {
        for (line, words) in [
            ("scan", Some(vec!["scan"])),
            ("  /opt/scan   --fast\t$HOME ", Some(vec!["/opt/scan", "--fast", "$HOME"])),
            ("'/opt/my scan' \"a 'b'\" c\\ d ''", Some(vec!["/opt/my scan", "a 'b'", "c d", ""])),
            ("a\"b\"c; rm", Some(vec!["abc;", "rm"])),
            ("'a\\b' \"a\\\"b\"", Some(vec!["a\\b", "a\"b"])),
            ("", Some(vec![])),
            ("'open", None),
            ("end\\", None),
        ] {
            let words = words.map(|words| words.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(split(line), words, "{line}");
        }
    }
}
