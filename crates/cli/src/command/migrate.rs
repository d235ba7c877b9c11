//! `redrive migrate`: brings the schema up to date and says so.

use crate::args::Shared;
use crate::exit::Stop;
use crate::logs::Usual;
use crate::settings::Flags;
use crate::settings::table::STORE;
use crate::{say, settings, store};

pub(crate) fn run(shared: &Shared, flags: &Flags<STORE>) -> Result<(), Stop> {
    let place = settings::place(&settings::read(shared, flags, Usual::Warn)?)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(store::open(&place))?;
    say::line(&format!("schema up to date: {}", store::describe(&place)))
}
