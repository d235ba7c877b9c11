//! What `deploy/` sets is a setting, whoever stops the program waits longer than a drain takes, and the image is what the rest counts on: built by
//! our toolchain, with its ports open, and with an operator's token wherever other machines can reach it.

use anyhow::Result;

use crate::configuration;
use crate::problem::Problem;
use crate::repo::Repo;

/// Settings of the programs beside ours.
const OTHERS: [&str; 6] = [
    "RUSTUP_TOOLCHAIN",
    "POSTGRES_USER",
    "POSTGRES_DB",
    "POSTGRES_PASSWORD",
    "POSTGRES_INITDB_ARGS",
    "MALLOC_ARENA_MAX",
];
/// After a drain handlers are told, get a second, and are dropped.
const AFTER: u64 = 2;

/// Finds names that are no setting, and ends that come too early.
pub(crate) fn check(repo: &Repo) -> Result<Vec<Problem>> {
    let known = configuration::names();
    let mut problems = Vec::new();
    let mut files = repo.files_below("deploy/systemd", ".service")?;
    files.extend(
        ["deploy/Dockerfile", "deploy/compose.yml", "deploy/compose.postgres.yml"].map(str::to_owned),
    );
    for file in files {
        let Some(text) = repo.read(&file)? else {
            problems.push(Problem::at(file, "is not there"));
            continue;
        };
        for name in set(&text).filter(|name| !known.contains(name) && !OTHERS.contains(name)) {
            problems.push(Problem::at(&file, format!("sets {name}, which is no setting")));
        }
        match (drain(&text), end(&text)) {
            (Some(drain), Some(end)) if end <= drain + AFTER => {
                let what = format!("is killed after {end} s, and a drain takes {drain} s and {AFTER} more");
                problems.push(Problem::at(&file, what));
            }
            (Some(_), None) => problems.push(Problem::at(&file, "does not say how long a drain may take")),
            (Some(_), Some(_)) | (None, _) => {}
        }
        // Docker's own way to say it: the image listens for other machines.
        if text.contains("\"serve\"]") && file.ends_with(".yml") && !text.contains("OPERATOR_TOKEN:") {
            problems.push(Problem::at(&file, "serves other machines without OPERATOR_TOKEN"));
        }
    }
    problems.extend(image(repo)?);
    Ok(problems)
}

/// The image against the toolchain and against itself.
fn image(repo: &Repo) -> Result<Vec<Problem>> {
    let place = "deploy/Dockerfile";
    let (Some(image), Some(toolchain)) = (repo.read(place)?, repo.read("rust-toolchain.toml")?) else {
        return Ok(Vec::new());
    };
    let mut problems = Vec::new();
    let channel = toolchain.split("channel = \"").nth(1).and_then(|rest| rest.split('"').next());
    if let Some(channel) = channel {
        for wanted in [format!("FROM rust:{channel}-"), format!("RUSTUP_TOOLCHAIN={channel}\n")] {
            if !image.contains(&wanted) {
                problems.push(Problem::at(
                    place,
                    format!("is not built by {channel} of rust-toolchain.toml: {}", wanted.trim()),
                ));
            }
        }
    }
    let exposed = image.lines().find_map(|line| line.strip_prefix("EXPOSE ")).unwrap_or_default();
    for name in ["LISTEN=", "METRICS_LISTEN="] {
        let address = image.split_whitespace().find_map(|word| word.strip_prefix(name));
        let port = address.and_then(|address| address.rsplit_once(':')).map(|(_, port)| port);
        if !port.is_some_and(|port| exposed.split_whitespace().any(|open| open == port)) {
            problems.push(Problem::at(place, format!("does not open the port of {name}")));
        }
    }
    Ok(problems)
}

/// Names in capitals that get a value: `NAME=value` of a unit or an image, `NAME: value` of a composition.
fn set(text: &str) -> impl Iterator<Item = &str> {
    // What a build asks for is no setting of what it builds.
    let lines =
        text.lines().map(str::trim).filter(|line| !line.starts_with('#') && !line.starts_with("ARG "));
    let words = lines.flat_map(|line| {
        line.trim_start_matches("ENV ").trim_start_matches("Environment=").split_whitespace()
    });
    words
        .filter_map(|word| word.split_once('=').map(|(name, _)| name).or_else(|| word.strip_suffix(':')))
        .filter(|name| {
            name.len() > 1 && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        })
}

fn drain(text: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    number(lines.find_map(|line| line.split("DRAIN_TIMEOUT_SEC").nth(1))?)
}

fn end(text: &str) -> Option<u64> {
    let lines = text.lines().filter_map(|line| {
        let line = line.trim();
        line.strip_prefix("TimeoutStopSec=").or_else(|| line.strip_prefix("stop_grace_period:"))
    });
    lines.filter_map(number).min()
}

/// The first number in a text.
fn number(text: &str) -> Option<u64> {
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::assert_none;
    use crate::repo::Scratch;

    #[test]
    fn what_is_deployed_sets_settings_and_may_drain() {
        assert_none(&check(&Repo::here().unwrap()).unwrap());
    }

    #[test]
    fn a_name_that_is_no_setting_and_an_early_end_are_found() {
        let repo = Scratch::new("deploying");
        let put = |path: &str, text: &str| repo.write_if_changed(path, text).unwrap();
        put("deploy/Dockerfile", "ENV DATA_DIR=/data LISTN=0.0.0.0:1\n");
        put(
            "deploy/compose.yml",
            "  environment:\n      DRAIN_TIMEOUT_SEC: \"25\"\n    stop_grace_period: 27s\n",
        );
        put("deploy/compose.postgres.yml", "      DATABASE_URI: x\n");
        put("deploy/systemd/a.service", "Environment=DATA_DIR=/d DRAIN_TIMEOUT_SEC=25\nTimeoutStopSec=28\n");
        put("deploy/systemd/b.service", "Environment=DRAIN_TIMEOUT_SEC=25\n");
        let lines: Vec<String> = check(&repo).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "deploy/systemd/b.service: does not say how long a drain may take",
                "deploy/Dockerfile: sets LISTN, which is no setting",
                "deploy/compose.yml: is killed after 27 s, and a drain takes 25 s and 2 more",
                "deploy/compose.postgres.yml: sets DATABASE_URI, which is no setting",
            ]
        );
    }

    #[test]
    fn an_image_of_another_toolchain_a_closed_port_and_an_open_door_are_found() {
        let repo = Scratch::new("deploying-image");
        let put = |path: &str, text: &str| repo.write_if_changed(path, text).unwrap();
        put("rust-toolchain.toml", "[toolchain]\nchannel = \"1.95.0\"\n");
        let image = "FROM rust:1.95-bookworm AS build\nENV RUSTUP_TOOLCHAIN=1.95.0\n\
                     ENV LISTEN=0.0.0.0:8080 \\\n    METRICS_LISTEN=0.0.0.0:9090\nEXPOSE 8080\n";
        put("deploy/Dockerfile", image);
        put("deploy/compose.yml", "    command: [\"serve\"]\n    environment:\n      OPERATOR_TOKEN: x\n");
        put("deploy/compose.postgres.yml", "    command: [\"serve\"]\n");
        let lines: Vec<String> = check(&repo).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "deploy/compose.postgres.yml: serves other machines without OPERATOR_TOKEN",
                "deploy/Dockerfile: is not built by 1.95.0 of rust-toolchain.toml: FROM rust:1.95.0-",
                "deploy/Dockerfile: does not open the port of METRICS_LISTEN=",
            ]
        );
    }
}
