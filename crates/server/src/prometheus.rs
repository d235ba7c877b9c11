//! Metrics for Prometheus, on a listener of their own.
//!
//! Whatever the process counts is counted anyway; what can only be seen by looking is looked at when somebody asks. A store that
//! does not answer never keeps an answer back: the last numbers are told, and `redrive_store_up` says so.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use redrive_engine::Engine;
use tokio::net::TcpListener;

use crate::disk::Disk;

/// What Prometheus' text format is called.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// A store that takes longer is told as away.
const PATIENCE: Duration = Duration::from_secs(5);
/// What was gathered is put in its place this often, whether or not anybody asks.
const TIDY: Duration = Duration::from_secs(5);
/// From a small file that is quick to one that takes as long as an attempt may.
const SECONDS: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 180.0, 300.0, 900.0];

/// Everything that this process counts.
#[derive(Clone)]
pub struct Metrics(PrometheusHandle);

impl Metrics {
    /// Begins to count. Once in a process, before anything is counted.
    pub fn install() -> Result<Self, BuildError> {
        let handle = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)?
            .install_recorder()?;
        // What has never happened is 0, not absent.
        for name in [
            "redrive_manual_retry_total",
            "redrive_leases_reclaimed_total",
            "redrive_stale_writes_rejected_total",
        ] {
            metrics::counter!(name).absolute(0);
        }
        for outcome in ["complete", "failed", "cancelled"] {
            metrics::counter!("redrive_replay_jobs_total", "outcome" => outcome).absolute(0);
        }
        Ok(Self(handle))
    }

    /// Answers `GET /metrics` until `shutdown` is done.
    pub async fn serve(
        self,
        listener: TcpListener,
        engine: Engine,
        disk: Arc<Disk>,
        shutdown: impl Future<Output = ()>,
    ) {
        let handle = self.0.clone();
        let tidying = tokio::spawn(async move {
            loop {
                tokio::time::sleep(TIDY).await;
                handle.run_upkeep();
            }
        });
        let told = Arc::new(Told { handle: self.0, engine, disk });
        let router = Router::new().route("/metrics", get(tell)).with_state(told);
        let limits =
            redrive_door::Limits { drain: Duration::from_secs(1), ..redrive_door::Limits::default() };
        redrive_door::serve(listener, router, limits, shutdown).await;
        tidying.abort();
    }
}

struct Told {
    handle: PrometheusHandle,
    engine: Engine,
    disk: Arc<Disk>,
}

async fn tell(State(told): State<Arc<Told>>) -> impl IntoResponse {
    let measured = tokio::time::timeout(PATIENCE, told.engine.measure()).await;
    let up = matches!(measured, Ok(Ok(())));
    metrics::gauge!("redrive_store_up").set(f64::from(u8::from(up)));
    if let Ok(Err(error)) = measured {
        tracing::warn!(event = "metrics.store_away", "{error}");
    }
    // The disk has said what there is to say when it cannot be asked.
    let _ = told.disk.look().await;
    ([(header::CONTENT_TYPE, TEXT)], told.handle.render())
}
