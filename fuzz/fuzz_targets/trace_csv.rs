//! Any bytes as CSV, where the first line is the column map.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    let (map, rest) = bytes.split_at(end);
    let text = rest.strip_prefix(b"\n").unwrap_or(rest);
    let Ok(map) = std::str::from_utf8(map) else { return };
    shingle_fuzz::read(text, Some(&format!("csv:{map}")), None);
    shingle_fuzz::read(text, Some("csv"), Some("1"));
});
