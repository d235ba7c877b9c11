//! An attempt that ends between its result and its row: the next one adopts the result, or makes it again, never both.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use redrive_convert::{Convert, Made, Pdf};
use redrive_engine::model::State;
use redrive_engine::{Code, Context, Done, Failure, Policy, Workload};

use crate::bench::Bench;
use crate::gateway::{FakeGateway, Say};

/// Runs the real workload, and then does what is said instead of answering, once.
struct StopsOnce<F> {
    convert: Convert,
    runs: Arc<AtomicUsize>,
    meanwhile: F,
}

impl<F: Fn(&Made) + Send + Sync + 'static> Workload for StopsOnce<F> {
    type Input = Pdf;

    fn policy(&self) -> Policy {
        self.convert.policy()
    }

    async fn run(&self, ctx: Context, pdf: Pdf) -> Result<Done, Failure> {
        let done = self.convert.run(ctx.clone(), pdf).await?;
        if self.runs.fetch_add(1, Ordering::SeqCst) == 0 {
            (self.meanwhile)(&ctx.state::<Made>()?.unwrap());
            return Err(Failure::new(Code::Unknown, "stopped before the row was written"));
        }
        Ok(done)
    }
}

async fn interrupted(
    meanwhile: impl Fn(&Made, &std::path::Path) + Send + Sync + 'static,
) -> (usize, u32, Vec<String>) {
    let (bench, gateway) = (Bench::new().await, FakeGateway::start([Say::Xml("<a/>")]).await);
    let results = bench.home().join("results");
    let convert = bench.workload(&gateway.url);
    let workload =
        StopsOnce { convert, runs: Arc::default(), meanwhile: move |made: &Made| meanwhile(made, &results) };
    let running = bench.start(workload);
    let id = bench.upload("one").await;
    let row = bench.ended(id).await;
    assert_eq!(row.state, State::Complete, "{row:#?}");
    let (made, xml) = bench.result(&row).await;
    assert_eq!((xml.as_str(), made.bytes), ("<a/>", 4));
    running.drain().await;
    let names = bench.results().await.iter().map(|key| key.rsplit('/').next().unwrap().to_owned()).collect();
    (gateway.heard().len(), row.attempt, names)
}

/// Also covers: M3, K2.
#[tokio::test]
async fn a_result_whose_hash_matches_is_adopted() {
    assert_eq!(interrupted(|_, _| {}).await, (1, 2, vec!["1.xml".to_owned()]));
}

/// Also covers: M3.
#[tokio::test]
async fn a_result_that_was_changed_is_made_again() {
    let spoil = |made: &Made, results: &std::path::Path| {
        std::fs::write(results.join(&made.key), "<b/>").unwrap();
    };
    let (calls, attempts, names) = interrupted(spoil).await;
    assert_eq!((calls, attempts), (2, 2));
    assert_eq!(names, ["1.xml", "2.xml"], "the spoilt one waits for the sweeper");
}

/// Also covers: M3.
#[tokio::test]
async fn a_result_that_vanished_is_made_again() {
    let lose =
        |made: &Made, results: &std::path::Path| std::fs::remove_file(results.join(&made.key)).unwrap();
    assert_eq!(interrupted(lose).await, (2, 2, vec!["2.xml".to_owned()]));
}
