//! The decisions of shingle: what a cache in front of a shingled disk keeps, and who leaves it.
pub mod units;
pub mod zones;
