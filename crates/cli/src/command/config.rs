//! `redrive config`: what is set, where that came from, and whether it can be used.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

use redrive_api::SettingList;

use crate::args::{Config, Shared};
use crate::exit::{Exit, Stop};
use crate::say;
use crate::settings::table::{Kind, SECTIONS, Setting, Use};
use crate::settings::{self, FILE, Place, Serving, StoreUrl, Values, lower, settings};
use crate::store;

/// A database that has not answered by then is not asked any longer.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn run(shared: &Shared, config: &Config) -> Result<(), Stop> {
    match config {
        Config::Show { json, flags } => show(&settings::gather(shared, flags), *json),
        Config::Check(flags) => check(&settings::gather(shared, flags)),
        Config::Init => init(shared.config.as_deref().unwrap_or(Path::new(FILE))),
    }
}

fn show(values: &Values, json: bool) -> Result<(), Stop> {
    let list = in_force(values)?;
    for line in &list.settings {
        if json {
            say::json(line)?;
        } else {
            let value = line.value.as_deref().unwrap_or("-");
            let origin = line.at.as_deref().unwrap_or(&line.origin);
            let idle = if line.used { "" } else { ", not used yet" };
            say::line(&format!("{:<33} {value:<28} {origin}{idle}", line.name))?;
        }
    }
    if !json {
        for pool in &list.proxy_pools {
            let fallbacks = pool.fallbacks.join(", ");
            let then = if fallbacks.is_empty() { String::new() } else { format!(", then {fallbacks}") };
            say::line(&format!("[proxy_pools] {:<19} {} proxies{then}", pool.name, pool.proxies))?;
        }
    }
    values.check(Use::MAX)
}

/// The settings with what somebody changed at run time, as far as there is a database that can be asked.
fn in_force(values: &Values) -> Result<SettingList, Stop> {
    let list = settings::listed(values);
    let Some(place) = settings::place(values).ok().filter(may_be_there) else { return Ok(list) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let asked = async {
        let store = store::look(&place).await.ok()?;
        Some(redrive_server::in_force(list.clone(), store.as_ref()).await)
    };
    match runtime.block_on(async { tokio::time::timeout(PATIENCE, asked).await }) {
        Ok(Some(kept)) => Ok(kept),
        Ok(None) | Err(_) => {
            say::note("warning: the database cannot be read: what was changed at run time is not shown");
            Ok(list)
        }
    }
}

/// Before the first start there is no file, and nothing was changed.
fn may_be_there(place: &Place) -> bool {
    match &place.store {
        StoreUrl::Sqlite(path) => path.exists(),
        StoreUrl::Postgres(_) => true,
    }
}

fn check(values: &Values) -> Result<(), Stop> {
    for warning in values.warnings() {
        say::note(&format!("warning: {warning}"));
    }
    values.check(Use::MAX)?;
    settings::place(values)?;
    Serving::read(values)?;
    let set = settings().filter(|setting| values.origin(setting.name).word() != "default").count();
    say::line(&format!("settings are fine: {set} set, {} as they are by default", settings().count() - set))
}

fn init(path: &Path) -> Result<(), Stop> {
    let made = OpenOptions::new().write(true).create_new(true).open(path);
    let written = made.and_then(|mut file| {
        file.write_all(template().as_bytes())?;
        file.sync_all()
    });
    match written {
        Ok(()) => say::line(&format!("wrote {}: every setting, commented out", path.display())),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let text = format!(
                "{} is there already and stays as it is; --config FILE writes another one",
                path.display()
            );
            Err(Stop::new(Exit::Conflict, text))
        }
        Err(error) => Err(Stop::new(Exit::Failed, format!("cannot write {}: {error}", path.display()))),
    }
}

/// A file that says everything and changes nothing.
fn template() -> String {
    let mut text = "# Settings of redrive. Flags win over the environment, the environment over this file, this file over defaults.\n\
                    # Remove the mark in front of a line to change it. `redrive config check` looks at everything.\n"
        .to_owned();
    for section in SECTIONS {
        text.push_str(&format!("\n# {}\n", section.title));
        for setting in section.settings {
            text.push_str(&format!("\n# {}: {}.\n", setting.about, setting.kind.words()));
            if setting.default.is_empty() {
                text.push_str(&format!("# Unset: {}.\n# {} = \"\"\n", setting.unset, lower(setting.name)));
            } else {
                text.push_str(&format!("# {} = {}\n", lower(setting.name), literal(setting)));
            }
        }
    }
    text.push_str(POOLS);
    text
}

/// How proxies are written, in the file alone.
const POOLS: &str = "\n# Proxies\n\n# Pools that a manifest may name in `proxy_pool`.\n# [proxy_pools.eu]\n# proxies = [\"http://user:password@proxy.example:3128\"]\n# fallbacks = []\n";

fn literal(setting: &Setting) -> String {
    let default = setting.default.replace("DATA_DIR", "redrive-data");
    match setting.kind {
        Kind::Count | Kind::Positive | Kind::Bytes | Kind::Share | Kind::Time { .. } => default,
        Kind::OneOf(words) if words.contains(&"true") => default,
        Kind::Address
        | Kind::Folder
        | Kind::Place
        | Kind::Database
        | Kind::Url
        | Kind::OneOf(_)
        | Kind::Networks
        | Kind::Ports
        | Kind::Places
        | Kind::Clock
        | Kind::Zone
        | Kind::Text => format!("{default:?}"),
    }
}
