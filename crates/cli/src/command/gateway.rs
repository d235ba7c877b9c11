//! `redrive gateway`: the PDF→XML gateway alone.

use std::net::SocketAddr;

use redrive_gateway::http;
use tokio::net::TcpListener;

use crate::args::{Gateway, Shared};
use crate::exit::{Exit, Stop};
use crate::logs::Usual;
use crate::settings::{self, Flags};
use crate::signals::told_to_stop;

pub(crate) fn run(shared: &Shared, flags: &Gateway) -> Result<(), Stop> {
    settings::read(shared, &Flags::<0>::default(), Usual::Info)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(flags))
}

#[expect(clippy::print_stdout, reason = "the first line says where it is")]
async fn serve(flags: &Gateway) -> Result<(), Stop> {
    let address = flags.listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8090)));
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| Stop::new(Exit::Conflict, format!("cannot listen on {address}: {error}")))?;
    println!("redrive gateway listening on http://{}", listener.local_addr()?);
    Ok(http::serve(listener, http::Settings::default(), told_to_stop()).await?)
}
