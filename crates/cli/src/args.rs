//! The command line. Flags of settings come from the table of settings.

mod dead;
mod desk;
mod digest;
mod intake;
mod tokens;
mod when;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand, ValueEnum};
use jiff::Timestamp;

pub(crate) use dead::{Dead, DiscardDead, Form, ReplayDead, WhichDead, WhichOpen};
pub(crate) use desk::{Acted, Breakers, Groups, Replays, Simulate, Workers};
pub(crate) use digest::{Digest, Notifications, One as OneAddress};
pub(crate) use intake::Intake;
pub(crate) use tokens::Tokens;

use crate::settings::Flags;
use crate::settings::table::{CLIENT, CONVERT, FETCH, GATEWAY, LOGS, SERVE, STORE, Use, WORKER};

/// A durable job engine that treats failure as the main event.
#[derive(Debug, Parser)]
#[command(name = "redrive", version, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Group)]
pub(crate) struct Shared {
    /// File with settings [env: REDRIVE_CONFIG] [default: redrive.toml, if it is there]
    #[arg(long, value_name = "FILE", global = true, help_heading = "Everywhere")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) logs: Flags<LOGS>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the server on embedded defaults
    Serve(Flags<SERVE>),
    /// Run workers only, for more machines on one Postgres
    Worker(Flags<WORKER>),
    /// Run the PDF→XML gateway alone
    Gateway(Gateway),
    /// Bring the database's schema up to date
    Migrate(Flags<STORE>),
    /// Measure the engine on this machine, on databases that are made for it and removed
    Bench(Bench),
    /// Run everything in a folder that is thrown away, with a gateway that misbehaves on schedule, to look at
    Demo(Demo),
    /// Look at everything here, and say what is wrong and what to do about it
    Doctor(Doctor),
    /// Convert PDFs to XML, on its own or through a server that runs
    Convert(Convert),
    /// Fetch URLs into a folder or a bucket, on its own or through a server that runs
    Fetch(Fetch),
    /// Look at the folder or bucket into which people put PDFs, and say how it is worked on
    #[command(subcommand)]
    Intake(Intake),
    /// Look at the jobs of a server, and act on them
    #[command(subcommand)]
    Jobs(Jobs),
    /// Look at the dead letters of a server, jobs that policy gave up on, and start them again
    #[command(subcommand)]
    Dead(Dead),
    /// Look at failure groups, the same fault in many jobs, and say where you are with them
    #[command(subcommand)]
    Groups(Groups),
    /// Look at replays, many dead letters started again, and pause or end them
    #[command(subcommand)]
    Replays(Replays),
    /// Look at the targets that jobs depend on, hold them and let them go
    #[command(subcommand)]
    Breakers(Breakers),
    /// Look at the processes that run jobs, and have them take no new work
    #[command(subcommand)]
    Workers(Workers),
    /// Look at what owners of failed PDFs would be told, tell it now, and see how that went
    #[command(subcommand)]
    Digest(Digest),
    /// Say who gets digests, by which address
    #[command(subcommand)]
    Notifications(Notifications),
    /// Say who comes in as an operator with a token of their own, what they may do, and until when
    #[command(subcommand)]
    Tokens(Tokens),
    /// Say what a failure code means, or why a job is where it is, and what to do about it
    Explain(Explain),
    /// Say what another retry policy would have made of what has happened; nothing is changed
    Simulate(Simulate),
    /// See the settings, check them, or write a file to start from
    #[command(subcommand)]
    Config(Config),
    /// Print the API's OpenAPI document
    Openapi,
    /// Print what a shell needs to complete commands
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual: a page for each command
    Man {
        /// Write the pages into this folder, one file each, instead of printing them one after the other
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
}

/// What to convert, and where to.
#[derive(Debug, Group)]
pub(crate) struct Convert {
    /// PDFs, or folders with PDFs in them
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Which mapping [default: the gateway's first, text]
    #[arg(long, short)]
    pub(crate) mapping: Option<String>,
    /// Folder for the XML: FILE.pdf becomes FILE.xml there, and folders keep their shape
    #[arg(long, short, value_name = "FOLDER", default_value = ".")]
    pub(crate) out: PathBuf,
    /// Replace what is there and has other content
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object per file
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) flags: Flags<CONVERT>,
}

/// What to fetch, and where to.
#[derive(Debug, Group)]
pub(crate) struct Fetch {
    /// What to fetch
    #[arg(required_unless_present = "manifest", value_name = "URL")]
    pub(crate) urls: Vec<String>,
    /// A manifest as JSON or NDJSON, packed with gzip or not, or a plain list of URLs; - reads stdin
    #[arg(long, short, value_name = "FILE", conflicts_with = "urls")]
    pub(crate) manifest: Option<PathBuf>,
    /// Folder or s3://bucket/prefix [default: FETCH_TO; of a server: what lies under its FETCH_TO]
    #[arg(long, short, value_name = "PLACE")]
    pub(crate) to: Option<String>,
    /// Which proxies: the name of a pool
    #[arg(long, value_name = "POOL")]
    pub(crate) proxy_pool: Option<String>,
    /// A batch with failures ends as partial instead of failed
    #[arg(long)]
    pub(crate) tolerant: bool,
    /// Write a manifest of what could not be fetched, for another run; - writes it to stdout in place of what is stored
    #[arg(long, value_name = "FILE")]
    pub(crate) missing: Option<PathBuf>,
    /// Forget what an earlier run of this command has done
    #[arg(long)]
    pub(crate) again: bool,
    /// Print one JSON object per resource
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) flags: Flags<FETCH>,
}

/// What to explain.
#[derive(Debug, Group)]
pub(crate) struct Explain {
    /// A failure code, for example GW_TIMEOUT, or the id of a job
    #[arg(value_name = "CODE|JOB")]
    pub(crate) what: String,
    /// Print the API's JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) flags: Flags<CLIENT>,
}

/// What to do with jobs.
#[derive(Debug, Subcommand)]
pub(crate) enum Jobs {
    /// List jobs, newest first
    List {
        /// Only in these states, with commas between them: queued, scheduled, waiting_retry, waiting_batch, held, processing, complete, failed, cancelled
        #[arg(long, value_name = "STATES", value_delimiter = ',')]
        status: Vec<String>,
        /// Only failed with this code
        #[arg(long)]
        code: Option<String>,
        /// Only with this text in the file name
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
        /// Only created since this instant, or within so long: 2026-01-31T08:00:00Z, 2026-01-31, 7d, 12h
        #[arg(long, value_name = "WHEN", value_parser = when::past)]
        since: Option<Timestamp>,
        /// Only ended since this instant, or within so long
        #[arg(long, value_name = "WHEN", value_parser = when::past)]
        ended_since: Option<Timestamp>,
        /// Only of this workload: convert, fetch
        #[arg(long, value_name = "NAME")]
        workload: Option<String>,
        /// Only those that depend on this target: gateway, host:example.com:443; `redrive breakers list` has them
        #[arg(long, value_name = "TARGET")]
        target: Option<String>,
        /// Only those that this worker holds now; `redrive workers list` has the ids
        #[arg(long, value_name = "ID")]
        worker: Option<String>,
        /// Only the members of this batch
        #[arg(long, value_name = "ID")]
        batch: Option<String>,
        /// With the members of all batches
        #[arg(long)]
        members: bool,
        /// At most so many
        #[arg(long, default_value_t = 50, value_parser = when::rows)]
        limit: usize,
        /// Print one JSON object per job
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Show everything about jobs
    Show {
        /// Their ids
        #[arg(required = true, value_name = "JOB")]
        ids: Vec<String>,
        /// Print one JSON object per job
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Print events as they happen; with ids, until those jobs have ended
    Watch {
        /// Only these jobs
        #[arg(value_name = "JOB")]
        ids: Vec<String>,
        /// Print one JSON object per event
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Start failed jobs again
    Retry {
        /// Their ids
        #[arg(required = true, value_name = "JOB")]
        ids: Vec<String>,
        /// Print one JSON object per job
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Stop jobs: those that are named, or all that wait and match
    Cancel(CancelJobs),
}

/// Which jobs to stop.
#[derive(Debug, Group)]
pub(crate) struct CancelJobs {
    /// Their ids
    #[arg(value_name = "JOB")]
    pub(crate) ids: Vec<String>,
    /// All that wait, of this workload; what runs is left alone
    #[arg(long, value_name = "NAME", conflicts_with = "ids")]
    pub(crate) workload: Option<String>,
    /// Only in these states, with commas between them: queued, scheduled, waiting_retry, waiting_batch, held
    #[arg(long, value_name = "STATES", value_delimiter = ',', requires = "workload")]
    pub(crate) status: Vec<String>,
    /// Only with this text in the file name
    #[arg(long, value_name = "TEXT", requires = "workload")]
    pub(crate) search: Option<String>,
    /// Only created since this instant, or within so long: 2026-01-31T08:00:00Z, 2026-01-31, 7d, 12h
    #[arg(long, value_name = "WHEN", value_parser = when::past, requires = "workload")]
    pub(crate) since: Option<Timestamp>,
    /// Only the members of this batch
    #[arg(long, value_name = "ID", requires = "workload")]
    pub(crate) batch: Option<String>,
    /// Only say which, or how many
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask: all that match are meant
    #[arg(long)]
    pub(crate) yes: bool,
    /// Why, for the audit trail
    #[arg(long, value_name = "TEXT", requires = "workload")]
    pub(crate) reason: Option<String>,
    /// Print one JSON object per job, or one that says how many
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) flags: Flags<CLIENT>,
}

impl Jobs {
    /// The settings that were given.
    pub(crate) fn flags(&self) -> &Flags<CLIENT> {
        match self {
            Self::List { flags, .. }
            | Self::Show { flags, .. }
            | Self::Watch { flags, .. }
            | Self::Retry { flags, .. } => flags,
            Self::Cancel(asked) => &asked.flags,
        }
    }
}

/// What to do with settings.
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Print each setting with its value and where that came from
    Show {
        /// Print one JSON object per setting
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<{ Use::MAX }>,
    },
    /// Look at all settings and say everything that is wrong
    Check(Flags<{ Use::MAX }>),
    /// Write a redrive.toml with every setting, commented out
    Init,
}

/// What to look at.
#[derive(Debug, Group)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) flags: Flags<WORKER>,
    /// Print one JSON object per check
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where the demo runs.
#[derive(Debug, Group)]
pub(crate) struct Demo {
    /// Address to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Folder for everything; it must be empty, or that of an earlier demo [default: a new one, removed at the end]
    #[arg(long, value_name = "FOLDER", visible_alias = "data")]
    pub(crate) data_dir: Option<PathBuf>,
    /// How many times as fast as usual everything happens
    #[arg(long, hide = true, default_value_t = 1.0)]
    pub(crate) speed: f64,
}

/// How to run the gateway.
#[derive(Debug, Group)]
pub(crate) struct Gateway {
    /// Address to listen on; port 0 picks a free one [default: 127.0.0.1:8090]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) flags: Flags<GATEWAY>,
}

/// What to measure, and where.
#[derive(Debug, Group)]
pub(crate) struct Bench {
    /// Measure SQLite on the disk of this folder [default: the current one, unless --postgres is given]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) sqlite: Option<PathBuf>,
    /// Measure on this Postgres server; each measurement makes a database there and drops it
    #[arg(long, value_name = "URL")]
    pub(crate) postgres: Option<String>,
    /// Only these
    #[arg(long, value_enum, value_delimiter = ',', default_value = "drain,failures,pickup,enqueue,bulk")]
    pub(crate) only: Vec<What>,
    /// Jobs per measurement
    #[arg(long, default_value_t = 20_000)]
    pub(crate) jobs: usize,
    /// Samples of the pick-up latency
    #[arg(long, default_value_t = 300)]
    pub(crate) samples: usize,
    /// How often everything is measured
    #[arg(long, default_value_t = 3)]
    pub(crate) runs: usize,
    /// Seconds that a worker at rest is watched
    #[arg(long, default_value_t = 20)]
    pub(crate) watch: u64,
    /// Seconds a lease lasts in the worker that is killed
    #[arg(long, default_value_t = 60)]
    pub(crate) ttl: u64,
    /// Print one JSON object per figure, as soon as it is there
    #[arg(long)]
    pub(crate) json: bool,
    /// Be the worker process that is watched or killed; its database's URL comes by stdin
    #[arg(long, hide = true)]
    pub(crate) worker: bool,
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// A full queue to its end
    Drain,
    /// The same, each job failing once
    Failures,
    /// Idle worker, one job: until its handler runs
    Pickup,
    /// One at a time from 8 callers
    Enqueue,
    /// All at once
    Bulk,
    /// A worker with nothing to do
    Rest,
    /// kill -9 until the job runs again
    Kill,
}
