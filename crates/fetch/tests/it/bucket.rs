//! A bucket that does not take an object: it is sent again, and the origin is not asked again.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use redrive_blob::{BlobsExt, Key, S3, S3Settings};
use redrive_engine::Code;
use redrive_engine::model::State;
use redrive_fetch::Made;
use redrive_lab::origin::{Origin, body_of};

use crate::bench::{Bench, quick, resource};

/// A bucket on this machine whose next puts fail with a status.
struct Bucket {
    blobs: Arc<S3>,
    failing: Arc<AtomicUsize>,
    status: Arc<AtomicUsize>,
    _home: tempfile::TempDir,
}

impl Bucket {
    async fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let files = home.path().join("s3");
        std::fs::create_dir_all(files.join("bucket")).unwrap();
        let mut service = s3s::service::S3ServiceBuilder::new(s3s_fs::FileSystem::new(&files).unwrap());
        service.set_auth(s3s::auth::SimpleAuth::from_single("who", "secret"));
        let service = service.build();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (failing, status) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(503)));
        let (left, code) = (failing.clone(), status.clone());
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (service, left, code) = (service.clone(), left.clone(), code.clone());
                let answer =
                    hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                        let (service, left, code) = (service.clone(), left.clone(), code.clone());
                        async move {
                            let fails = request.method() == hyper::Method::PUT
                                && left
                                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
                                    .is_ok();
                            if fails {
                                let status = u16::try_from(code.load(Ordering::SeqCst)).unwrap();
                                let refusal = hyper::Response::builder()
                                    .status(status)
                                    .body(s3s::Body::empty())
                                    .unwrap();
                                return Ok::<_, Infallible>(refusal);
                            }
                            Ok(hyper::service::Service::call(&service, request).await.unwrap())
                        }
                    });
                tokio::spawn(async move {
                    let _ = Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(socket), answer)
                        .await;
                });
            }
        });
        let vars = [
            ("S3_ENDPOINT", url.as_str()),
            ("AWS_ACCESS_KEY_ID", "who"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", "us-east-1"),
        ];
        let settings = S3Settings::new("bucket", None, home.path().join("spool")).with_vars(vars);
        Self { blobs: Arc::new(S3::open(settings).await.unwrap()), failing, status, _home: home }
    }
}

/// Also covers: M38.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_bucket_did_not_take_is_sent_again_without_a_second_download() {
    let (bench, origin, bucket) = (Bench::new().await, Origin::start().await.unwrap(), Bucket::start().await);
    bench.engine.register(bench.workload_on(quick(), bucket.blobs.clone(), "bucket:bucket"));
    let running = bench.engine.start();
    bucket.status.store(500, Ordering::SeqCst);
    bucket.failing.store(2, Ordering::SeqCst);
    let mut wanted = resource(&origin.url("/a"));
    wanted.bucket = Some("bucket".into());
    let row = bench.ended(bench.enqueue(&wanted).await).await;
    let attempts = bench.engine.attempts(row.id).await.unwrap();
    assert_eq!(row.state, State::Complete, "{attempts:#?}");
    assert_eq!((row.attempt, origin.count("/a")), (3, 1), "{attempts:#?}");
    assert_eq!(attempts[0].code, Some(Code::UploadS3Error));
    let made = Made::parse(row.result.as_deref().unwrap()).unwrap();
    assert_eq!(made.content_type.as_deref(), Some("text/plain"), "known from the attempt that asked");
    bucket
        .blobs
        .verify(&Key::parse(&made.key).unwrap(), &redrive_blob::Sha256::of(&body_of("/a")))
        .await
        .unwrap();
    running.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_that_denies_us_is_not_asked_again_and_the_origin_is_not_blamed() {
    let (bench, origin, bucket) = (Bench::new().await, Origin::start().await.unwrap(), Bucket::start().await);
    bench.engine.register(bench.workload_on(quick(), bucket.blobs.clone(), "bucket:bucket"));
    let running = bench.engine.start();
    bucket.status.store(403, Ordering::SeqCst);
    bucket.failing.store(100, Ordering::SeqCst);
    let (code, attempts) = bench.fails(&resource(&origin.url("/a"))).await;
    assert_eq!((code, attempts.len(), origin.count("/a")), (Code::UploadAccessDenied, 1, 1));
    running.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_that_is_full_waits_alone_and_costs_no_attempt() {
    let (bench, origin, bucket) = (Bench::new().await, Origin::start().await.unwrap(), Bucket::start().await);
    bench.engine.register(bench.workload_on(quick(), bucket.blobs.clone(), "bucket:bucket"));
    let running = bench.engine.start();
    bucket.status.store(507, Ordering::SeqCst);
    bucket.failing.store(1, Ordering::SeqCst);
    let mut wanted = resource(&origin.url("/a"));
    wanted.bucket = Some("bucket".into());
    let id = bench.enqueue(&wanted).await;
    let waits = async {
        loop {
            let rows = bench.store.breakers().await.unwrap();
            if rows.iter().any(|row| row.breaker.throttled_until.is_some()) {
                return rows;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let rows =
        tokio::time::timeout(std::time::Duration::from_secs(30), waits).await.expect("it never waited");
    let waiting: Vec<String> = rows
        .iter()
        .filter(|row| row.breaker.throttled_until.is_some() || row.breaker.hold.is_some())
        .map(|row| row.target.to_string())
        .collect();
    assert_eq!(waiting, ["bucket:bucket"], "nothing else is held, and no disk is full");
    let given_back = async {
        while bench.engine.job(id).await.unwrap().unwrap().state != State::Queued {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), given_back).await.expect("it never came back");
    let row = bench.engine.job(id).await.unwrap().unwrap();
    assert_eq!((row.attempt, origin.count("/a")), (0, 1));
    running.drain().await;
}
