//! Finds the migrations in the source of sqlxmq: it does not carry them in the library.

use std::path::Path;
use std::process::Command;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=Cargo.toml");
    let target = std::env::var("TARGET")?;
    let asked = Command::new(std::env::var("CARGO")?)
        .args(["metadata", "--format-version=1", "--offline", "--filter-platform", &target])
        .output()?;
    if !asked.status.success() {
        return Err(String::from_utf8_lossy(&asked.stderr).into());
    }
    let metadata: serde_json::Value = serde_json::from_slice(&asked.stdout)?;
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    let sqlxmq = packages.iter().find(|package| package["name"] == "sqlxmq").ok_or("sqlxmq is not there")?;
    let manifest = sqlxmq["manifest_path"].as_str().ok_or("sqlxmq is nowhere")?;
    let folder = Path::new(manifest).parent().ok_or("sqlxmq has no folder")?.join("migrations");
    println!("cargo:rustc-env=SQLXMQ_MIGRATIONS={}", folder.display());
    Ok(())
}
