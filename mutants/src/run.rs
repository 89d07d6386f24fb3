//! Runs tests for each mistake, and tells which are not noticed.
//!
//! Which test comes to which mistake is seen once; a mistake is tried with those only, from the quickest on.

use std::collections::{BTreeMap, HashSet};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A test that takes so many times what it takes without a mistake, and so long, has noticed, too: it waits for
/// what never comes.
const TIMES_MAX: u32 = 20;
const AT_LEAST: Duration = Duration::from_secs(60);

/// A test, how long it takes, and the numbers of mistakes it comes to.
struct Test {
    program: String,
    name: String,
    takes: Duration,
    reached: HashSet<String>,
}

/// A mistake: its number, where it is, and the name by which it may have a reason.
struct Mutant<'a> {
    number: &'a str,
    what: &'a str,
    name: String,
}

impl<'a> Mutant<'a> {
    /// Of a line `NUMBER FILE:LINE WHAT`.
    fn new(line: &'a str) -> Option<Mutant<'a>> {
        let (number, what) = line.split_once(' ')?;
        let (place, rest) = what.split_once(' ')?;
        let (file, _) = place.rsplit_once(':')?;
        Some(Mutant { number, what, name: format!("{file} {rest}") })
    }
}

/// `programs`: each with how the names of its tests begin.
pub fn run(list: &str, reasons: &str, programs: &[(&str, &[&str])]) -> Result<(), String> {
    let (list, reasons) = (read(list)?, read(reasons)?);
    let mutants: Vec<Mutant<'_>> = list.lines().filter_map(Mutant::new).collect();
    let reasons = reasons_of(&reasons);
    let mut tests = Vec::new();
    for (program, filters) in programs {
        tests.extend(tests_of(program, filters)?);
    }
    tests.sort_by_key(|test| test.takes);
    let (mut noticed, mut explained, mut without, mut idle) = (0, 0, 0, Vec::new());
    for mutant in &mutants {
        let reason = reasons.get(mutant.name.as_str());
        let coming = tests.iter().filter(|test| test.reached.contains(mutant.number));
        let mut by = None;
        for test in coming {
            let outcome = outcome(test, mutant.number)?;
            if outcome != Outcome::Passes {
                by = Some((test, outcome));
                break;
            }
        }
        match (by, reason) {
            (Some((test, outcome)), None) => {
                noticed += 1;
                let how = if outcome == Outcome::GoesOn { " does not end" } else { "" };
                println!("{} {}: {}{how}", mutant.number, mutant.what, test.name);
            }
            (Some((test, _)), Some(_)) => {
                noticed += 1;
                idle.push(format!("{} ({} notices it)", mutant.name, test.name));
            }
            (None, Some(reason)) => {
                explained += 1;
                println!("{} {} SURVIVES: {reason}", mutant.number, mutant.what);
            }
            (None, None) => {
                without += 1;
                let any = tests.iter().any(|test| test.reached.contains(mutant.number));
                let how = if any { "" } else { " (no test comes there)" };
                println!("{} {} SURVIVES WITHOUT A REASON{how}", mutant.number, mutant.what);
            }
        }
    }
    let files: HashSet<&str> =
        mutants.iter().filter_map(|one| one.name.split(' ').next()).collect();
    for name in reasons.keys() {
        let tried = name.split(' ').next().is_some_and(|file| files.contains(file));
        if tried && !mutants.iter().any(|mutant| mutant.name == *name) {
            idle.push(format!("{name} (there is no such mistake)"));
        }
    }
    idle.iter().for_each(|name| println!("A REASON FOR NOTHING: {name}"));
    let all = mutants.len();
    println!("{noticed} of {all} mistakes are noticed, {explained} are not and have a reason");
    match (without, idle.len()) {
        (0, 0) => Ok(()),
        _ => Err(format!("{without} have none; {} reasons are for nothing", idle.len())),
    }
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|why| format!("{path}: {why}"))
}

/// A line that is not indented names a mistake; the indented ones behind it say why nobody notices it.
fn reasons_of(text: &str) -> BTreeMap<&str, String> {
    let mut reasons = BTreeMap::new();
    let mut name = None;
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match (line.strip_prefix("    "), name) {
            (Some(reason), Some(name)) => {
                let all: &mut String = reasons.entry(name).or_default();
                all.push_str(if all.is_empty() { "" } else { " " });
                all.push_str(reason);
            }
            _ => name = Some(line),
        }
    }
    reasons
}

/// The tests whose names begin so; each has passed without a mistake.
fn tests_of(program: &str, filters: &[&str]) -> Result<Vec<Test>, String> {
    let listed = Command::new(program).args(["--list", "--format=terse"]).output();
    let listed = listed.map_err(|why| format!("{program}: {why}"))?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
    let meant = names.filter(|name| filters.iter().any(|filter| name.starts_with(filter)));
    let mut tests = Vec::new();
    let reached = std::env::temp_dir().join(format!("shingle-reached-{}", std::process::id()));
    for name in meant {
        let mut test = Test {
            program: program.to_owned(),
            name: name.to_owned(),
            takes: AT_LEAST,
            reached: HashSet::new(),
        };
        let begun = Instant::now();
        let mut command = command(&test, "0");
        let status = command.env("SHINGLE_REACHED", &reached).status();
        if !status.map_err(|why| why.to_string())?.success() {
            return Err(format!("`{name}` fails without any mistake"));
        }
        test.takes = begun.elapsed();
        let text = std::fs::read_to_string(&reached).unwrap_or_default();
        test.reached = text.lines().map(str::to_owned).collect();
        println!("{name}: {:.1?}, {} mistakes", test.takes, test.reached.len());
        let _ = std::fs::remove_file(&reached);
        tests.push(test);
    }
    Ok(tests)
}

fn command(test: &Test, number: &str) -> Command {
    let mut command = Command::new(&test.program);
    command.args([&test.name, "--exact", "--test-threads=1"]).env("SHINGLE_MUTANT", number);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// What a test does with a mistake.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passes,
    Fails,
    /// It was ended. On a machine that does much else at the time it may only have been slow.
    GoesOn,
}

fn outcome(test: &Test, number: &str) -> Result<Outcome, String> {
    let child = command(test, number).spawn();
    let mut child = child.map_err(|why| format!("{}: {why}", test.program))?;
    let (begun, most) = (Instant::now(), AT_LEAST.max(test.takes * TIMES_MAX));
    loop {
        match child.try_wait().map_err(|why| why.to_string())? {
            Some(status) if status.success() => return Ok(Outcome::Passes),
            Some(_) => return Ok(Outcome::Fails),
            None if begun.elapsed() > most => {
                child.kill().map_err(|why| why.to_string())?;
                child.wait().map_err(|why| why.to_string())?;
                return Ok(Outcome::GoesOn);
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
