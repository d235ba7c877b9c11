//! `redrive migrate`: brings the schema up to date and says so.

use crate::args::Database;
use crate::exit::Stop;
use crate::{settings, store};

#[expect(clippy::print_stdout, reason = "the answer is the command's output")]
pub(crate) fn run(flags: &Database) -> Result<(), Stop> {
    let place = settings::place(flags)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(store::open(&place))?;
    println!("schema up to date: {}", store::describe(&place));
    Ok(())
}
