//! `Cargo.lock`: which packages there are, in which version, and where from.

use anyhow::{Context, Result};
use toml_edit::{DocumentMut, Item};

/// One package of the lock.
#[derive(Debug, Clone)]
pub(super) struct Locked {
    pub(super) name: String,
    pub(super) version: String,
    /// Nothing for one of ours.
    pub(super) source: Option<String>,
    /// What comes is compared with what came before.
    pub(super) checksum: bool,
}

/// Reads the packages.
pub(super) fn read(text: &str) -> Result<Vec<Locked>> {
    let lock: DocumentMut = text.parse().context("Cargo.lock cannot be read")?;
    let packages = lock.get("package").and_then(Item::as_array_of_tables);
    let mut found = Vec::new();
    for package in packages.context("Cargo.lock has no packages")? {
        let word = |key: &str| package.get(key).and_then(Item::as_str).map(str::to_owned);
        found.push(Locked {
            name: word("name").context("a package of Cargo.lock has no name")?,
            version: word("version").unwrap_or_default(),
            source: word("source"),
            checksum: word("checksum").is_some(),
        });
    }
    Ok(found)
}
