"""The reader of code blocks itself."""

from __future__ import annotations

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


def test_failing_commands_are_seen(tmp_path: Path) -> None:
    """A command that fails ends its block with its exit code."""
    block = Block("sh", "false\nsmdeclust --version\n", 1)
    assert run_shell(block, tmp_path).returncode == 1
