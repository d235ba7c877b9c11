//! Settings: flags > environment > `redrive.toml` > defaults, all from one table. The one home of the environment.

mod breakers;
mod digesting;
mod fetching;
mod file;
mod flags;
mod intaking;
mod kind;
mod listed;
mod near;
mod serving;
pub(crate) mod table;
mod values;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::args::Shared;
use crate::exit::Stop;
use crate::logs;

pub(crate) use breakers::Breakers;
pub(crate) use digesting::Digesting;
pub(crate) use fetching::Fetching;
pub(crate) use file::{FILE, lower};
pub(crate) use flags::Flags;
pub(crate) use intaking::Intaking;
pub(crate) use listed::listed;
pub(crate) use serving::{Serving, Work, max_result, max_upload};
use values::Origin;
pub(crate) use values::Values;

/// All settings in their order.
pub(crate) fn settings() -> impl Iterator<Item = &'static table::Setting> {
    table::SECTIONS.iter().flat_map(|section| section.settings)
}

/// Where the data is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Folder for everything that is stored.
    pub(crate) data_dir: PathBuf,
    /// Which store.
    pub(crate) store: StoreUrl,
}

impl Place {
    /// The folders without which nothing goes on: that of the database, and the one for everything that is on its way.
    pub(crate) fn homes(&self) -> Vec<PathBuf> {
        let database = match &self.store {
            StoreUrl::Sqlite(file) => file.parent().filter(|folder| !folder.as_os_str().is_empty()),
            StoreUrl::Postgres(_) => None,
        };
        database.map(PathBuf::from).into_iter().chain([self.data_dir.clone()]).collect()
    }
}

/// Which store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    /// One file.
    Sqlite(PathBuf),
    /// A server; its address may hold a password.
    Postgres(Secret),
}

/// A value that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// The value, for the one who needs it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(kind::MASK)
    }
}

/// The process's environment.
#[derive(Default, Clone)]
pub(crate) struct Environment {
    variables: Vec<(String, String)>,
}

impl Environment {
    fn read() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
        };
        Self { variables: std::env::vars_os().filter_map(text).collect() }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Everything that was said, good or bad.
pub(crate) fn gather<const USE: table::Use>(shared: &Shared, flags: &Flags<USE>) -> Values {
    let environment = Environment::read();
    let all = [shared.logs.given.as_slice(), flags.given.as_slice()].concat();
    let named = environment.get("REDRIVE_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
    let named = shared.config.clone().or(named);
    Values::gather(&all, environment, named.as_deref())
}

/// The settings of a command that uses these. Stops with every problem at once; begins to log, and says what is odd.
pub(crate) fn read<const USE: table::Use>(
    shared: &Shared,
    flags: &Flags<USE>,
    level: logs::Usual,
) -> Result<Values, Stop> {
    let values = gather(shared, flags);
    values.check(USE | table::LOGS)?;
    logs::start(&values, level);
    for warning in values.warnings() {
        tracing::warn!(event = "settings.odd", "{warning}");
    }
    Ok(values)
}

/// Where the data is.
pub(crate) fn place(values: &Values) -> Result<Place, Stop> {
    Ok(Place { data_dir: data_dir(values), store: values.store()? })
}

/// What conversions are run with.
pub(crate) fn work(values: &Values) -> Result<Work, Stop> {
    Work::read(values)
}

/// Whether somebody set it.
pub(crate) fn is_set(values: &Values, name: &str) -> bool {
    values.origin(name) != Origin::Default
}

/// The server that commands talk to, where one is named.
pub(crate) fn server_url(values: &Values) -> Result<Option<url::Url>, Stop> {
    values.url("REDRIVE_URL")
}

/// What operators sign in with, where it is set.
pub(crate) fn operator_token(values: &Values) -> Option<Secret> {
    values.secret("OPERATOR_TOKEN")
}

/// The folder for everything that is stored.
pub(crate) fn data_dir(values: &Values) -> PathBuf {
    Path::new(&values.text("DATA_DIR").unwrap_or_default()).to_owned()
}
