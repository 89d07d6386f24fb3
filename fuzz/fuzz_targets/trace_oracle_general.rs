//! Any bytes as the oracleGeneral format, all taken for writes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::read_assuming(bytes, "oracleGeneral");
    shingle_fuzz::read_assuming(bytes, "oracleGeneral:bytes");
});
