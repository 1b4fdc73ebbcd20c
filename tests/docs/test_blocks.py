"""The reader of code blocks itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.blocks import Block, find_blocks, run_python, run_shell

PAGE = """# Title

```python
x = 1
```

<!-- not run: takes days -->
```sh
smdeclust paper --scale paper
```

- item

    ```console
    $ smdeclust --version
    smdeclust 0.1.0
    $ cat file
    ```

````text
```python
no code
```
````
"""


def test_finds_blocks_with_lines_languages_and_reasons() -> None:
    """Blocks are found in order, indented ones and longer fences too, with where they stand."""
    blocks = find_blocks(PAGE)
    assert [block.language for block in blocks] == ["python", "sh", "console", "text"]
    assert blocks[0] == Block("python", "x = 1\n", 4)
    assert blocks[1].not_run == "takes days"
    assert blocks[2].commands == "smdeclust --version\ncat file"
    assert blocks[3].commands == ""


def test_setting_up_is_not_run() -> None:
    """Commands that install or build are left to the reader."""
    block = Block("sh", "pip install .\nmake demo\nsmdeclust --version\n", 1)
    assert block.commands == "smdeclust --version"
    assert Block("sh", "make test\n", 1).commands == ""


def test_python_blocks_share_a_namespace_and_name_their_line(tmp_path: Path) -> None:
    """A later block sees names of an earlier one; a failure points at the page."""
    names: dict[str, object] = {}
    run_python(Block("python", "x = 1\n", 4), tmp_path / "page.md", names)
    with pytest.raises(ZeroDivisionError) as caught:
        run_python(Block("python", "x / 0\n", 9), tmp_path / "page.md", names)
    assert caught.traceback[-1].lineno + 1 == 9


@pytest.mark.parametrize("own_processes", [True, False])
def test_failing_commands_are_seen(tmp_path: Path, own_processes: bool) -> None:
    """A command that fails ends its block with its exit code."""
    block = Block("sh", "false\nsmdeclust --version\n", 1)
    assert run_shell(block, tmp_path, own_processes=own_processes).returncode == 1


def test_commands_within_this_process_are_like_others(tmp_path: Path) -> None:
    """Folder, variables, pipes, both streams and the exit code are those of a process."""
    (tmp_path / "inner").mkdir()
    block = Block("sh", """cd inner
export SMDECLUST_DEBUG=1
smdeclust --version | tr a-z A-Z > ../version.txt
printf 'ML a\\n' | cat > "two words.txt"
smdeclust check nothing.csv -k 2 -c "two words.txt"
echo not reached
""", 1)  # fmt: skip
    before = Path.cwd(), dict(os.environ)
    done = run_shell(block, tmp_path, own_processes=False)
    assert (tmp_path / "version.txt").read_text().startswith("SMDECLUST 0.")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" in done.stderr  # what the variable asks for
    assert "nothing.csv" in done.stderr.splitlines()[-1]
    assert (Path.cwd(), dict(os.environ)) == before
