//! `redrive serve`: the store and the HTTP side in one process, until it is told to stop.

use tokio::net::TcpListener;

use crate::args::Serve;
use crate::exit::{Exit, Stop};
use crate::signals::told_to_stop;
use crate::{settings, store};

pub(crate) fn run(flags: &Serve) -> Result<(), Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(flags))
}

#[expect(clippy::print_stdout, reason = "the first lines say where everything is")]
async fn serve(flags: &Serve) -> Result<(), Stop> {
    let place = settings::place(&flags.database)?;
    let address = settings::listen(flags)?;
    let store = store::open(&place).await?;
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| Stop::new(Exit::Conflict, format!("cannot listen on {address}: {error}")))?;
    println!("redrive listening on http://{}", listener.local_addr()?);
    println!("data   {}", place.data_dir.display());
    println!("store  {}", store::describe(&place));
    axum::serve(listener, redrive_server::router(store)).with_graceful_shutdown(told_to_stop()).await?;
    Ok(())
}
