"""Milestone 6: what the report page gets: one JSON value, and nothing else.

`page.render(data) -> str` makes the file; here stands what `data` has. The same
comparison gives the same data. Every string may be hostile. Keys, in this order:

    title      text for the head of the page
    command    the exact command line that makes it again
    estimator  the name that stands beside every number of tokens
    rows       the rows of `--json` (DESIGN 10), the baseline `none` first for each
               session and window; `measures.KEYS` has their keys
    summary    only where there are several sessions: a row a window and policy with
               window, policy, sessions (so many counted for the evidence), far_recall,
               low, high (the bootstrap interval of far_recall), far_in_context, recall,
               fresh, lines, worst_tenth, cost, summary_share, prefix_breaks; each null
               where nothing could be counted
    facts      the probes: the texts asked for with --fact, in order
    notes      sentences to be shown under the table: what was left out and why
    sessions   the sessions that the bench can show, each with its history once:

        session, format, language ("en", "zh")   as in its rows
        notes      sentences: what its reader could not do
        windows    the windows of the grid, rising; all policies were replayed at each
        messages   the history, by index:
                   {step, role, name, tokens, chars, lines, text, calls, error, group}
                   `text` is the content, at most CUT characters of it (`chars` has the
                   true length; the handle is #index); `calls` is a list of [name, text
                   of the arguments, their true length]; `error` a code or ""; `group`
                   the index of the first message of its group: what moves together
        steps      history index of the first assistant message of each step: what a view
                   is made from at step s are the messages before steps[s]
        runs       one a policy and window, the baseline first:

            policy, window, soft, hard       tokens; window, soft and hard null for `none`
            about, source, breaks            of the policy; breaks are law numbers
            tokens       sent before each step, by step
            prefix       of these the leading tokens that were sent before unchanged
            over         the steps whose view was over the window
            missing      by step: [items needed, items that the view held, of them far,
                         far held], or [] without evidence
            changes      what was done, in order: {step, strategy, trigger, before_tokens,
                         after_tokens, affected, dropped, unsupported, inserts}; `inserts`
                         are [at, {role, name, text, chars, tokens, stands_for, how, calls}]
            layers       by strategy: {changes, saved, spent}, all but `changes` in tokens
            facts        by probe: its state at each step as a run-length list of
                         [first step, state], state one of "", verbatim, summary, handle,
                         gone; "" as long as the fact has not entered the history

The view of a step is folded like this, and a page may do nothing else (DESIGN 5):

    view = []; for each step s: append the messages before steps[s] that are not in yet,
    each as an entry {index}; then for each change of step s, in order: take out the
    entries at the positions `affected`, then insert each of `inserts` at its position
    `at`, in rising order.

An entry without `stands_for` (attached) stands for no message. What a change took out
and no entry of it stands for is `dropped`.
"""

from __future__ import annotations

CUT = 1_000  # characters of a text that the page holds
