//! An S3 server in this process that keeps each object as a file and checks signatures.

use std::path::Path;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;

/// Starts it on a folder whose folders are its buckets; answers the variables by which it is found.
pub(crate) async fn serve(files: &Path) -> [(&'static str, String); 4] {
    let mut service = s3s::service::S3ServiceBuilder::new(s3s_fs::FileSystem::new(files).unwrap());
    service.set_auth(s3s::auth::SimpleAuth::from_single("who", "secret"));
    let service = service.build();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let service = service.clone();
            tokio::spawn(async move {
                let server = Builder::new(TokioExecutor::new());
                let _ = server.serve_connection(TokioIo::new(socket), service).await;
            });
        }
    });
    [
        ("S3_ENDPOINT", url),
        ("AWS_ACCESS_KEY_ID", "who".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
    ]
}
