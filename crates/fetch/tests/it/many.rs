//! Many at once on an origin with the usual faults: everything that can be had is stored, with the fewest questions that can do it.

use std::time::Duration;

use redrive_engine::BatchOptions;
use redrive_engine::model::State;
use redrive_lab::origin::{Answer, Origin, body_of};

use crate::bench::{Bench, resource};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_percent_busy_two_reset_one_gone_and_one_slow() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    let path = |n: usize| format!("/{n}");
    let (mut expected, mut gone) = (0, 0);
    for n in 0..300 {
        expected += match n % 100 {
            0..5 => {
                origin.once(&path(n), [Answer::retry_after(503, "1")]);
                2
            }
            5..7 => {
                origin.once(&path(n), [Answer::Reset]);
                2
            }
            7 => {
                gone += 1;
                origin.say(&path(n), [Answer::status(404)]);
                1
            }
            8 => {
                origin.say(&path(n), [Answer::Drip(body_of(&path(n)), 40, Duration::from_millis(50))]);
                1
            }
            _ => 1,
        };
    }
    let resources: Vec<_> = (0..300).map(|n| resource(&origin.url(&path(n)))).collect();
    let batch = bench.engine.enqueue_batch(&resources, BatchOptions::default().tolerant()).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), bench.engine.batch_ended(batch)).await;
    let row = ended.expect("it never ended").unwrap().unwrap();
    assert_eq!(
        (row.counters.ok, row.counters.failed, row.counters.total),
        (300 - gone, gone, 300),
        "{row:#?}"
    );
    for n in 0..300 {
        let heard = origin.heard(&path(n));
        match n % 100 {
            0..5 => assert!(
                heard.len() == 2 && heard[1].at - heard[0].at >= Duration::from_secs(1),
                "{n}: {heard:?}"
            ),
            5..7 => assert_eq!(heard.len(), 2, "{n}"),
            _ => assert_eq!(heard.len(), 1, "{n}"),
        }
    }
    assert_eq!(origin.requests(), expected);
    assert_eq!((bench.keys().await as u64, bench.temps()), (300 - gone, 0));
    let all = bench
        .store
        .jobs(Default::default(), redrive_engine::store::PageRequest { limit: 200, cursor: None })
        .await
        .unwrap();
    for row in all.rows.iter().filter(|row| row.state == State::Complete).take(20) {
        bench.stored(row).await;
    }
    running.drain().await;
}
