//! The command line. Flags win over the environment, the environment over defaults.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand};

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
    /// Bring the database's schema up to date
    Migrate(Database),
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
