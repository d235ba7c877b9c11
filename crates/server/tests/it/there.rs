//! A server that has something of everything, and where it is: for tests that walk all routes.

use redrive_server::Limits;
use serde_json::json;

use crate::client::Client;
use crate::desk::say;
use crate::gateway::Mood;
use crate::intake::{document, id};
use crate::scopes::nowhere;
use crate::tokens::made;
use crate::world::{World, eventually, pdf};

/// Where everything is.
pub(crate) struct There {
    pub(crate) world: World,
    /// Whose job and batch it is.
    pub(crate) ann: Client,
    pub(crate) operator: Client,
    /// What stands for the braces of a path that begins so.
    names: Vec<(&'static str, String)>,
}

/// Nobody who walks all routes is told to come again later.
pub(crate) fn patient(limits: &mut Limits) {
    let rates = &mut limits.rates;
    rates.address_factor = 1_000.0;
    for rate in [&mut rates.upload, &mut rates.look, &mut rates.download, &mut rates.act, &mut rates.session]
    {
        rate.burst = 100_000.0;
    }
    rates.wrong_keys.burst = 100_000.0;
}

impl There {
    pub(crate) async fn start() -> Self {
        let world = World::with(|setup| patient(&mut setup.limits)).await;
        let (mut ann, mut operator) = (world.client(), world.operator());
        let job = world.converted(&mut ann, "a.pdf", &pdf(1)).await;
        let batch = crate::fetch::fetched(&mut ann).await;
        for n in [2, 3] {
            world.gateway.mood(Mood::Refuses);
            world.converted(&mut ann, "refused.pdf", &pdf(n)).await;
            world.gateway.mood(Mood::Fine);
            if n == 2 {
                replayed(&mut operator).await;
            }
        }
        let replay = operator.get("/api/replays").await.json()["replays"][0]["id"].clone();
        let open = operator.get("/api/dead-letters?state=open").await.json();
        let letter = &open["dead_letters"][0];
        let token = made(&mut operator, "reader", "read").await.id;
        world.documents.take_in(vec![document(1)]).await.unwrap();
        let worker = eventually(async || {
            let known = operator.get("/api/workers").await.json();
            known["workers"][0]["id"].as_str().map(str::to_owned)
        })
        .await;
        let word = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let (offset, group) = (letter["offset"].to_string(), word(&letter["group"]));
        let names = vec![
            ("/api/jobs/", job.clone()),
            ("/jobs/", job),
            ("/api/fetch/", batch.clone()),
            ("/fetch/", batch),
            ("/api/dead-letters/", offset.clone()),
            ("/letters/", offset),
            ("/api/groups/", group.clone()),
            ("/dead/", group),
            ("/api/breakers/", "gateway".to_owned()),
            ("/api/workers/", worker.clone()),
            ("/workers/", worker),
            ("/api/replays/", word(&replay)),
            ("/replays/", word(&replay)),
            ("/api/tokens/", token.clone()),
            ("/tokens/", token),
            ("/api/intake/documents/", id(1).to_string()),
            ("/intake/documents/", id(1).to_string()),
        ];
        Self { world, ann, operator, names }
    }

    /// The path of a route with what is there in it.
    pub(crate) fn at(&self, path: &str) -> String {
        let known = self.names.iter().find(|(begins, _)| path.starts_with(begins));
        match (known, path.find('{'), path.find('}')) {
            (Some((_, name)), Some(from), Some(to)) => [&path[..from], name, &path[to + 1..]].concat(),
            _ => nowhere(path),
        }
    }
}

/// Starts everything again that is dead, and waits until that is done.
async fn replayed(operator: &mut Client) {
    let started = say(operator, "/api/replays", json!({"filter": {"workload": "convert"}})).await;
    let place = started.header("location").unwrap().to_owned();
    eventually(async || (operator.get(&place).await.json()["phase"] == "done").then_some(())).await;
}
