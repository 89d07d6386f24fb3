//! Integration tests of the crate, as one program, so that it is built and linked once.

mod binary;
mod errors;
mod formats;
mod native;
mod papers;
mod parquet;
mod real;
mod recognise;
mod robust;
mod text_formats;
mod write;
