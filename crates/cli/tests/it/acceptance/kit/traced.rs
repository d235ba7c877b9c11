//! A server under strace, which makes a call of the kernel slow: so it can be killed between two steps.

use std::process::Command;

use super::browser::Browser;
use super::eventually;
use super::server::Server;
use super::world::World;

/// The server, and whoever traces it.
pub(crate) struct Traced {
    tracer: Server,
}

impl Traced {
    /// Starts one with this injection; nothing where this process may not trace another one.
    pub(crate) async fn start(world: &World, inject: &str) -> Option<Self> {
        let probe = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status();
        if !probe.is_ok_and(|status| status.success()) {
            println!("this process may not trace another one: skipped");
            return None;
        }
        let (call, _) = inject.split_once(':').unwrap();
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "--seccomp-bpf", "-e", &format!("trace={call}"), "-e"]);
        strace.arg(format!("inject={inject}")).args(["-o", "/dev/null"]);
        let mut tracer = Server::spawn(world.home.path(), world.settings(), strace);
        tracer.listens().await;
        tracer.is_ready().await;
        Some(Self { tracer })
    }

    pub(crate) fn browser(&self) -> Browser {
        self.tracer.browser()
    }

    /// Kills the server itself: whoever traces it would let it go on.
    pub(crate) async fn kill(mut self) {
        let tracer = self.tracer.pid();
        let children = std::fs::read_to_string(format!("/proc/{tracer}/task/{tracer}/children")).unwrap();
        let server = children.split_whitespace().next().unwrap();
        assert!(Command::new("kill").args(["-KILL", server]).status().unwrap().success());
        self.tracer.ends().await;
        let gone = async || (!std::path::Path::new(&format!("/proc/{server}")).exists()).then_some(());
        eventually("the server to be gone", gone).await;
    }
}
