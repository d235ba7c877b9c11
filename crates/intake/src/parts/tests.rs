use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive_blob::shelf::FolderShelf;
use redrive_engine::store::Store;
use redrive_engine::{Done, Options, Policy, Workload};
use redrive_gateway_client::GatewayOptions;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Serialize, Deserialize)]
struct Asks;

impl Input for Asks {
    const WORKLOAD: &'static str = "asks";
}

/// A run that was stopped while it handed its parts in, and what it is told when it goes on.
struct Stopped {
    cutter: Cutter,
    said: Arc<Mutex<Vec<&'static str>>>,
}

impl Stopped {
    async fn say(&self, ctx: &Context) -> Result<(), Failure> {
        let said = match self.cutter.progress(ctx, "text").await? {
            Progress::NotBegun => "not begun",
            Progress::Running(_) => "running",
            Progress::Joined(_) => "joined",
            Progress::Whole => "whole",
        };
        self.said.lock().unwrap().push(said);
        Ok(())
    }
}

impl Workload for Stopped {
    type Input = Asks;

    fn policy(&self) -> Policy {
        Policy::on_demand()
    }

    async fn run(&self, ctx: Context, _: Asks) -> Result<Done, Failure> {
        self.say(&ctx).await?;
        let id = self.cutter.batch_of(&ctx, ctx.attempt(), "text");
        for other in [
            self.cutter.batch_of(&ctx, ctx.attempt() + 1, "text"),
            self.cutter.batch_of(&ctx, ctx.attempt(), "alto"),
            Cutter { per_part: 6, ..self.cutter.clone() }.batch_of(&ctx, ctx.attempt(), "text"),
        ] {
            assert_ne!(id, other);
        }
        let part = Part {
            document: ctx.job(),
            attempt: ctx.attempt(),
            root: String::new(),
            path: "a.pdf".to_owned(),
            pdf: "pdf/a.pdf".to_owned(),
            sha256: String::new(),
            mapping: "text".to_owned(),
            range: Range { first: 1, last: 5 },
            targets: Vec::new(),
        };
        let mut batch = self.cutter.engine.open_batch::<Part>(BatchOptions::default().id(id)).await?;
        batch.add(std::slice::from_ref(&part)).await?;
        self.say(&ctx).await?;
        let rest = [part.clone(), Part { range: Range { first: 6, last: 9 }, ..part }];
        assert_eq!(self.cutter.begin(&ctx, "text", &rest).await?, id);
        self.say(&ctx).await?;
        assert_eq!(self.cutter.engine.batch(id).await?.unwrap().counters.total, 2);
        Ok(Done::Complete)
    }
}

#[tokio::test]
async fn a_run_that_was_stopped_while_it_handed_its_parts_in_hands_in_the_rest() {
    let home = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(redrive_store_sqlite::Options::default().in_memory().unwrap());
    let engine = Engine::new(store, Options::default()).await.unwrap();
    let options = GatewayOptions {
        url: url::Url::parse("http://127.0.0.1:9").unwrap(),
        timeout: Duration::from_secs(1),
        max_response: 1,
    };
    let shelf = Arc::new(FolderShelf::open(home.path()).await.unwrap());
    let cutter = Cutter::new(engine.clone(), shelf, Gateway::new(options).unwrap(), 5, 1 << 20);
    let said = Arc::new(Mutex::new(Vec::new()));
    engine.register(Stopped { cutter, said: said.clone() });
    let id = engine.enqueue(&Asks).await.unwrap();
    engine.run_until_idle().await.unwrap();
    let row = engine.job(id).await.unwrap().unwrap();
    assert!(row.state.is_terminal(), "{row:?}");
    assert_eq!(*said.lock().unwrap(), ["not begun", "not begun", "running"]);
}
