//! Who may answer an operator: only the operator's own user, and root.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use shingle_store::store::control::{Answer, ControlError, Request, ask, make_folder};
use shingle_testbed::root_or_skip;

/// An arbitrary other user.
const OTHER: u32 = 65_534;

/// The variable with the path at which the process of the other user listens.
const LISTEN: &str = "SHINGLE_TEST_LISTEN";

/// Accepts one connection, and answers that the request is done.
fn answer_once(listener: &UnixListener) {
    let (stream, _) = listener.accept().expect("a client");
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).expect("text");
    let _ = (&stream).write_all(b"{\"done\":null}\n");
}

/// A folder with a socket, at which a thread answers.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let all = tempfile::tempdir().expect("a folder");
    let folder = all.path().join("shingle");
    fs::create_dir(&folder).expect("made");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("set");
    let socket = folder.join("s.sock");
    (all, socket)
}

fn detach(socket: &Path) -> Result<Answer, ControlError> {
    ask(socket, &mut |_| {}, &Request::Detach)
}

/// Neither side uses this folder, and the errors of both name it.
fn refused(socket: &Path, why: &str) {
    let folder = socket.parent().expect("it is in one").display().to_string();
    for error in [detach(socket).expect_err("refused"), make_folder(socket).expect_err("refused")] {
        assert!(matches!(error, ControlError::Foreign(_)), "{error:?}");
        let told = error.to_string();
        assert!(told.contains(&folder) && told.contains(why), "{told}");
        assert_eq!(told.lines().count(), 1);
    }
}

#[test]
fn a_folder_of_ones_own_is_trusted() {
    let (_all, socket) = folder();
    make_folder(&socket).expect("it is there");
    let nobody = detach(&socket).expect_err("not served");
    assert!(matches!(nobody, ControlError::NotServed(_)), "{nobody:?}");
    let listener = UnixListener::bind(&socket).expect("bound");
    let answering = std::thread::spawn(move || answer_once(&listener));
    assert_eq!(detach(&socket).expect("answered"), Answer::Done(()));
    answering.join().expect("no panic");
    // Without a folder nothing listens.
    let nobody = detach(Path::new("/nowhere/at/all/s.sock")).expect_err("not served");
    assert!(matches!(nobody, ControlError::NotServed(_)), "{nobody:?}");
}

#[test]
fn a_folder_that_others_may_write_to_is_refused() {
    let (_all, socket) = folder();
    let _listener = UnixListener::bind(&socket).expect("bound");
    let folder = socket.parent().expect("it is in one");
    for mode in [0o720, 0o702, 0o1777] {
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).expect("set");
        refused(&socket, &format!("mode {mode:o}"));
    }
}

#[test]
fn a_link_to_a_folder_is_refused() {
    let (all, socket) = folder();
    let _listener = UnixListener::bind(&socket).expect("bound");
    symlink(socket.parent().expect("it is in one"), all.path().join("link")).expect("made");
    refused(&all.path().join("link/s.sock"), "is no folder");
    fs::write(all.path().join("file"), b"").expect("made");
    let error = detach(&all.path().join("file/s.sock")).expect_err("refused");
    assert!(error.to_string().contains("is no folder"), "{error}");
}

#[test]
fn a_folder_of_another_user_is_refused() {
    if !root_or_skip("a folder of another user") {
        return;
    }
    let (_all, socket) = folder();
    let _listener = UnixListener::bind(&socket).expect("bound");
    chown(socket.parent().expect("it is in one"), Some(OTHER), None).expect("given away");
    refused(&socket, "belongs to user 65534");
}

/// Even in a trusted folder: a socket of another user was moved there.
#[test]
fn a_socket_that_another_user_listens_at_is_refused() {
    if let Some(path) = std::env::var_os(LISTEN) {
        // This is the process of the other user.
        let listener = UnixListener::bind(path).expect("bound");
        println!("it listens");
        return answer_once(&listener);
    }
    if !root_or_skip("a socket that another user listens at") {
        return;
    }
    let (all, socket) = folder();
    let theirs = all.path().join("theirs");
    fs::create_dir(&theirs).expect("made");
    chown(&theirs, Some(OTHER), None).expect("given away");
    fs::set_permissions(all.path(), fs::Permissions::from_mode(0o755)).expect("set");
    // The program must be where that user can read it.
    let program = all.path().join("program");
    fs::copy(std::env::current_exe().expect("known"), &program).expect("copied");
    let mut other = Command::new(&program)
        .args([
            "--exact",
            "control::a_socket_that_another_user_listens_at_is_refused",
            "--nocapture",
        ])
        .env(LISTEN, theirs.join("s.sock"))
        .current_dir("/")
        .uid(OTHER)
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let lines = BufReader::new(other.stdout.take().expect("piped")).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("it listens")), "it ended");
    fs::rename(theirs.join("s.sock"), &socket).expect("moved");
    let error = detach(&socket).expect_err("refused");
    let told = error.to_string();
    assert!(told.contains("user 65534 listens there"), "{told}");
    other.kill().and_then(|()| other.wait()).expect("ended");
}
