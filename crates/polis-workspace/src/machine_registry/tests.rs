//! Tests of the machine registry: trust, overlaps, replaced directories, concurrent processes.

use std::os::fd::AsFd as _;

use super::*;
use crate::directory::open_directory_no_symlinks;

struct TestMachine {
    root: PathBuf,
    registry: MachineRegistry,
    _directory: tempfile::TempDir,
}

fn new_test_machine() -> TestMachine {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    TestMachine {
        registry: MachineRegistry::in_directory(root.join("state")),
        root,
        _directory: directory,
    }
}

impl TestMachine {
    fn create_dir(&self, path: &str) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn create_trusted_project(&self, path: &str) -> PathBuf {
        let data = self.create_dir(path).join(PROJECT_DATA_DIR);
        fs::create_dir_all(&data).unwrap();
        self.registry.trust_project(&data).unwrap();
        data
    }

    fn is_trusted(&self, data: &Path) -> bool {
        self.registry.trusted_project(data).is_some()
    }

    fn bind_to_ada(&self, directory: &Path, project: &Path) {
        let identity = directory_identity(directory);
        self.registry
            .remember_workspace(directory, project, "ada", identity)
            .unwrap();
    }
}

fn directory_identity(directory: &Path) -> DirectoryIdentity {
    let open = open_directory_no_symlinks(directory).unwrap();
    DirectoryIdentity::from_fd(open.as_fd()).unwrap()
}

#[test]
fn project_is_trusted_at_its_path_and_with_its_id_only() {
    let machine = new_test_machine();
    let data = machine.create_trusted_project("p");
    assert!(machine.is_trusted(&data));
    let other = machine.create_dir("q").join(PROJECT_DATA_DIR);
    fs::create_dir_all(&other).unwrap();
    assert!(!machine.is_trusted(&other));
    // A copy at another path, and another project at the same path, are not trusted.
    fs::copy(data.join(PROJECT_ID_FILE), other.join(PROJECT_ID_FILE)).unwrap();
    assert!(!machine.is_trusted(&other));
    fs::write(data.join(PROJECT_ID_FILE), "a".repeat(2 * PROJECT_ID_BYTES)).unwrap();
    assert!(!machine.is_trusted(&data));
    machine.registry.trust_project(&data).unwrap();
    assert!(machine.is_trusted(&data));
    machine.registry.distrust_project(&data).unwrap();
    assert!(!machine.is_trusted(&data));
}

#[test]
fn registry_writable_by_others_is_ignored() {
    use std::os::unix::fs::PermissionsExt as _;
    let machine = new_test_machine();
    let data = machine.create_trusted_project("p");
    let state = machine.root.join("state");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(!machine.is_trusted(&data));
    assert!(machine.registry.trust_project(&data).is_err());
}

#[test]
fn registry_of_another_user_is_not_written_and_its_symlinks_are_not_followed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let machine = new_test_machine();
    let data = machine.create_dir("p").join(PROJECT_DATA_DIR);
    fs::create_dir_all(&data).unwrap();
    let victim = machine.root.join("victim");
    fs::write(&victim, "precious").unwrap();
    let planted = machine.create_dir("state").join(PROJECTS_DIR);
    fs::create_dir(&planted).unwrap();
    let name = entry_file_name(&data);
    let absent = machine.root.join("absent");
    symlink(&absent, planted.join(format!("{name}{LOCK_SUFFIX}"))).unwrap();
    // Names of new entries are predictable.
    for number in 0..500 {
        let name = format!("{name}.{}.{number}", std::process::id());
        symlink(&victim, planted.join(name)).unwrap();
    }
    let entries = || fs::read_dir(&planted).unwrap().count();
    let before = entries();
    let open_to_all = fs::Permissions::from_mode(0o777);
    for shared in [machine.root.join("state"), planted.clone()] {
        fs::set_permissions(&shared, open_to_all.clone()).unwrap();
        assert!(machine.registry.trust_project(&data).is_err());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(!absent.exists());
        assert_eq!(entries(), before);
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o700)).unwrap();
    }
    // Links are not followed in a private directory either.
    assert!(machine.registry.trust_project(&data).is_err());
    assert!(!absent.exists());
    fs::remove_file(planted.join(format!("{name}{LOCK_SUFFIX}"))).unwrap();
    machine.registry.trust_project(&data).unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert!(machine.is_trusted(&data));
}

#[test]
fn overlap_with_other_projects_is_detected() {
    let machine = new_test_machine();
    let (own, other) = (
        machine.create_trusted_project("own"),
        machine.create_trusted_project("other"),
    );
    let work = machine.create_dir("work");
    machine.bind_to_ada(&work, &other);
    let overlap = |path: &str| {
        machine
            .registry
            .find_overlap(&machine.root.join(path), &own)
    };
    for path in ["work", "work/sub", "."] {
        let path = machine.root.join(path);
        let path = path.components().collect::<PathBuf>();
        assert!(
            machine.registry.find_overlap(&path, &own).is_some(),
            "{}",
            path.display()
        );
    }
    assert!(matches!(
        overlap("work/sub"),
        Some(WorkspaceOverlap::OtherWorkspace(_))
    ));
    assert!(matches!(
        overlap("other"),
        Some(WorkspaceOverlap::OtherProject(_))
    ));
    let within = "other/.agent-workspace/workspaces/x";
    assert!(matches!(
        overlap(within),
        Some(WorkspaceOverlap::OtherProject(_))
    ));
    assert!(matches!(
        overlap("state"),
        Some(WorkspaceOverlap::MachineRegistry)
    ));
    assert!(matches!(
        overlap("state/projects/x"),
        Some(WorkspaceOverlap::MachineRegistry)
    ));
    assert_eq!(overlap("elsewhere"), None);
    assert_eq!(machine.registry.find_overlap(&work, &other), None);
    // A deleted project no longer overlaps.
    fs::remove_dir_all(&other).unwrap();
    assert_eq!(overlap("work/sub"), None);
    assert_eq!(overlap("other"), None);
}

#[test]
fn replaced_directory_is_refused() {
    let machine = new_test_machine();
    let own = machine.create_trusted_project("own");
    let work = machine.create_dir("work");
    let check = || {
        machine
            .registry
            .check_workspace(&work, &own, "ada", directory_identity(&work))
    };
    assert_eq!(check(), Ok(()));
    assert_eq!(check(), Ok(()));
    fs::rename(&work, machine.root.join("moved")).unwrap();
    fs::create_dir(&work).unwrap();
    assert_eq!(check(), Err(WorkspaceCheckError::Replaced));
    fs::remove_dir(&work).unwrap();
    fs::rename(machine.root.join("moved"), &work).unwrap();
    assert_eq!(check(), Ok(()));
    assert!(
        machine
            .registry
            .workspace_containing(&work.join("a/b"))
            .is_some()
    );
    assert!(
        machine
            .registry
            .workspace_containing(&machine.root)
            .is_none()
    );
    // The agent's workspace has moved: the old directory is free.
    machine.bind_to_ada(&machine.create_dir("new"), &own);
    assert!(machine.registry.workspace_containing(&work).is_none());
}

#[test]
fn first_use_of_overlapping_directory_is_refused() {
    let machine = new_test_machine();
    let (own, other) = (
        machine.create_trusted_project("own"),
        machine.create_trusted_project("other"),
    );
    let work = machine.create_dir("work");
    machine.bind_to_ada(&work, &other);
    let check = |path: &Path| {
        let registry = &machine.registry;
        registry.check_workspace(path, &own, "ada", directory_identity(path))
    };
    for path in ["work", "work/sub", "other", "state/projects", ""] {
        let path = machine.create_dir(path);
        let path = path.components().collect::<PathBuf>();
        let refused = check(&path);
        assert!(
            matches!(refused, Err(WorkspaceCheckError::Overlaps(_))),
            "{}: {refused:?}",
            path.display()
        );
    }
    // The refused check has not recorded it for this project.
    assert_eq!(
        machine
            .registry
            .workspace_containing(&work)
            .unwrap()
            .project,
        other
    );
    let apart = machine.create_dir("apart");
    assert_eq!(check(&apart), Ok(()));
    // Once recorded for this project, it is not checked for overlaps again.
    machine.create_trusted_project("apart/sub");
    assert_eq!(check(&apart), Ok(()));
}

#[test]
fn project_trusted_concurrently_stays_trusted() {
    let machine = new_test_machine();
    for round in 0..20 {
        let data = machine
            .create_dir(&format!("p{round}"))
            .join(PROJECT_DATA_DIR);
        fs::create_dir_all(&data).unwrap();
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    machine.registry.trust_project(&data).unwrap();
                    // Other threads are still writing.
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
    let machine = new_test_machine();
    let data = machine.create_trusted_project("p");
    fs::write(data.join(PROJECT_ID_FILE), "").unwrap();
    assert!(!machine.is_trusted(&data));
    machine.registry.trust_project(&data).unwrap();
    assert!(machine.is_trusted(&data));
}

#[test]
fn leftovers_of_killed_processes_are_ignored() {
    let machine = new_test_machine();
    let own = machine.create_trusted_project("own");
    let missing = machine.create_dir("work/sub").join("gone");
    let leftover = machine.root.join("state/projects");
    let leftover = leftover.join(format!("{}.7.0", entry_file_name(&missing)));
    fs::write(leftover, machine.root.join("work").as_os_str().as_bytes()).unwrap();
    let overlap = machine
        .registry
        .find_overlap(&machine.root.join("work"), &own);
    assert_eq!(overlap, None);
}
