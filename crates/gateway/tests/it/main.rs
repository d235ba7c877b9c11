//! The gateway from outside: its mappings, its cage, its server.

mod chars;
mod documents;
mod mappings;
mod schemas;
mod tools;
