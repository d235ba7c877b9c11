//! A bucket that does not take an object: it is sent again, and the origin is not asked again.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use redrive_blob::{BlobsExt, Key, S3, S3Settings};
use redrive_engine::model::State;
use redrive_engine::{Code, Target};
use redrive_fetch::{DownloadOptions, Made, Resource};
use redrive_lab::origin::{Answer, Origin, body_of};

use crate::bench::{Bench, noise, quick, resource, until};

/// A bucket on this machine whose next puts fail with a status.
struct Bucket {
    blobs: Arc<S3>,
    failing: Arc<AtomicUsize>,
    /// The next puts are never answered; each that hangs is taken off.
    hanging: Arc<AtomicUsize>,
    refusal: Arc<Mutex<(u16, &'static str)>>,
    home: tempfile::TempDir,
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
        let (failing, refusal) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new((503, ""))));
        let (left, code) = (failing.clone(), refusal.clone());
        let hanging = Arc::new(AtomicUsize::new(0));
        let hangs = hanging.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (service, left, code) = (service.clone(), left.clone(), code.clone());
                let hangs = hangs.clone();
                let answer =
                    hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                        let (service, left, code) = (service.clone(), left.clone(), code.clone());
                        let hangs = hangs.clone();
                        async move {
                            let puts = request.method() == hyper::Method::PUT;
                            if puts && one_less(&hangs) {
                                std::future::pending::<()>().await;
                            }
                            if puts && one_less(&left) {
                                let (status, code) = *code.lock().unwrap();
                                let refusal = hyper::Response::builder()
                                    .status(status)
                                    .header("retry-after", "1")
                                    .body(s3s::Body::from(format!("<Error><Code>{code}</Code></Error>")))
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
        Self { blobs: Arc::new(S3::open(settings).await.unwrap()), failing, hanging, refusal, home }
    }

    /// The next puts are refused with this.
    fn refuse(&self, puts: usize, status: u16, code: &'static str) {
        *self.refusal.lock().unwrap() = (status, code);
        self.failing.store(puts, Ordering::SeqCst);
    }
}

fn one_less(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok()
}

/// Also covers: M38.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_bucket_did_not_take_is_sent_again_without_a_second_download() {
    let (bench, origin, bucket) = (Bench::new().await, Origin::start().await.unwrap(), Bucket::start().await);
    bench.engine.register(bench.workload_on(quick(), bucket.blobs.clone(), "bucket:bucket"));
    let running = bench.engine.start();
    bucket.refuse(2, 500, "InternalError");
    let mut wanted = resource(&origin.url("/a"));
    wanted.bucket = Some("bucket".into());
    let row = bench.ended(bench.enqueue(&wanted).await).await;
    let attempts = bench.engine.attempts(row.id).await.unwrap();
    assert_eq!(row.state, State::Complete, "{attempts:#?}");
    assert_eq!((row.attempt, origin.count("/a")), (3, 1), "{attempts:#?}");
    assert_eq!(attempts[0].code, Some(Code::UploadS3Error));
    assert_eq!(
        attempts.iter().filter_map(|attempt| attempt.context.clone()).collect::<Vec<_>>(),
        [1, 2].map(|n| format!(r#"{{"attempt":{n},"proxy":null,"status":200}}"#)),
        "also when an earlier attempt has asked"
    );
    let made = Made::parse(row.result.as_deref().unwrap()).unwrap();
    assert_eq!(made.content_type.as_deref(), Some("text/plain"), "known from the attempt that asked");
    bucket
        .blobs
        .verify(&Key::parse(&made.key).unwrap(), &redrive_blob::Sha256::of(&body_of("/a")))
        .await
        .unwrap();
    running.drain().await;
}

/// Each budget is its own: what storing spends is not taken from downloads, nor the other way round.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storing_is_tried_again_as_often_as_its_own_limit_says() {
    let (bench, origin, bucket) = (Bench::new().await, Origin::start().await.unwrap(), Bucket::start().await);
    bench.engine.register(bench.workload_on(quick(), bucket.blobs.clone(), "bucket:bucket"));
    let running = bench.engine.start();
    bucket.refuse(4, 500, "InternalError");
    origin.once("/a", [Answer::status(500), Answer::status(502), Answer::status(503)]);
    let mut wanted = resource(&origin.url("/a"));
    wanted.bucket = Some("bucket".into());
    let (code, attempts) = bench.fails(&wanted).await;
    let codes: Vec<_> = attempts.iter().filter_map(|attempt| attempt.code).collect();
    let expected = [vec![Code::DownloadHttp5xx; 3], vec![Code::UploadS3Error; 4]].concat();
    assert_eq!((code, codes), (Code::UploadS3Error, expected), "three retries of each, beside the first try");
    assert_eq!(origin.count("/a"), 4, "what was stored in vain is not downloaded again");
    running.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_that_denies_us_or_is_not_there_is_not_asked_again() {
    let (bench, origin, bucket) = (Bench::new().await, Origin::start().await.unwrap(), Bucket::start().await);
    bench.engine.register(bench.workload_on(quick(), bucket.blobs.clone(), "bucket:bucket"));
    let running = bench.engine.start();
    for (path, status, said, expected) in [
        ("/a", 403, "AccessDenied", Code::UploadAccessDenied),
        ("/b", 404, "NoSuchBucket", Code::UploadNoBucket),
    ] {
        bucket.refuse(100, status, said);
        let (code, attempts) = bench.fails(&resource(&origin.url(path))).await;
        assert_eq!((code, attempts.len(), origin.count(path)), (expected, 1, 1), "{said}");
    }
    running.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_that_asks_for_time_gets_it_and_no_attempt_is_lost() {
    let (bench, origin, bucket) = (Bench::new().await, Origin::start().await.unwrap(), Bucket::start().await);
    bench.engine.register(bench.workload_on(quick(), bucket.blobs.clone(), "bucket:bucket"));
    let running = bench.engine.start();
    bucket.refuse(1, 503, "SlowDown");
    let wanted = Resource { bucket: Some("bucket".into()), ..resource(&origin.url("/a")) };
    let row = bench.ended(bench.enqueue(&wanted).await).await;
    let attempts = bench.engine.attempts(row.id).await.unwrap();
    assert_eq!((row.state, row.attempt, origin.count("/a")), (State::Complete, 1, 1), "{attempts:#?}");
    assert_eq!(attempts[0].code, Some(Code::UploadThrottled));
    let held = bench.store.breaker(&Target::new("bucket:bucket").unwrap()).await.unwrap().unwrap();
    assert!(held.breaker.throttled_until.is_some(), "the bucket waits, for everybody");
    running.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_body_whose_parts_were_refused_is_sent_again_without_a_second_download() {
    let (bench, origin, bucket) = (Bench::new().await, Origin::start().await.unwrap(), Bucket::start().await);
    let large = DownloadOptions { max_bytes: 64 << 20, ..quick() };
    bench.engine.register(bench.workload_on(large, bucket.blobs.clone(), "bucket:bucket"));
    let running = bench.engine.start();
    let bytes = noise(17 << 20);
    origin.say("/large", [Answer::Bytes(bytes.clone())]);
    bucket.refuse(1, 500, "InternalError");
    let wanted = Resource { bucket: Some("bucket".into()), ..resource(&origin.url("/large")) };
    let row = bench.ended(bench.enqueue(&wanted).await).await;
    let attempts = bench.engine.attempts(row.id).await.unwrap();
    assert_eq!((row.state, row.attempt, origin.count("/large")), (State::Complete, 2, 1), "{attempts:#?}");
    assert_eq!(attempts[0].code, Some(Code::UploadS3Error));
    let made = Made::parse(row.result.as_deref().unwrap()).unwrap();
    let (key, hash) = (Key::parse(&made.key).unwrap(), redrive_blob::Sha256::of(&bytes));
    bucket.blobs.verify(&key, &hash).await.unwrap();
    assert_eq!(bucket.failing.load(Ordering::SeqCst), 0);
    running.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_that_is_full_waits_alone_and_costs_no_attempt() {
    let (bench, origin, bucket) = (Bench::new().await, Origin::start().await.unwrap(), Bucket::start().await);
    bench.engine.register(bench.workload_on(quick(), bucket.blobs.clone(), "bucket:bucket"));
    let running = bench.engine.start();
    bucket.refuse(1, 507, "InsufficientStorage");
    let wanted = Resource { bucket: Some("bucket".into()), ..resource(&origin.url("/a")) };
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_while_the_bucket_takes_an_object_costs_no_second_download() {
    let (bench, origin, bucket) = (Bench::new().await, Origin::start().await.unwrap(), Bucket::start().await);
    bench.engine.register(bench.workload_on(quick(), bucket.blobs.clone(), "bucket:bucket"));
    let bytes = noise(300_000);
    origin.say("/a", [Answer::Bytes(bytes.clone())]);
    let wanted = Resource { bucket: Some("bucket".into()), ..resource(&origin.url("/a")) };
    let id = bench.enqueue(&wanted).await;
    // Twice: what was gone on with is kept once more.
    for _ in 0..2 {
        bucket.hanging.store(1, Ordering::SeqCst);
        let running = bench.engine.start();
        until(|| bucket.hanging.load(Ordering::SeqCst) == 0).await;
        running.drain().await;
        assert_eq!(bench.engine.job(id).await.unwrap().unwrap().state, State::Queued);
    }
    let running = bench.engine.start();
    let row = bench.ended(id).await;
    assert_eq!((row.state, origin.count("/a")), (State::Complete, 1));
    let made = Made::parse(row.result.as_deref().unwrap()).unwrap();
    let (key, hash) = (Key::parse(&made.key).unwrap(), redrive_blob::Sha256::of(&bytes));
    bucket.blobs.verify(&key, &hash).await.unwrap();
    let left = std::fs::read_dir(bucket.home.path().join("spool")).unwrap().flatten();
    assert_eq!(left.filter(|entry| entry.path().is_file()).count(), 0, "what has its key leaves no temp");
    running.drain().await;
}
