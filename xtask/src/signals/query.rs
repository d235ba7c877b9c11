//! What a query of Prometheus speaks of: metrics with the labels they are chosen by, and labels that it groups by.
//!
//! As much of the language as that question needs. Whether a query can be run at all is for `promtool`.

/// One metric in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) name: String,
    /// Labels in its braces.
    pub(super) by: Vec<String>,
}

/// Everything that a query names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) metrics: Vec<Chosen>,
    /// Labels in `by (…)`, `on (…)` and their like.
    pub(super) grouped: Vec<String>,
}

/// Words that stand before a list of labels.
const LISTS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
/// Words that are neither a metric nor followed by a bracket.
const WORDS: [&str; 15] = [
    "and", "or", "unless", "offset", "bool", "inf", "nan", "sum", "min", "max", "avg", "count", "topk",
    "bottomk", "quantile",
];

/// Reads a query.
pub(super) fn read(query: &str) -> Named {
    let mut named = Named::default();
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        match first {
            '"' | '\'' => rest = after_string(rest, first),
            // A span of time.
            '[' => rest = rest.split_once(']').map_or("", |(_, after)| after),
            '{' => {
                let (labels, after) = labels(rest.strip_prefix('{').unwrap_or_default());
                if let Some(metric) = named.metrics.last_mut() {
                    metric.by.extend(labels);
                }
                rest = after;
            }
            _ if first.is_ascii_digit() => rest = split_word(rest).1,
            _ if is_letter(first) => {
                let (word, after) = split_word(rest);
                rest = after;
                let inside = after.trim_start().strip_prefix('(');
                match inside {
                    Some(inside) if LISTS.contains(&word) => {
                        let (list, after) = inside.split_once(')').unwrap_or((inside, ""));
                        named.grouped.extend(
                            list.split(',').map(|label| label.trim().to_owned()).filter(|l| !l.is_empty()),
                        );
                        rest = after;
                    }
                    Some(_) => {}
                    None if LISTS.contains(&word) || WORDS.contains(&word) => {}
                    None => named.metrics.push(Chosen { name: word.to_owned(), by: Vec::new() }),
                }
            }
            _ => rest = rest.get(first.len_utf8()..).unwrap_or_default(),
        }
    }
    named
}

/// The labels up to the brace that closes, and what follows it.
fn labels(mut rest: &str) -> (Vec<String>, &str) {
    let mut found = Vec::new();
    while let Some(first) = rest.chars().next() {
        match first {
            '"' | '\'' => rest = after_string(rest, first),
            '}' => return (found, rest.strip_prefix('}').unwrap_or_default()),
            _ if is_letter(first) => {
                let (word, after) = split_word(rest);
                found.push(word.to_owned());
                rest = after;
            }
            _ => rest = rest.get(first.len_utf8()..).unwrap_or_default(),
        }
    }
    (found, rest)
}

fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

fn split_word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.')));
    text.split_at(end.unwrap_or(text.len()))
}

fn after_string(text: &str, quote: char) -> &str {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == quote => return text.get(at + 1..).unwrap_or_default(),
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_and_labels_are_found_and_nothing_else() {
        let named = read(
            "histogram_quantile(0.95, sum by (le, x) (rate(a_bucket{code=~\"GW_.*|}\\\"\", w!='1'}[5m]))) > 1e3 \
             unless on (target) max(b offset 1h) or vector(0)",
        );
        let names: Vec<(&str, Vec<&str>)> = named
            .metrics
            .iter()
            .map(|metric| (metric.name.as_str(), metric.by.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(names, [("a_bucket", vec!["code", "w"]), ("b", vec![])]);
        assert_eq!(named.grouped, ["le", "x", "target"]);
    }
}
