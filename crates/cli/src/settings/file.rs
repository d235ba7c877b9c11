//! `redrive.toml`: the same names as everywhere, in lower or upper case. A key that nobody knows is a problem, never passed over.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml_edit::{Document, Item, Value};

use redrive_fetch::PoolOptions;

use super::near::nearest;
use super::settings;

/// What the file is called when nobody says.
pub(crate) const FILE: &str = "redrive.toml";
/// The table of proxies.
const POOLS: &str = "proxy_pools";

/// What a pool looks like, to follow "must be".
const POOL_WORDS: &str = "a list of proxies, or a table with the lists proxies and fallbacks";

/// A value of the file and its line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) text: String,
    pub(super) line: usize,
}

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) entries: BTreeMap<&'static str, Entry>,
    pub(super) problems: Vec<String>,
    /// Proxies by the name of their pool.
    pub(super) pools: BTreeMap<String, PoolOptions>,
    /// The file, when there was one.
    pub(super) path: Option<PathBuf>,
}

/// Reads the named file, or the one of the current folder if there is one.
pub(super) fn read(named: Option<&Path>) -> Read {
    let path = named.unwrap_or(Path::new(FILE));
    match std::fs::read_to_string(path) {
        Ok(text) => Read { path: Some(path.to_owned()), ..parse(path, &text) },
        Err(error) if named.is_none() && error.kind() == ErrorKind::NotFound => Read::default(),
        Err(error) => {
            let problem = format!("cannot read the settings in {}: {error}", path.display());
            Read { problems: vec![problem], ..Read::default() }
        }
    }
}

fn parse(path: &Path, text: &str) -> Read {
    let mut read = Read::default();
    let at = |span: Option<Range<usize>>| {
        let before = span.and_then(|span| text.get(..span.start)).unwrap_or_default();
        before.matches('\n').count() + 1
    };
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let line = at(error.span());
            let why = error.message().split('\n').collect::<Vec<_>>().join(", ");
            read.problems.push(format!("{} line {line}: {why}", path.display()));
            return read;
        }
    };
    let table = document.as_table();
    for (key, item) in table {
        let line = at(table.key(key).and_then(|key| key.span()).or_else(|| item.span()));
        let mut problem =
            |what: String| read.problems.push(format!("{} line {line}: {what}", path.display()));
        if let (POOLS, Some(pools)) = (key, item.as_table_like()) {
            for (name, item) in pools.iter() {
                match pool(item) {
                    Some(options) => drop(read.pools.insert(name.to_owned(), options)),
                    None => problem(format!("proxy_pools.{name} must be {POOL_WORDS}")),
                }
            }
            continue;
        }
        let known = settings().find(|setting| setting.name.eq_ignore_ascii_case(key));
        let Some(setting) = known.filter(|setting| key == setting.name || key == lower(setting.name)) else {
            let hint = nearest(key).map(|name| format!("; did you mean {}?", lower(name)));
            problem(format!("{key:?} is no setting{}", hint.unwrap_or_default()));
            continue;
        };
        let Some(text) = plain(item) else {
            problem(format!("{key} must be {}, written as a string or a number", setting.kind.words()));
            continue;
        };
        if read.entries.insert(setting.name, Entry { text, line }).is_some() {
            problem(format!("{key} is set twice"));
        }
    }
    read
}

/// A list of proxies, or a table with proxies and fallbacks.
fn pool(item: &Item) -> Option<PoolOptions> {
    let texts = |item: &Item| -> Option<Vec<String>> {
        item.as_array()?.iter().map(|value| value.as_str().map(str::to_owned)).collect()
    };
    if let Some(proxies) = texts(item) {
        return Some(PoolOptions { proxies, fallbacks: Vec::new() });
    }
    let mut options = PoolOptions::default();
    for (key, item) in item.as_table_like()?.iter() {
        match key {
            "proxies" => options.proxies = texts(item)?,
            "fallbacks" => options.fallbacks = texts(item)?,
            _ => return None,
        }
    }
    Some(options)
}

/// The name as the file has it.
pub(crate) fn lower(name: &str) -> String {
    name.to_ascii_lowercase()
}

/// The value as text; a list becomes one with commas.
fn plain(item: &Item) -> Option<String> {
    fn of(value: &Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text.value().clone()),
            Value::Integer(number) => Some(number.value().to_string()),
            Value::Float(number) => Some(number.value().to_string()),
            Value::Boolean(word) => Some(word.value().to_string()),
            Value::Array(values) => {
                values.iter().map(of).collect::<Option<Vec<_>>>().map(|values| values.join(","))
            }
            Value::Datetime(_) | Value::InlineTable(_) => None,
        }
    }
    item.as_value().and_then(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        parse(Path::new("r.toml"), text).problems
    }

    #[test]
    fn names_are_read_in_either_case_with_their_lines() {
        let text = "# mine\nlisten = \"127.0.0.1:1\"\nRETRY_MAX_ATTEMPTS = 5\npdf_ttl_days = 0.5\ntrusted_proxies = [\"::1\", \"10.0.0.0/8\"]\n";
        let read = parse(Path::new("r.toml"), text);
        assert_eq!(read.problems, Vec::<String>::new());
        let all: Vec<_> = read.entries.iter().map(|(name, e)| (*name, e.text.as_str(), e.line)).collect();
        assert_eq!(
            all,
            [
                ("LISTEN", "127.0.0.1:1", 2),
                ("PDF_TTL_DAYS", "0.5", 4),
                ("RETRY_MAX_ATTEMPTS", "5", 3),
                ("TRUSTED_PROXIES", "::1,10.0.0.0/8", 5)
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_all_of_it() {
        assert_eq!(
            problems("\nretry_max_attempt = 1\nx = 2\n[listen]\na = 1\n"),
            [
                "r.toml line 2: \"retry_max_attempt\" is no setting; did you mean retry_max_attempts?",
                "r.toml line 3: \"x\" is no setting",
                "r.toml line 4: listen must be an address with its port, such as 127.0.0.1:8080, written as a string or a number",
            ]
        );
        assert_eq!(problems("listen = '1'\nLISTEN = '2'\n"), ["r.toml line 2: LISTEN is set twice"]);
        assert!(problems("a\nlisten =").first().unwrap().starts_with("r.toml line 1: "));
    }

    #[test]
    fn pools_are_lists_or_tables_and_what_is_wrong_with_one_shows_no_proxy() {
        let text = "[proxy_pools]\na = ['http://p:1', 'http://q:1']\n[proxy_pools.b]\nproxies = []\nfallbacks = ['a']\n";
        let read = parse(Path::new("r.toml"), text);
        assert_eq!(read.problems, Vec::<String>::new());
        let list = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let of = |name: &str| read.pools.get(name).cloned().unwrap();
        assert_eq!(of("a"), PoolOptions { proxies: list(&["http://p:1", "http://q:1"]), fallbacks: vec![] });
        assert_eq!(of("b"), PoolOptions { proxies: vec![], fallbacks: list(&["a"]) });
        for bad in [
            "a = 'http://u:canary@p'",
            "a = [1]",
            "a = { proxy = ['http://u:canary@p'] }",
            "a = {proxies = 'canary'}",
        ] {
            let told = problems(&format!("[proxy_pools]\n{bad}\n"));
            assert_eq!(told.len(), 1, "{bad}: {told:?}");
            assert!(
                told.iter().all(|text| text.contains("proxy_pools.a") && !text.contains("canary")),
                "{told:?}"
            );
        }
    }

    #[test]
    fn a_named_file_must_be_there() {
        assert_eq!(read(Some(Path::new("/nowhere/r.toml"))).problems.len(), 1);
    }
}
