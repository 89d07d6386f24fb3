//! Any bytes as the sheet of a drive.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::sheet::sheet(bytes);
});
