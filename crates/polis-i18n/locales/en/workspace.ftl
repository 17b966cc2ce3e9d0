### Workspaces: files, directories, pages.

workspace-files-title = Files
workspace-file-not-text = This is not a text file
workspace-file-not-text-explanation = Download it and open it with another program.
workspace-file-text = text
workspace-file-lines-unit = lines
workspace-file-view = View
workspace-file-rendered = Rendered
workspace-file-source = Source
workspace-file-beginning-rendered = The file is long; only its beginning is rendered.
workspace-file-view-parts = View the source in parts
workspace-file-empty = The file is empty.
workspace-file-parts = Parts of the file
workspace-file-previous-part = previous
workspace-file-lines-prefix = lines{" "}
workspace-file-next-part = next
workspace-file-download = Download

workspace-no-files = No files yet: they appear as soon as an agent writes one.
workspace-more-files = more …
workspace-file-link = link
workspace-file-not-regular = not a regular file
workspace-search-placeholder = name or directory
workspace-no-matches = No matching workspaces.
workspace-agent-column = Agent
workspace-directory-column = Directory
workspace-assigned-column = Assigned
workspace-list-incomplete = Not all workspaces are shown; search to find others.
workspace-bound-mark = bound
workspace-not-created = not created yet
workspace-measuring = measuring …

# $count, $formatted
workspace-file-count =
    { $count ->
        [one] { $formatted } file
       *[other] { $formatted } files
    }
workspace-none-title = No workspaces yet
workspace-none-explanation = A workspace is the directory to which an agent's files and commands are confined. Assign one to an agent:
