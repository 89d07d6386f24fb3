//! Runs tests for each mistake, two at a time, and tells which are not noticed.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A test that takes longer has noticed, too: it waits for what never comes.
const TEST_MAX: Duration = Duration::from_secs(120);

pub fn run(list: &str, program: &str, tests: &[&str]) -> Result<(), String> {
    let text = std::fs::read_to_string(list).map_err(|why| format!("{list}: {why}"))?;
    let mutants: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    for test in tests {
        // 0 is no mistake.
        if !passes(program, test, "0")? {
            return Err(format!("`{test}` fails without any mistake"));
        }
    }
    let next = AtomicUsize::new(0);
    let search = || {
        let mut survivors = Vec::new();
        while let Some(&(number, what)) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut noticed = None;
            for test in tests {
                if !passes(program, test, number)? {
                    noticed = Some(test);
                    break;
                }
            }
            match noticed {
                Some(test) => println!("{number} {what}: noticed by {test}"),
                None => survivors.push(format!("{number} {what}")),
            }
        }
        Ok::<_, String>(survivors)
    };
    let both: Vec<_> = std::thread::scope(|scope| {
        let searches = [scope.spawn(search), scope.spawn(search)];
        searches.map(|search| search.join().expect("a search")).into_iter().collect()
    });
    let survivors: Vec<String> = both.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    for survivor in &survivors {
        println!("SURVIVES {survivor}");
    }
    println!("{} of {} mistakes are noticed", mutants.len() - survivors.len(), mutants.len());
    Ok(())
}

fn passes(program: &str, test: &str, number: &str) -> Result<bool, String> {
    let mut child = Command::new(program)
        .args([test, "--test-threads=1"])
        .env("SHINGLE_MUTANT", number)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|why| format!("{program}: {why}"))?;
    let begun = Instant::now();
    loop {
        match child.try_wait().map_err(|why| why.to_string())? {
            Some(status) => return Ok(status.success()),
            None if begun.elapsed() > TEST_MAX => {
                child.kill().map_err(|why| why.to_string())?;
                child.wait().map_err(|why| why.to_string())?;
                return Ok(false);
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}
