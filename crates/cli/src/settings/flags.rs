//! Flags made from the table: `RETRY_MAX_ATTEMPTS` is `--retry-max-attempts`. Their values are read like all others, by the table.

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

use super::settings;
use super::table::{Kind, LOGS, Setting, Use};

/// The flags of those settings that somebody uses, as far as they were given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags<const USE: Use> {
    pub(crate) given: Vec<(&'static str, String)>,
}

/// The flag of a setting, without its dashes.
pub(super) fn flag(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

fn taken<const USE: Use>() -> impl Iterator<Item = &'static Setting> {
    // Logs are everybody's, so their flags stand once, above all commands.
    settings().filter(|s| s.used & USE != 0 && !s.secret && (USE == LOGS || s.used & LOGS == 0))
}

impl<const USE: Use> Args for Flags<USE> {
    fn augment_args(command: Command) -> Command {
        taken::<USE>().fold(command, |command, setting| {
            let holds = if setting.default.is_empty() { setting.unset } else { setting.default };
            let flag = Arg::new(setting.name)
                .long(flag(setting.name))
                .value_name(value_name(setting.kind))
                .help(format!("{} [env: {}] [default: {}]", capital(setting.about), setting.name, holds))
                .help_heading(if USE == LOGS { "Everywhere" } else { "Settings" })
                .global(USE == LOGS);
            // What people try first.
            let flag = if setting.name == "REDRIVE_URL" { flag.visible_alias("server") } else { flag };
            command.arg(flag)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const USE: Use> FromArgMatches for Flags<USE> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = taken::<USE>()
            .filter_map(|setting| Some((setting.name, matches.get_one::<String>(setting.name)?.clone())));
        Ok(Self { given: given.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

const fn value_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Address => "ADDRESS",
        Kind::Folder => "FOLDER",
        Kind::Place => "PLACE",
        Kind::Database | Kind::Url => "URL",
        Kind::Count | Kind::Positive | Kind::Share | Kind::Time { .. } => "NUMBER",
        Kind::Bytes => "BYTES",
        Kind::OneOf(_) => "WORD",
        Kind::Networks => "NETWORKS",
        Kind::Ports => "PORTS",
        Kind::Places => "PLACES",
        Kind::Clock => "TIME",
        Kind::Zone => "ZONE",
        Kind::Text => "TEXT",
    }
}

fn capital(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}
