"""Doubles and fixtures for the tests of all packages; take these before you write your own.

Fixtures, in `tests/conftest.py`: `server`, `bench`, `shell`, `answering`, `editor`, `start_editor`, `brood`.

- `project`: `Project` (files of a directory), `write_files`, `git`, `use_home` (a private home). `tally`: a
  small Python project in git, and the change that a task makes to it. `clones`: a hostile one.
- `model_server`: `ModelServer`, the scripted model over HTTP. `tasks`: its answers in the roles of a task.
  `scripted`: `ScriptedModel`, an adapter in the test's process.
- `front`: `Front`, the front end: records events and questions, answers `yes`, `no` or `in_order`.
- `bench`: `Bench`, a runner with all of the above. `bare_run`: a `Run` without store and registry.
- `shell`: `Shell`, the real command. `terminal`: the same at a pseudo-terminal. `screen`: a Neovim's screen.
- `editor`: `Editor`, a real Neovim; `runs`, `panel`, `dialogs`, `events`, `editor_tools`: its uses.
  `review`: what a review in it shows. `fake_host`: a host that misbehaves. `language_server`: a scripted one.
- `buffers`: `Buffers`, an editor in memory: buffers, and answers to queries.
- `place`, `resumed`, `reviewing`, `nursery`: runs in processes that can be killed. `processes`: `Brood` finds
  and ends the processes of a test. `fork_server` and `commands` start them fast.
- `hidden`, `hostile`, `hostile_server`, `hostile_web`: hostile texts and servers.
- `loopback`, `oauth_server`, `trace_receiver`, `certificates`: servers on loopback.
- `work`: counts of work in place of its time. `later`: a clock that a test advances.
"""
