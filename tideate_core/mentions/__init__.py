"""Project context for prompts: mentions (`@Name`, `@file:PATH`, `@diff`, …), rules files and skills.

Mentions resolve to file content, without a model. The team defines names in `.tideate/context.json`::

    {
      "version": "1.0.0",
      "mappings": {
        "@Guide": "doc/guide.md",
        "@Errors": "doc/api.md#Errors",
        "@Voice": {"text": "Write short sentences."}
      }
    }

A target is a `file` (a path), a `section` (a heading of a Markdown file, by its title or its anchor on
GitHub) or a `variable` (a text in `context.json` itself; environment variables are never read).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.mentions.definitions import (
        Definition as Definition,
        code_language as code_language,
        definitions_in as definitions_in,
        may_define as may_define,
        places_of_name as places_of_name,
    )
    from tideate_core.mentions.extraction import BUILT_IN as BUILT_IN, extract as extract
    from tideate_core.mentions.git import (
        ALL_LINES as ALL_LINES,
        LARGEST_LOOKED as LARGEST_LOOKED,
        LIST_CHANGES as LIST_CHANGES,
        Changes as Changes,
        changed_files as changed_files,
        commit_changes as commit_changes,
        compare as compare,
        hidden_changes as hidden_changes,
        read_changes as read_changes,
        secret_reasons as secret_reasons,
        without_many as without_many,
        without_secrets as without_secrets,
    )
    from tideate_core.mentions.items import (
        ContextItem as ContextItem,
        Diagnostic as Diagnostic,
        Surroundings as Surroundings,
    )
    from tideate_core.mentions.resolver import (
        ContextResolver as ContextResolver,
        MentionDescription as MentionDescription,
    )
    from tideate_core.mentions.rules import (
        IN_DIRECTORIES as IN_DIRECTORIES,
        FoundRules as FoundRules,
        RulesFile as RulesFile,
        RulesFinder as RulesFinder,
    )
    from tideate_core.mentions.rules_text import (
        SentRules as SentRules,
        fit_rules as fit_rules,
        format_rules as format_rules,
    )
    from tideate_core.mentions.secrets import (
        HIDES_LINES as HIDES_LINES,
        SIGNS_OF_SECRETS as SIGNS_OF_SECRETS,
        HardLinks as HardLinks,
        hide_lines as hide_lines,
        hide_secrets as hide_secrets,
        hide_secrets_within as hide_secrets_within,
        secret_in as secret_in,
        secret_lines as secret_lines,
        secret_name as secret_name,
        secret_parts as secret_parts,
    )
    from tideate_core.mentions.secrets_of_runs import (
        LEFT_OUT as LEFT_OUT,
        secrets_within as secrets_within,
        value_without_secrets as value_without_secrets,
    )
    from tideate_core.mentions.skills import (
        Skill as Skill,
        describe_skills as describe_skills,
        find_skills as find_skills,
        read_skill as read_skill,
    )
    from tideate_core.mentions.symbols import (
        OutlineEntry as OutlineEntry,
        can_outline as can_outline,
        outline as outline,
        outline_entries as outline_entries,
    )
    from tideate_core.mentions.tree import draw_tree as draw_tree
else:
    __getattr__, __dir__, __all__ = exports(__name__)
