//! Commands that run beside the steps of a long task, on the cores that those leave idle.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::run::root;
use crate::{Failure, Outcome};

/// How often somebody looks whether a command has ended.
const PAUSE: Duration = Duration::from_millis(100);

/// A command that has ended.
pub struct Done {
    pub name: String,
    pub seconds: f64,
    pub outcome: Outcome,
    /// All that it has printed.
    pub said: String,
}

/// Commands that run one after the other. Dropped, they end.
pub struct Aside {
    thread: Option<JoinHandle<Vec<Done>>>,
    running: Arc<Mutex<Running>>,
}

#[derive(Default)]
struct Running {
    child: Option<Child>,
    is_over: bool,
}

impl Aside {
    pub fn start(commands: Vec<(String, Command)>) -> Aside {
        let running = Arc::new(Mutex::new(Running::default()));
        let theirs = Arc::clone(&running);
        let thread = thread::spawn(move || {
            let mut all = Vec::new();
            for (name, mut command) in commands {
                let start = Instant::now();
                let (outcome, said) = match run(&mut command, &theirs) {
                    Ok((status, said)) if status.success() => (Ok(()), said),
                    Ok((status, said)) => (Err(format!("ended with {status}").into()), said),
                    Err(failure) => (Err(failure), String::new()),
                };
                all.push(Done { name, seconds: start.elapsed().as_secs_f64(), outcome, said });
            }
            all
        });
        Aside { thread: Some(thread), running }
    }

    /// Waits for the last of them.
    pub fn finish(mut self) -> Vec<Done> {
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let mut running = lock(&self.running);
        running.is_over = true;
        if let Some(child) = &mut running.child {
            let _ = child.kill(); // if this fails, it has ended
        }
    }
}

fn lock(running: &Mutex<Running>) -> MutexGuard<'_, Running> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a command to its end; gives how it ended, and what it has printed.
fn run(command: &mut Command, running: &Mutex<Running>) -> Result<(ExitStatus, String), Failure> {
    let path = output_file();
    let file = File::create(&path)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    {
        let mut running = lock(running);
        if running.is_over {
            return Err("not started, since another step failed".into());
        }
        running.child = Some(command.spawn()?);
    }
    let status = loop {
        // Not waited for under the lock, or nobody could end it.
        if let Some(child) = &mut lock(running).child
            && let Some(status) = child.try_wait()?
        {
            break status;
        }
        thread::sleep(PAUSE);
    };
    lock(running).child = None;
    let said = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
    fs::remove_file(path)?;
    Ok((status, said))
}

fn output_file() -> PathBuf {
    root().join(format!("target/aside-{}-{:?}.txt", std::process::id(), thread::current().id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> (String, Command) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        (script.into(), command)
    }

    #[test]
    fn commands_run_in_order_and_say_how_they_ended() {
        let done = Aside::start(vec![shell("echo one; echo two >&2"), shell("exit 3")]).finish();
        assert_eq!(done.len(), 2);
        assert!(done[0].outcome.is_ok() && done[1].outcome.is_err());
        assert_eq!(done[0].said, "one\ntwo\n");
    }

    #[test]
    fn what_is_dropped_ends() {
        let start = Instant::now();
        let aside = Aside::start(vec![shell("exec sleep 60"), shell("exec sleep 60")]);
        let running = Arc::clone(&aside.running);
        while lock(&running).child.is_none() {
            thread::sleep(PAUSE);
        }
        drop(aside);
        while lock(&running).child.is_some() {
            thread::sleep(PAUSE);
        }
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
