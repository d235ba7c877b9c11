//! A mailer that retries: failures with codes, a target with a breaker, and a dead letter that is replayed.
//!
//! `cargo run --example mailer`
#![allow(clippy::print_stdout, reason = "an example talks")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redrive::model::backoff::Backoff;
use redrive::{
    By, Code, Context, Done, Engine, Failure, Input, NewReplay, Policy, Target, Workload, WorkloadName,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Mail {
    to: String,
}

impl Input for Mail {
    const WORKLOAD: &'static str = "mail";

    // While the server is down, mails wait and lose no attempt.
    fn targets(&self) -> Vec<Target> {
        Target::new("smtp").into_iter().collect()
    }

    fn label(&self) -> Option<String> {
        Some(self.to.clone())
    }

    // Handed in twice, the same mail is one job.
    fn unique_by(&self) -> Option<String> {
        Some(self.to.clone())
    }
}

/// A mail server that knows nobody called Nobody, until somebody adds them.
#[derive(Clone, Default)]
struct Server {
    knows_nobody: Arc<AtomicBool>,
}

impl Server {
    async fn send(&self, mail: &Mail, idempotency_key: &str) -> Result<(), Failure> {
        if mail.to == "nobody" && !self.knows_nobody.load(Ordering::SeqCst) {
            // This will not change by itself: no retry, a dead letter at once.
            return Err(Failure::new(Code::HandlerRefused, "550 no such user").status(550));
        }
        println!("to {} ({idempotency_key})", mail.to);
        Ok(())
    }
}

struct Mailer {
    server: Server,
}

impl Workload for Mailer {
    type Input = Mail;

    fn policy(&self) -> Policy {
        Policy { backoff: Backoff::none(), ..Policy::reliability() }
    }

    async fn run(&self, ctx: Context, mail: Mail) -> Result<Done, Failure> {
        if mail.to == "flaky" && ctx.attempt() == 1 {
            return Err(Failure::new(Code::TargetUnreachable, "connection refused"));
        }
        self.server.send(&mail, &ctx.idempotency_key()).await?;
        Ok(Done::Complete)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    run().await
}

/// The whole example.
pub async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::open("sqlite::memory:").await?;
    let server = Server::default();
    engine.register(Mailer { server: server.clone() });
    let running = engine.start();

    let mail = |to: &str| Mail { to: to.into() };
    let (ann, flaky, nobody) = (mail("ann"), mail("flaky"), mail("nobody"));
    for mail in [&ann, &flaky, &nobody] {
        let job = engine.enqueue(mail).await?;
        let row = engine.job_ended(job).await?.ok_or("the job is gone")?;
        println!("{}: {} after {} attempts", mail.to, row.shown.as_str(), row.attempt);
    }

    // Somebody looks at the dead letters, mends the cause, and replays them.
    server.knows_nobody.store(true, Ordering::SeqCst);
    let by = By::new("ann").because("nobody has an address now");
    let replay = engine.start_replay(NewReplay::of(WorkloadName::new("mail")?), &by).await?;
    let replay = loop {
        match engine.replay(replay).await?.ok_or("the replay is gone")? {
            replay if replay.finished_at.is_some() => break replay,
            _ => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    println!("replayed {} of {}: {}", replay.counts.complete, replay.total, replay.phase.as_str());
    running.drain().await;
    if replay.counts.complete == 1 { Ok(()) } else { Err("the replay did not help".into()) }
}
