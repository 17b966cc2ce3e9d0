//! Tests of the registry: trust, overlaps, replaced directories, several processes at once.

use std::os::fd::AsFd as _;

use super::*;
use crate::directory::open_without_links;

struct Machine {
    place: PathBuf,
    registry: MachineRegistry,
    _directory: tempfile::TempDir,
}

fn machine() -> Machine {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap();
    Machine {
        registry: MachineRegistry::at(place.join("state")),
        place,
        _directory: directory,
    }
}

impl Machine {
    fn make(&self, path: &str) -> PathBuf {
        let path = self.place.join(path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn project(&self, path: &str) -> PathBuf {
        let data = self.make(path).join(PROJECT_DATA);
        fs::create_dir_all(&data).unwrap();
        self.registry.trust(&data).unwrap();
        data
    }

    fn is_trusted(&self, data: &Path) -> bool {
        self.registry.trusted_project(data).is_some()
    }

    fn bind(&self, directory: &Path, project: &Path) {
        let identity = identity(directory);
        self.registry
            .remember_workspace(directory, project, "ada", identity)
            .unwrap();
    }
}

fn identity(directory: &Path) -> DirectoryIdentity {
    let open = open_without_links(directory).unwrap();
    DirectoryIdentity::of(open.as_fd()).unwrap()
}

#[test]
fn project_is_trusted_at_its_path_and_with_its_id_only() {
    let machine = machine();
    let data = machine.project("p");
    assert!(machine.is_trusted(&data));
    let other = machine.make("q").join(PROJECT_DATA);
    fs::create_dir_all(&other).unwrap();
    assert!(!machine.is_trusted(&other));
    // A copy, and another project at the same path, are other projects.
    fs::copy(data.join(PROJECT_ID), other.join(PROJECT_ID)).unwrap();
    assert!(!machine.is_trusted(&other));
    fs::write(data.join(PROJECT_ID), "a".repeat(2 * ID_BYTES)).unwrap();
    assert!(!machine.is_trusted(&data));
    machine.registry.trust(&data).unwrap();
    assert!(machine.is_trusted(&data));
    machine.registry.distrust(&data).unwrap();
    assert!(!machine.is_trusted(&data));
}

#[test]
fn registry_that_others_can_write_is_not_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let machine = machine();
    let data = machine.project("p");
    let state = machine.place.join("state");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(!machine.is_trusted(&data));
    assert!(machine.registry.trust(&data).is_err());
}

#[test]
fn registry_of_another_user_gets_no_file_and_no_link_in_it_is_followed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let machine = machine();
    let data = machine.make("p").join(PROJECT_DATA);
    fs::create_dir_all(&data).unwrap();
    let victim = machine.place.join("victim");
    fs::write(&victim, "precious").unwrap();
    let planted = machine.make("state").join(PROJECTS);
    fs::create_dir(&planted).unwrap();
    let name = entry_name(&data);
    let absent = machine.place.join("absent");
    symlink(&absent, planted.join(format!("{name}{LOCK_SUFFIX}"))).unwrap();
    // Names of new entries can be guessed.
    for number in 0..500 {
        let name = format!("{name}.{}.{number}", std::process::id());
        symlink(&victim, planted.join(name)).unwrap();
    }
    let entries = || fs::read_dir(&planted).unwrap().count();
    let before = entries();
    let open_to_all = fs::Permissions::from_mode(0o777);
    for shared in [machine.place.join("state"), planted.clone()] {
        fs::set_permissions(&shared, open_to_all.clone()).unwrap();
        assert!(machine.registry.trust(&data).is_err());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(!absent.exists());
        assert_eq!(entries(), before);
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o700)).unwrap();
    }
    // In a directory of one's own links are not followed either.
    assert!(machine.registry.trust(&data).is_err());
    assert!(!absent.exists());
    fs::remove_file(planted.join(format!("{name}{LOCK_SUFFIX}"))).unwrap();
    machine.registry.trust(&data).unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert!(machine.is_trusted(&data));
}

#[test]
fn overlaps_with_other_projects_are_found() {
    let machine = machine();
    let (own, other) = (machine.project("own"), machine.project("other"));
    let work = machine.make("work");
    machine.bind(&work, &other);
    let overlap = |path: &str| machine.registry.overlap(&machine.place.join(path), &own);
    for path in ["work", "work/sub", "."] {
        let path = machine.place.join(path);
        let path = path.components().collect::<PathBuf>();
        assert!(
            machine.registry.overlap(&path, &own).is_some(),
            "{}",
            path.display()
        );
    }
    assert!(matches!(overlap("work/sub"), Some(Overlap::Workspace(_))));
    assert!(matches!(overlap("other"), Some(Overlap::Project(_))));
    let within = "other/.agent-workspace/workspaces/x";
    assert!(matches!(overlap(within), Some(Overlap::Project(_))));
    assert!(matches!(overlap("state"), Some(Overlap::Registry)));
    assert!(matches!(
        overlap("state/projects/x"),
        Some(Overlap::Registry)
    ));
    assert_eq!(overlap("elsewhere"), None);
    assert_eq!(machine.registry.overlap(&work, &other), None);
    // A project that is gone holds nothing any more.
    fs::remove_dir_all(&other).unwrap();
    assert_eq!(overlap("work/sub"), None);
    assert_eq!(overlap("other"), None);
}

#[test]
fn directory_that_was_replaced_is_noticed() {
    let machine = machine();
    let own = machine.project("own");
    let work = machine.make("work");
    let check = || {
        machine
            .registry
            .check_workspace(&work, &own, "ada", identity(&work))
    };
    assert_eq!(check(), Ok(()));
    assert_eq!(check(), Ok(()));
    fs::rename(&work, machine.place.join("moved")).unwrap();
    fs::create_dir(&work).unwrap();
    assert_eq!(check(), Err(WorkspaceRefusal::Replaced));
    fs::remove_dir(&work).unwrap();
    fs::rename(machine.place.join("moved"), &work).unwrap();
    assert_eq!(check(), Ok(()));
    assert!(
        machine
            .registry
            .workspace_around(&work.join("a/b"))
            .is_some()
    );
    assert!(machine.registry.workspace_around(&machine.place).is_none());
    // The agent's workspace is elsewhere now: the old directory is free.
    machine.bind(&machine.make("new"), &own);
    assert!(machine.registry.workspace_around(&work).is_none());
}

#[test]
fn first_use_of_an_overlapping_directory_is_refused() {
    let machine = machine();
    let (own, other) = (machine.project("own"), machine.project("other"));
    let work = machine.make("work");
    machine.bind(&work, &other);
    let check = |path: &Path| {
        let registry = &machine.registry;
        registry.check_workspace(path, &own, "ada", identity(path))
    };
    for path in ["work", "work/sub", "other", "state/projects", ""] {
        let path = machine.make(path);
        let path = path.components().collect::<PathBuf>();
        let refused = check(&path);
        assert!(
            matches!(refused, Err(WorkspaceRefusal::Overlaps(_))),
            "{}: {refused:?}",
            path.display()
        );
    }
    // The refusal has not made it this project's.
    assert_eq!(
        machine.registry.workspace_around(&work).unwrap().project,
        other
    );
    let apart = machine.make("apart");
    assert_eq!(check(&apart), Ok(()));
    // Known as this project's, it is not looked at again.
    machine.project("apart/sub");
    assert_eq!(check(&apart), Ok(()));
}

#[test]
fn project_trusted_by_many_at_once_stays_trusted() {
    let machine = machine();
    for round in 0..20 {
        let data = machine.make(&format!("p{round}")).join(PROJECT_DATA);
        fs::create_dir_all(&data).unwrap();
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    machine.registry.trust(&data).unwrap();
                    // The others are still at it.
                    for _ in 0..50 {
                        assert!(machine.is_trusted(&data), "round {round}");
                    }
                });
            }
        });
    }
}

#[test]
fn project_with_an_incomplete_id_gets_a_new_one() {
    let machine = machine();
    let data = machine.project("p");
    fs::write(data.join(PROJECT_ID), "").unwrap();
    assert!(!machine.is_trusted(&data));
    machine.registry.trust(&data).unwrap();
    assert!(machine.is_trusted(&data));
}

#[test]
fn leftovers_of_killed_processes_are_no_entries() {
    let machine = machine();
    let own = machine.project("own");
    let gone = machine.make("work/sub").join("gone");
    let leftover = machine.place.join("state/projects");
    let leftover = leftover.join(format!("{}.7.0", entry_name(&gone)));
    fs::write(leftover, machine.place.join("work").as_os_str().as_bytes()).unwrap();
    let overlap = machine.registry.overlap(&machine.place.join("work"), &own);
    assert_eq!(overlap, None);
}
