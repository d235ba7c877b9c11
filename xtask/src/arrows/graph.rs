//! Packages and their direct dependencies as plain data.

use std::fmt;
use std::path::PathBuf;

/// When a dependency is compiled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Part of the package itself.
    Normal,
    /// Part of its build script.
    Build,
    /// Only in its tests, examples and benchmarks.
    Dev,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Normal => "normal",
            Self::Build => "build",
            Self::Dev => "dev",
        })
    }
}

/// One direct dependency.
#[derive(Debug, Clone)]
pub(crate) struct Dependency {
    /// The package's real name, also where the manifest renames it.
    pub(crate) name: String,
    /// When it is compiled in.
    pub(crate) kind: Kind,
}

/// One member of the workspace.
#[derive(Debug, Clone)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Where its manifest is, as cargo says it.
    pub(crate) manifest: PathBuf,
    /// What its manifest lists, optional and platform-specific ones too.
    pub(crate) dependencies: Vec<Dependency>,
}

impl From<&cargo_metadata::Package> for Package {
    fn from(package: &cargo_metadata::Package) -> Self {
        let dependencies = package.dependencies.iter().map(Dependency::from).collect();
        let manifest = package.manifest_path.clone().into_std_path_buf();
        Self { name: package.name.to_string(), manifest, dependencies }
    }
}

impl From<&cargo_metadata::Dependency> for Dependency {
    fn from(dependency: &cargo_metadata::Dependency) -> Self {
        use cargo_metadata::DependencyKind;
        let kind = match dependency.kind {
            DependencyKind::Development => Kind::Dev,
            DependencyKind::Build => Kind::Build,
            // A kind that cargo invents later is treated like the strictest one we know.
            DependencyKind::Normal | DependencyKind::Unknown => Kind::Normal,
        };
        Self { name: dependency.name.clone(), kind }
    }
}
