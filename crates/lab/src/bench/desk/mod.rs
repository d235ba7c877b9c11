//! The operator's desk before a full house: a million jobs, a hundred thousand dead letters, a thousand jobs every second, and how long
//! its pages take. The server is the program itself, as a process of its own, on SQLite or on Postgres.

pub mod ask;
pub mod fill;
pub mod load;
pub mod origin;
