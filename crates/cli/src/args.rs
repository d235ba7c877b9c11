//! The command line. Flags win over the environment, the environment over defaults.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand, ValueEnum};

/// A durable job engine that treats failure as the main event.
#[derive(Debug, Parser)]
#[command(name = "redrive", version, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the server on embedded defaults
    Serve(Serve),
    /// Run workers only, for more machines on one Postgres
    Worker(Database),
    /// Run the PDF→XML gateway alone
    Gateway(Gateway),
    /// Bring the database's schema up to date
    Migrate(Database),
    /// Measure the engine on this machine, on databases that are made for it and removed
    Bench(Bench),
    /// Look at everything here, and say what is wrong and what to do about it
    Doctor(Doctor),
    /// Say what a failure code means and what to do about it
    Explain {
        /// The code, for example GW_TIMEOUT
        code: String,
    },
}

/// Where the data is.
#[derive(Debug, Group)]
pub(crate) struct Database {
    /// Folder for everything that is stored [env: DATA_DIR] [default: redrive-data]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data_dir: Option<PathBuf>,
    /// sqlite:FILE or postgres://… [env: DATABASE_URL] [default: sqlite:DATA_DIR/redrive.db]
    #[arg(long, value_name = "URL")]
    pub(crate) database_url: Option<String>,
}

/// How to serve.
#[derive(Debug, Group)]
pub(crate) struct Serve {
    /// Address to listen on; port 0 picks a free one [env: LISTEN] [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) database: Database,
}

/// What to look at.
#[derive(Debug, Group)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) database: Database,
    /// Print one JSON object per check
    #[arg(long)]
    pub(crate) json: bool,
}

/// How to run the gateway.
#[derive(Debug, Group)]
pub(crate) struct Gateway {
    /// Address to listen on; port 0 picks a free one [default: 127.0.0.1:8090]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
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
