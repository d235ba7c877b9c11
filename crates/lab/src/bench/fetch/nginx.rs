//! Debian's nginx with a configuration of its own, on a free port, as long as it is needed.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// A running server. It ends when this is dropped.
#[derive(Debug)]
pub struct Nginx {
    child: Child,
    port: u16,
    objects: PathBuf,
}

impl Nginx {
    /// Serves a folder below `home`.
    pub fn start(home: &Path) -> Result<Self> {
        let home = home.join("nginx");
        let objects = home.join("objects");
        std::fs::create_dir_all(&objects)?;
        // Whoever runs this as root gets a server that may read what it serves.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let at = home.display();
        let config = format!(
            "daemon off;\nmaster_process off;\npid {at}/pid;\nerror_log {at}/error.log warn;\n\
             events {{ worker_connections 1024; }}\n\
             http {{\n  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; \
             default_type application/octet-stream;\n  open_file_cache off;\n\
             client_body_temp_path {at}/t1; proxy_temp_path {at}/t2; fastcgi_temp_path {at}/t3; uwsgi_temp_path {at}/t4; \
             scgi_temp_path {at}/t5;\n\
             server {{ listen 127.0.0.1:{port}; root {at}/objects; }}\n}}\n"
        );
        std::fs::write(home.join("conf"), config)?;
        let mut command = Command::new("nginx");
        command.arg("-p").arg(&home).arg("-c").arg(home.join("conf")).arg("-e").arg(home.join("error.log"));
        let child = command.stdin(Stdio::null()).spawn().context("nginx: apt-get install nginx-light")?;
        let server = Self { child, port, objects };
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            ensure!(began.elapsed() < Duration::from_secs(10), "nginx did not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Makes `0`, `1`, … of so many bytes each below a folder, no two alike, and answers with the folder's URL.
    pub fn make(&self, folder: &str, count: usize, bytes: usize) -> Result<String> {
        let at = self.objects.join(folder);
        std::fs::create_dir_all(&at)?;
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut block = Vec::with_capacity(bytes + 8);
        for n in 0..count {
            block.clear();
            while block.len() < bytes {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                block.extend_from_slice(&state.to_le_bytes());
            }
            block.truncate(bytes);
            std::fs::write(at.join(n.to_string()), &block)?;
        }
        Ok(format!("http://127.0.0.1:{}/{folder}/", self.port))
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
