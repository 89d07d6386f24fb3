//! Any bytes as the transmission of an NBD client.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::nbd::transmission(bytes);
});
