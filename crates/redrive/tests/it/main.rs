//! The library as its users see it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests: a broken expectation is a failed test"
)]

#[cfg(feature = "sqlite")]
mod examples;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;

use redrive::model::State;
use redrive::{Context, Done, Engine, Failure, Input, JobId, Workload};

#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct Greeting {
    name: String,
}

impl Greeting {
    fn to(name: &str) -> Self {
        Self { name: name.into() }
    }
}

impl Input for Greeting {
    const WORKLOAD: &'static str = "greet";
}

struct Greet;

impl Workload for Greet {
    type Input = Greeting;

    async fn run(&self, ctx: Context, greeting: Greeting) -> Result<Done, Failure> {
        // Any error is a failure that is tried again.
        let number: i32 = if ctx.attempt() == 1 { "one".parse()? } else { "1".parse()? };
        ctx.set_result(format!("{} {number}", greeting.name));
        Ok(Done::Complete)
    }
}

async fn state(engine: &Engine, job: JobId) -> Option<State> {
    engine.store().job(job).await.unwrap().map(|row| row.state)
}

#[tokio::test]
async fn a_url_that_is_not_known_is_refused_in_words() {
    for url in ["", "mysql://x", "jobs.db", "sqlite:", "SQLITE:x"] {
        let refused = Engine::open(url).await.err().expect(url).to_string();
        assert!(refused.contains("sqlite:"), "{url}: {refused}");
    }
}
