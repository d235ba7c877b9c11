//! The sink that tells other systems what happens, where one is set.

use std::sync::Arc;

use redrive_engine::{By, Engine};
use redrive_fetch::{Destinations, Pools};

use super::engine_stop;
use crate::exit::{Exit, Stop};
use crate::settings::Secret;

/// The reader's name; `redrive_notify::NATS` is the same.
const NAME: &str = "notify.nats";

/// Registers the sink when there is an address for it. Letters name the places and the pools that there are.
pub(crate) async fn register(
    engine: &Engine,
    url: Option<&Secret>,
    places: Destinations,
    pools: Arc<Pools>,
) -> Result<(), Stop> {
    match url {
        Some(url) => nats(engine, url.reveal(), places, pools).await,
        None => Ok(()),
    }
}

/// Ends a sink that was set once and is no longer: a reader that never reads on would keep all events for ever.
pub(crate) async fn forget(engine: &Engine) -> Result<(), Stop> {
    let known = engine.readers().await.map_err(engine_stop)?.iter().any(|reader| reader.name == NAME);
    if known {
        let by = By::new("serve").because("NATS_URL is no longer set");
        engine.remove_permanent(NAME, &by).await.map_err(engine_stop)?;
        engine.forget_reader(NAME, &by).await.map_err(engine_stop)?;
        tracing::warn!(
            event = "nats.forgotten",
            "NATS_URL is no longer set: events wait for nobody any more"
        );
    }
    Ok(())
}

#[cfg(feature = "nats")]
async fn nats(engine: &Engine, url: &str, places: Destinations, pools: Arc<Pools>) -> Result<(), Stop> {
    use redrive_fetch::wire::{Message, dead_letter};
    use redrive_notify::{Encode, Nats, NatsError, NatsOptions};

    let store = engine.store().clone();
    let encode: Encode = {
        let (store, places) = (store.clone(), Arc::new(places));
        Arc::new(move |dead, most| {
            let (store, places, pools) = (store.clone(), places.clone(), pools.clone());
            Box::pin(async move {
                let letter = dead_letter(&*store, Some(&places), Some(&pools), &dead).await?;
                Ok(letter.within(most).encode_to_vec())
            })
        })
    };
    // What the engine does for itself is of no interest outside.
    let silent = engine.permanents().await.map_err(engine_stop)?.into_iter().map(|one| one.name).collect();
    let options = NatsOptions { url: url.to_owned(), encode, silent };
    let sink =
        Nats::new(store, &engine.new_id().to_string(), options).await.map_err(|error| match error {
            NatsError::Store(error) => error.into(),
            error => Stop::new(Exit::Usage, format!("NATS_URL: {error}")),
        })?;
    engine.projector(NAME, sink).await.map(drop).map_err(engine_stop)
}

#[cfg(not(feature = "nats"))]
async fn nats(_: &Engine, _: &str, _: Destinations, _: Arc<Pools>) -> Result<(), Stop> {
    let text = "NATS_URL is set, and this program was built without its sink: build it with `--features nats`, or unset it";
    Err(Stop::new(Exit::Usage, text))
}

#[cfg(all(test, feature = "nats"))]
mod tests {
    #[test]
    fn the_reader_has_one_name() {
        assert_eq!(super::NAME, redrive_notify::NATS);
    }
}
