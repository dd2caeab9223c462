"""Why a run ended: told to its user, and to the parent of a sub-agent. See the package.

What is wrong with an endpoint is said as on the command line, with the endpoint's own words.
"""

from __future__ import annotations

ENDINGS: dict[str, tuple[str, str]] = {
    # loop.py
    "end_steps": ("no final answer after {steps:step}", "{steps} 步之后仍没有最终回答"),
    # asking.py
    "end_at_step": ("step {step}", "第 {step} 步"),
    "end_empty": ("the model gave neither text nor calls", "模型既没有给出文字,也没有给出调用"),
    "end_again": ("try again", "请再试一次"),
    "end_longer": ("allow longer answers", "请允许更长的回答"),
    # models/scripted.py
    "end_script": ("the script has no replies left", "脚本中的回复已用完"),
    "end_script_remedy": ("add a reply, or end with one without calls",
                          "请增加一条回复,或以一条没有调用的回复结束"),
    "end_injected": ("the model failed (injected)", "模型失败(由脚本注入)"),
    # compression/token_budget.py
    "end_budget_place": ("budget", "预算"),
    "end_budget": ("{sent:token is|tokens are} sent, and {more} more are over the limit of {limit} "
                   "in all",
                   "已发送 {sent} 个 token,再发送 {more} 个就超出合计 {limit} 的上限"),
    # compression/overflow.py
    "end_window": ("window", "窗口"),
    "end_overflow": ("{tokens:token is|tokens are} over the limit of {limit} at step {step} and "
                     "cannot be moved: {parts}",
                     "第 {step} 步有 {tokens} 个 token,超出上限 {limit},且无法移动: {parts}"),
    "end_overflow_estimated": (" (as estimated, {estimated} in all)",
                               "(按估算,共 {estimated} 个)"),
    "end_overflow_failed": ("find out why the summariser failed ({count} in a row), take a "
                            "policy that asks no model (digest), or ",
                            "请查明摘要为何失败(连续 {count} 次),或改用不询问模型的策略(digest),或"),
    "end_overflow_undone": ("find out why {names} failed (`show` says it), or ",
                            "请查明 {names} 为何失败(见 `show`),或"),
    "end_overflow_remedy": ("raise the window to {window} or more, or protect less",
                            "请把窗口增大到 {window} 或以上,或减少受保护的内容"),
    "part_tool_declarations": ("tool declarations", "工具声明"),
    "part_system_message": ("system message", "系统消息"),
    "part_user_messages": ("user messages", "用户消息"),
    "part_summaries": ("summaries", "摘要"),
    "part_the_newest_messages": ("the newest messages", "最新的消息"),
    "part_older_messages": ("older messages", "较早的消息"),
}
