//! A permanent projector: reads every event once, in order, and goes on where it was.
//!
//! `cargo run --example projector`
#![allow(clippy::print_stdout, reason = "an example talks")]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use redrive::store::Event;
use redrive::{Context, Engine, Failure, Projector};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Booked {
    cents: i64,
}

/// Keeps the balance of a ledger. Yours would write it to your database, with the sequence number beside it.
#[derive(Clone, Default)]
struct Ledger {
    cents: Arc<AtomicI64>,
}

impl Projector for Ledger {
    async fn on_event(&self, _ctx: &Context, event: &Event) -> Result<(), Failure> {
        let (Some("booked"), Some(payload)) = (event.topic.as_deref(), &event.payload) else { return Ok(()) };
        // One that cannot be read is parked after five tries and waits among the dead letters; the stream goes on.
        let booked: Booked = serde_json::from_slice(payload)?;
        self.cents.fetch_add(booked.cents, Ordering::SeqCst);
        Ok(())
    }

    fn idle(&self) -> Duration {
        Duration::from_millis(20)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    run().await
}

/// The whole example.
pub async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::open("sqlite::memory:").await?;
    let ledger = Ledger::default();
    engine.projector("ledger", ledger.clone()).await?; // one in the whole fleet
    let running = engine.start();

    for cents in [100, 250, -50] {
        engine.publish("booked", serde_json::to_vec(&Booked { cents })?).await?;
    }
    while ledger.cents.load(Ordering::SeqCst) != 300 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("balance: {} cents", ledger.cents.load(Ordering::SeqCst));
    for reader in engine.readers().await? {
        println!("{} has read up to {}, {} behind", reader.name, reader.position, reader.behind);
    }
    running.drain().await;
    Ok(())
}
