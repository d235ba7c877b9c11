//! The binary as a worker beside a server: started, and killed.

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::eventually;
use super::world::World;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A running `redrive worker`. Dropping it kills it.
pub(crate) struct Worker(Child);

impl Worker {
    /// Starts one with the settings of this world and some of its own, and waits until it works.
    pub(crate) async fn start(world: &World, other: &[(&'static str, String)]) -> Self {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let (out, said) = (world.path(&format!("worker.out.{n}")), world.path(&format!("worker.said.{n}")));
        let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
        // Nothing of whoever runs the tests.
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").envs(world.settings());
        command.envs(other.iter().cloned()).arg("worker").stdin(Stdio::null()).current_dir(world.home.path());
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&said).unwrap());
        let mut worker = Self(command.spawn().unwrap());
        eventually("the worker to work", async || {
            let ended = worker.0.try_wait().unwrap();
            assert!(ended.is_none(), "it ended with {ended:?}: {}", std::fs::read_to_string(&said).unwrap());
            std::fs::read_to_string(&out).unwrap().contains("metrics  http://").then_some(())
        })
        .await;
        worker
    }

    /// Kills it at once and waits until it is gone.
    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
