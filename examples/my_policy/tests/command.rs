//! The command with the policy in it, built without what a policy does not need.

use std::process::{Command, Output};

fn shingle(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_my_policy");
    Command::new(program).args(arguments).output().expect("it was built")
}

#[test]
fn it_runs_the_policy_and_knows_its_parameters() {
    let trace = "synth:zipf?requests=2k&range=1GB";
    let run = ["run", trace, "-p", "my-policy", "-c", "4MiB", "--set", "my-policy.hit_points=2"];
    let done = shingle(&run);
    assert!(done.status.success(), "{done:?}");
    assert!(String::from_utf8_lossy(&done.stdout).contains("my-policy"), "{done:?}");
    let listed = shingle(&["list", "policies", "my-policy"]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("hit_points"), "{listed:?}");
}

#[test]
fn what_was_left_out_names_its_feature() {
    for (arguments, feature) in [
        (&["store", "serve"][..], "store"),
        (&["reproduce", "sac"], "papers"),
        (&["compare", "--html", "page.html"], "pictures"),
        (&["run", "--parquet", "run.parquet"], "parquet"),
    ] {
        let refused = shingle(arguments);
        let told = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{told}");
        assert!(told.contains(&format!("the feature `{feature}`")), "{told}");
    }
    let help = shingle(&["--help"]);
    assert!(!String::from_utf8_lossy(&help.stdout).contains("reproduce"));
}

#[test]
fn files_it_cannot_read_name_the_feature() {
    let folder = std::env::temp_dir().join(format!("my-policy-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for (bytes, feature) in
        [(&b"PAR1 and so on"[..], "parquet"), (&[0x28, 0xb5, 0x2f, 0xfd, 0, 0], "compression")]
    {
        let path = folder.join("trace");
        std::fs::write(&path, bytes).expect("written");
        let refused = shingle(&["run", path.to_str().expect("plain text")]);
        let told = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && told.contains(feature), "{told}");
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}
