//! Any bytes as the lcs format, with a header that is right: first the version, then the records.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::read(bytes, Some("lcs"), None);
    let Some((version, records)) = bytes.split_first() else { return };
    let magic = 0x1234_5678_9abc_def0_u64.to_le_bytes();
    let mut whole = vec![0; 8192];
    whole[..8].copy_from_slice(&magic);
    whole[8] = *version;
    whole[8184..].copy_from_slice(&magic);
    whole.extend_from_slice(records);
    shingle_fuzz::read(&whole, Some("lcs"), Some("*"));
    shingle_fuzz::read_assuming(&whole, "lcs");
});
