//! What is wrong here, and what to do about it, beside a server that runs and without one, on either database.
//!
//! It changes nothing that is anybody's: what it writes is one object of its own in each place, which it removes again. A folder that is not
//! there is never made by looking.

mod files;
mod jobs;
mod machine;
mod mail;
mod places;
mod proxies;
mod targets;

use std::path::Path;
use std::sync::Arc;

use redrive_api::Finding;
use redrive_engine::{Engine, Options};
use redrive_store::Store;

use crate::settings::table::Use;
use crate::settings::{self, Place, Serving, StoreUrl, Values};
use crate::store;

/// Looks at everything that can be looked at.
pub(crate) async fn examine(values: &Values) -> Vec<Finding> {
    let problems = values.problems(Use::MAX);
    if !problems.is_empty() {
        let next = "Correct them; redrive config show tells where each value comes from.";
        return vec![Finding::bad("settings", problems.join("; "), next)];
    }
    let (place, serving) = match (settings::place(values), Serving::read(values)) {
        (Ok(place), Ok(serving)) => (place, serving),
        (Err(stop), _) | (_, Err(stop)) => {
            return vec![Finding::bad("settings", stop.message(), "Correct the setting.")];
        }
    };
    let mut found = machine::settings(values);
    found.extend(machine::folder(&place.data_dir));
    found.push(machine::server(&place.data_dir).await);
    found.extend(machine::room(&place.data_dir, &serving));
    found.extend(places::examine(values, &serving).await);
    found.push(targets::gateway(&serving).await);
    found.extend(proxies::examine(values).await);
    found.extend(mail::examine(&serving).await);
    let Some(store) = reachable(&place, &mut found).await else { return found };
    let options = Options { lease_ttl: serving.work.lease_ttl, ..Options::default() };
    match Engine::new(store.clone(), options).await {
        Ok(engine) => {
            found.extend(jobs::examine(&engine).await);
            found.extend(files::examine(&engine, values, &serving).await);
        }
        Err(error) => found.push(Finding::bad("store", error.to_string(), "See whether the database is up.")),
    }
    found
}

/// The store, only for looking.
async fn reachable(place: &Place, found: &mut Vec<Finding>) -> Option<Arc<dyn Store>> {
    let words = store::describe(place);
    match &place.store {
        StoreUrl::Sqlite(path) if !Path::exists(path) => {
            let next = "redrive serve makes it; if there was one, look at DATA_DIR and DATABASE_URL.";
            found.push(Finding::note("store", format!("{words} does not exist yet"), next));
            return None;
        }
        StoreUrl::Sqlite(_) | StoreUrl::Postgres(_) => {}
    }
    match store::look(place).await {
        Ok(store) => {
            found.push(Finding::good("store", format!("{words} answers, and its schema fits")));
            found.push(machine::clock(&*store).await);
            Some(store)
        }
        Err(stop) => {
            let next =
                "See whether it is up and whether DATABASE_URL is right; redrive migrate makes the schema.";
            found.push(Finding::bad("store", format!("{words}: {}", stop.message()), next));
            None
        }
    }
}
