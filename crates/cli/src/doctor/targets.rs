//! Whether the gateway really converts.

use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use redrive_api::Finding;
use redrive_convert::{Ask, Gateway, Outgoing};
use redrive_gateway::sample;
use redrive_model::redact::redact;
use tokio::sync::watch;

use crate::settings::{Serving, Work};
use crate::{builtin, wiring};

/// A page takes no longer than this, whatever larger files may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Has one small page converted, by the gateway that the settings name or by one that is built in like that of `serve`.
pub(super) async fn gateway(serving: &Serving) -> Finding {
    let work = Work { gateway_timeout: serving.work.gateway_timeout.min(PATIENCE), ..serving.work.clone() };
    let (stop, stopped) = watch::channel(false);
    let (url, shown, next) = match &work.gateway {
        Some(url) => {
            let next = "See whether it is up and whether GATEWAY_URL is right; jobs wait meanwhile and lose nothing.";
            (Ok(url.clone()), redact(url.as_str()), next)
        }
        None => {
            let next = "It runs this program once for each file: see whether processes may be started here, and whether the folder for temporary files has room. redrive gateway alone tells more.";
            (builtin::start(work.max_upload, stopped).await, "built in".to_owned(), next)
        }
    };
    let asked = match url.and_then(|url| wiring::gateway(&work, url)) {
        Ok(gateway) => page(&gateway).await,
        Err(stop) => Err(stop.message().to_owned()),
    };
    stop.send_replace(true);
    match asked {
        Ok(mappings) => {
            Finding::good("gateway", format!("{shown}: a page was converted; it knows {mappings} mappings"))
        }
        Err(why) => Finding::bad("gateway", format!("{shown}: {why}"), next),
    }
}

/// Converts one page by the first mapping, and answers how many there are.
async fn page(gateway: &Gateway) -> Result<usize, String> {
    let mappings = gateway.mappings().await.map_err(|failure| failure.message)?;
    let Some(first) = mappings.first() else { return Err("it has no mappings".to_owned()) };
    let pdf = Bytes::from(sample::hello());
    let pdf = Outgoing { length: pdf.len() as u64, bytes: stream::iter([Ok(pdf)]).boxed() };
    let ask = Ask { mapping: &first.name, pages: None, idempotency_key: "redrive-doctor" };
    let mut answer = gateway.process(pdf, ask).await.map_err(|failure| failure.message)?;
    while answer.chunk().await.map_err(|failure| failure.message)?.is_some() {}
    Ok(mappings.len())
}
