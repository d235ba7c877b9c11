//! `redrive gateway`: the PDF→XML gateway alone.

use std::net::SocketAddr;

use redrive_gateway::http;
use tokio::net::TcpListener;

use crate::args::{Gateway, Shared};
use crate::exit::{Exit, Stop};
use crate::logs::Usual;
use crate::signals::told_to_stop;
use crate::{say, settings};

pub(crate) fn run(shared: &Shared, flags: &Gateway) -> Result<(), Stop> {
    let values = settings::read(shared, &flags.flags, Usual::Info)?;
    let mut gateway = http::Settings::default();
    gateway.cage.input = settings::max_upload(&values)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(flags, gateway))
}

async fn serve(flags: &Gateway, settings: http::Settings) -> Result<(), Stop> {
    let address = flags.listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8090)));
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| Stop::new(Exit::Conflict, format!("cannot listen on {address}: {error}")))?;
    say::hello(&format!("redrive gateway listening on http://{}", listener.local_addr()?));
    Ok(http::serve(listener, settings, told_to_stop()).await?)
}
