//! Cancelling a batch, also while it is being unpacked: every resource is counted once and named.

use std::sync::Arc;

use redrive_engine::model::BatchState;
use redrive_engine::model::batch::Counters;
use redrive_engine::store::PageRequest;
use redrive_engine::{By, Code, Engine};
use redrive_fetch::{Canceller, Unpacker};
use redrive_lab::faulty::{Fault, Faulty, Plan};

use super::kit::{Kit, NDJSON, eventually, lines, numbers, of_ann, stores};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_batch_stops_what_has_not_ended_and_says_by_whom() {
    for store in stores().await {
        let kit = Kit::on(store).await;
        let text = lines(2_500).replace("yes-1", "slow-1");
        let accepted = kit.accept(&text, NDJSON, of_ann(None)).await.unwrap();
        kit.register();
        let running = kit.engine.start();
        // All of it is unpacked, so that what is stopped is what the act says.
        let unpacked = |counters: Counters| counters.ok > 10 && counters.total == 2_500;
        eventually(async || unpacked(kit.row(accepted.batch).await.counters).then_some(())).await;
        let by = By::new("ann").because("enough");
        kit.manifests.cancel(accepted.batch, &by).await.unwrap();
        kit.manifests.cancel(accepted.batch, &by).await.unwrap();
        let row = kit.ended(accepted.batch).await;
        let c = row.counters;
        assert_eq!(c.ok + c.failed + c.cancelled, 2_500, "{c:?}");
        assert!(c.cancelled > 0);
        assert_eq!(kit.missing_ids(accepted.batch).await.len() as u64, c.failed + c.cancelled);
        let refused = kit.manifests.cancel(accepted.batch, &by).await.unwrap_err();
        assert_eq!(refused.code(), Code::ConflictState);
        let act = eventually(async || {
            let acts = kit.store.acts(PageRequest::default()).await.unwrap().rows;
            acts.into_iter().find(|act| act.outcome.is_some())
        })
        .await;
        assert_eq!((act.act.actor.as_str(), act.act.action.as_str()), ("ann", "batch.cancel"));
        assert_eq!(act.act.reason.as_deref(), Some("enough"));
        assert_eq!(act.outcome.unwrap(), format!("{} stopped", c.cancelled));
        running.drain().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_is_cancelled_while_it_is_unpacked_counts_every_resource() {
    for store in stores().await {
        for (verb, nth) in [("enqueue", 1), ("enqueue", 2), ("cancel", 1), ("save_state", 2)] {
            let kit = Kit::holding(store.clone(), 100).await;
            let accepted = kit.accept(&lines(350), NDJSON, of_ann(None)).await.unwrap();
            if verb == "cancel" {
                kit.manifests.cancel(accepted.batch, &By::new("ann")).await.unwrap();
            }
            // It dies in the middle, and is cancelled there.
            let plan = Plan { verb, nth, fault: Fault::CrashAfter };
            let faulty = Arc::new(Faulty::new(store.clone(), plan));
            let doomed = Engine::new(faulty.clone(), numbers()).await.unwrap();
            doomed.register(Unpacker::new(faulty.clone(), kit.blobs.clone()).chunks_of(100));
            let running = doomed.start();
            eventually(async || faulty.happened().then_some(())).await;
            drop(running);
            if verb != "cancel" {
                kit.manifests.cancel(accepted.batch, &By::new("ann")).await.unwrap();
            }
            // Nobody fetches here: all that can end a member is the cancellation.
            kit.engine.register(Unpacker::new(kit.store.clone(), kit.blobs.clone()).chunks_of(100));
            kit.engine.register(Canceller::new(kit.store.clone()));
            let running = kit.engine.start();
            let row = kit.ended(accepted.batch).await;
            let c = row.counters;
            assert_eq!((row.state, c.total, c.cancelled), (BatchState::Cancelled, 350, 350), "{verb} {nth}");
            assert_eq!(kit.missing_ids(accepted.batch).await.len(), 350);
            running.drain().await;
        }
    }
}
