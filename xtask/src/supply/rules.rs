//! `deny.toml`, as far as it is held here. What is written in it otherwise is for `cargo deny`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use toml_edit::{DocumentMut, Item, Value};

/// What is allowed, and what is not.
#[derive(Debug, Default)]
pub(super) struct Rules {
    licences: BTreeSet<String>,
    exceptions: BTreeMap<String, BTreeSet<String>>,
    banned: BTreeSet<String>,
    single: BTreeSet<String>,
    registries: BTreeSet<String>,
}

impl Rules {
    pub(super) fn read(text: &str) -> Result<Self> {
        let all: DocumentMut = text.parse().context("deny.toml cannot be read")?;
        let mut rules = Self { licences: words(at(&all, "licenses", "allow")?)?, ..Self::default() };
        for exception in entries(at(&all, "licenses", "exceptions")?)? {
            let allowed = exception.get("allow").context("an exception of deny.toml allows nothing")?;
            rules.exceptions.insert(name(exception)?, words_of(allowed)?);
        }
        for ban in entries(at(&all, "bans", "deny")?)? {
            let single = ban.get("deny-multiple-versions").and_then(Value::as_bool) == Some(true);
            let list = if single { &mut rules.single } else { &mut rules.banned };
            list.insert(name(ban)?);
        }
        rules.registries = words(at(&all, "sources", "allow-registry")?)?;
        Ok(rules)
    }

    pub(super) fn allows_licence(&self, package: &str, licence: &str) -> bool {
        let excepted = self.exceptions.get(package).is_some_and(|allowed| allowed.contains(licence));
        excepted || self.licences.contains(licence)
    }

    pub(super) fn allows_source(&self, source: &str) -> bool {
        source.strip_prefix("registry+").is_some_and(|registry| self.registries.contains(registry))
    }

    pub(super) fn bans(&self, package: &str) -> bool {
        self.banned.contains(package)
    }

    /// Packages of which one version is enough.
    pub(super) fn single(&self) -> impl Iterator<Item = &str> {
        self.single.iter().map(String::as_str)
    }
}

fn at<'a>(all: &'a DocumentMut, section: &str, key: &str) -> Result<&'a Item> {
    let found = all.get(section).and_then(|section| section.get(key));
    found.with_context(|| format!("deny.toml has no {key} in [{section}]"))
}

fn entries(list: &Item) -> Result<Vec<&toml_edit::InlineTable>> {
    let list = list.as_array().context("deny.toml: a list is wanted")?;
    list.iter().map(|entry| entry.as_inline_table().context("deny.toml: { crate = … } is wanted")).collect()
}

fn name(entry: &toml_edit::InlineTable) -> Result<String> {
    let name = entry.get("crate").and_then(Value::as_str);
    Ok(name.context("deny.toml: an entry names no crate")?.to_owned())
}

fn words(list: &Item) -> Result<BTreeSet<String>> {
    words_of(list.as_value().context("deny.toml: a list is wanted")?)
}

fn words_of(list: &Value) -> Result<BTreeSet<String>> {
    let list = list.as_array().context("deny.toml: a list is wanted")?;
    list.iter().map(|word| Ok(word.as_str().context("deny.toml: a text is wanted")?.to_owned())).collect()
}
