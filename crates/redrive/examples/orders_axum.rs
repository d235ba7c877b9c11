//! Transactional enqueue behind axum: the order and the job that ships it are one transaction. Either both are there or
//! neither is, whenever the process is killed.
//!
//! `cargo run --example orders_axum`, then `curl -d '{"item":"tea"}' -H 'content-type: application/json' 127.0.0.1:PORT/orders`
//!
//! This one is on SQLite, where our writer runs your statements. On Postgres, with the feature `postgres`, hand your own sqlx
//! transaction to `engine.enqueue_in(&mut tx, &ship)`.
#![allow(clippy::print_stdout, reason = "an example talks")]

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use redrive::{Context, Done, Engine, Failure, Input, JobId, Workload};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Order {
    item: String,
}

#[derive(Serialize, Deserialize)]
struct Ship {
    order: i64,
}

impl Input for Ship {
    const WORKLOAD: &'static str = "ship";
}

struct Shipping;

impl Workload for Shipping {
    type Input = Ship;

    async fn run(&self, _ctx: Context, ship: Ship) -> Result<Done, Failure> {
        println!("order {} is on its way", ship.order);
        Ok(Done::Complete)
    }
}

type Error = Box<dyn std::error::Error + Send + Sync>;

async fn place(engine: &Engine, order: Order) -> Result<JobId, Error> {
    engine
        .transaction(move |tx| {
            let db = tx.connection();
            db.execute("INSERT INTO orders (item) VALUES (?1)", [&order.item])?;
            let order = db.last_insert_rowid();
            Ok(tx.enqueue(&Ship { order })?)
        })
        .await
}

async fn orders(State(engine): State<Engine>, Json(order): Json<Order>) -> (StatusCode, String) {
    if order.item.is_empty() {
        return (StatusCode::UNPROCESSABLE_ENTITY, "an order needs an item".into());
    }
    match place(&engine, order).await {
        Ok(job) => (StatusCode::ACCEPTED, job.to_string()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    }
}

async fn app() -> Result<(Engine, Router), Error> {
    let engine = Engine::open("sqlite::memory:").await?;
    engine
        .transaction(|tx| {
            let create =
                "CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL CHECK (item <> ''))";
            Ok::<_, Error>(tx.connection().execute_batch(create)?)
        })
        .await?;
    engine.register(Shipping);
    let router = Router::new().route("/orders", post(orders)).with_state(engine.clone());
    Ok((engine, router))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let (engine, router) = app().await?;
    let running = engine.start();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, router)
        .with_graceful_shutdown(async { drop(tokio::signal::ctrl_c().await) })
        .await?;
    running.drain().await;
    Ok(())
}

/// The whole example.
pub async fn run() -> Result<(), Error> {
    let (engine, _) = app().await?;
    let running = engine.start();
    let job = place(&engine, Order { item: "tea".into() }).await?;
    engine.job_ended(job).await?;
    // An order that the table refuses leaves no job behind.
    let refused = place(&engine, Order { item: String::new() }).await;
    running.drain().await;
    if refused.is_err() { Ok(()) } else { Err("an empty order was taken".into()) }
}
