//! Settings: flags > environment > defaults. The one home of the environment.

mod number;
mod serving;

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::args::{Database, Serve};
use crate::exit::{Exit, Stop};

pub(crate) use serving::{Serving, serving};

/// Where the data is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Folder for everything that is stored.
    pub(crate) data_dir: PathBuf,
    /// Which store.
    pub(crate) store: StoreUrl,
}

/// Which store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    /// One file.
    Sqlite(PathBuf),
    /// A server.
    Postgres(String),
}

#[expect(clippy::disallowed_methods, reason = "this is the one home of the environment")]
fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// All of the environment, for libraries that know their own names in it (`AWS_…`).
pub(crate) fn all() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Where the data is, from flags, environment and defaults.
pub(crate) fn place(flags: &Database) -> Result<Place, Stop> {
    let data_dir = flags
        .data_dir
        .clone()
        .or_else(|| env("DATA_DIR").map(PathBuf::from))
        .unwrap_or("redrive-data".into());
    let store = match flags.database_url.clone().or_else(|| env("DATABASE_URL")) {
        None => StoreUrl::Sqlite(data_dir.join("redrive.db")),
        Some(url) => parse_url(&url)?,
    };
    Ok(Place { data_dir, store })
}

fn parse_url(url: &str) -> Result<StoreUrl, Stop> {
    match url.split_once(':') {
        Some(("sqlite", path)) if !path.is_empty() => {
            Ok(StoreUrl::Sqlite(PathBuf::from(path.strip_prefix("//").unwrap_or(path))))
        }
        Some(("postgres" | "postgresql", _)) => Ok(StoreUrl::Postgres(url.to_owned())),
        Some(_) | None => {
            let text = "DATABASE_URL must be sqlite:FILE or postgres://…";
            Err(Stop::new(Exit::Failed, text))
        }
    }
}

/// The address to listen on.
pub(crate) fn listen(flags: &Serve) -> Result<SocketAddr, Stop> {
    let default = SocketAddr::from(([127, 0, 0, 1], 8080));
    match (flags.listen, env("LISTEN")) {
        (Some(address), _) => Ok(address),
        (None, None) => Ok(default),
        (None, Some(text)) => text.parse().map_err(|_| {
            Stop::new(Exit::Failed, format!("LISTEN is {text:?}, not an address such as {default}"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_a_file_or_a_server() {
        assert_eq!(parse_url("sqlite:a/b.db").unwrap(), StoreUrl::Sqlite("a/b.db".into()));
        assert_eq!(parse_url("sqlite:///srv/b.db").unwrap(), StoreUrl::Sqlite("/srv/b.db".into()));
        assert!(matches!(parse_url("postgres://u@h/d").unwrap(), StoreUrl::Postgres(_)));
        for bad in ["", "sqlite:", "mysql://x", "redrive.db"] {
            assert!(parse_url(bad).is_err(), "{bad:?}");
        }
    }
}
