//! Any bytes as a request for metrics.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle::fuzzing::request(bytes);
});
