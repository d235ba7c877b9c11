//! What one would write in an afternoon: a loop around reqwest.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};

use super::Task;

/// Gets everything, so many at a time. `synced` makes each file and its folder durable, and nothing else of what we do.
pub async fn run(task: &Task, synced: bool) -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    std::fs::create_dir_all(&task.into)?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let one = |n: usize| {
        let (client, url, into) = (client.clone(), task.url(n), task.into.clone());
        async move {
            let getting = tokio::spawn(async move {
                let bytes = client.get(url).send().await?.error_for_status()?.bytes().await?;
                tokio::task::spawn_blocking(move || store(&into, n, &bytes, synced)).await?
            });
            getting.await?
        }
    };
    stream::iter(0..task.objects).map(one).buffer_unordered(task.at_once).try_collect::<Vec<()>>().await?;
    Ok(())
}

pub(super) fn store(into: &Path, n: usize, bytes: &[u8], synced: bool) -> Result<()> {
    let mut file = File::create(into.join(n.to_string()))?;
    file.write_all(bytes)?;
    if synced {
        file.sync_all()?;
        File::open(into)?.sync_all()?;
    }
    Ok(())
}
