//! Any bytes as the handshake of an NBD client.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::nbd::handshake(bytes);
});
