//! Any bytes as a device's report of its zones.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::zoned::report(bytes);
});
