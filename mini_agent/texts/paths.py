"""The texts of what is clipped, cleared, moved out, dropped and read back. See the package.

A first line in brackets says what was done, to which message (`#N`), how much is
there and how much there was, and how the whole is had again; all of it can be
checked against the history.
"""

from __future__ import annotations

PATHS: dict[str, tuple[str, str]] = {
    # compression/shrink.py
    "clip_header": (
        "[clipped #{index}: {kept} of {lines:line}, {kept_chars} of {chars:character}{code}; "
        "{way_back}]",
        "[已裁剪 #{index}: 保留 {lines} 行中的 {kept} 行、{chars} 字符中的 {kept_chars} 字符{code};{way_back}]"),
    "clip_gap": ("[... {count:line} left out ...]", "[……略去 {count} 行……]"),
    "clip_cut": (" [... {count:character} of this line left out]", " [……本行略去 {count} 个字符]"),
    "with_code": ("; error code {code}", ";错误码 {code}"),
    # compression/clear.py
    "cleared": (
        "[cleared #{index}: {call}, {chars:character}, {lines:line}, sha256 {digest}{code}"
        "{same}{answer}; {way_back}]",
        "[已清除 #{index}: {call},{chars} 字符,{lines} 行,sha256 {digest}{code}"
        "{same}{answer};{way_back}]"),
    "cleared_again": ("; at least call number {count} of its kind, the result of #{index} {was}",
                      ";同样的调用至少第 {count} 次,与 #{index} 的结果{was}"),
    "cleared_equal": ("was the same", "相同"),
    "cleared_other": ("was another", "不同"),
    "cleared_answer": ("; answered with: {text}", ";当时的答复: {text}"),
    # compression/offload.py
    "offloaded": (
        "[offloaded #{index}: {chars:character}, {lines:line}{code}; the first "
        "{kept_chars:character}, {kept:line stands|lines stand} below{cut}; {way_back}]",
        "[已外置 #{index}: {chars} 字符,{lines} 行{code};以下是开头的 {kept_chars} 个字符、{kept} 行"
        "{cut};{way_back}]"),
    "offload_cut": (" (the last one is cut)", "(末行被截断)"),
    # compression/drop.py
    "rounds_dropped": (
        "[{rounds:older round was|older rounds were} dropped to make room: {count:message}, "
        "{spans} of the run log]",
        "[为腾出空间已删除 {rounds} 轮较早的对话: {count} 条消息,即运行日志的 {spans}]"),
    "middle_left_out": (
        "[the middle was left out: {count:message}, {spans}; {way_back}]",
        "[中段已省略: {count} 条消息,{spans};{way_back}]"),
    "to_the_store": (
        "[{count:older message was|older messages were} taken out: {spans}; {search}{way_back}]",
        "[已移出 {count} 条较早的消息: {spans};{search}{way_back}]"),
    "store_search": ("recall(query) searches the store for what stood in them; ",
                     "可用 recall(query) 在存储中检索其内容;"),
    "way_back_any_tool": ("read_result(handle=N) gives each of them back",
                          "可用 read_result(handle=N) 逐条取回"),
    "way_back_any_log": ("they are whole in the run log", "完整内容见运行日志"),
    # compression/tools.py
    "tool_read_result": (
        "Read a message of this session again, whole or in part, by its handle: the N of #N.",
        "按句柄(即 #N 中的 N)重新读取本次会话中的一条消息,可读全部或一部分"),
    "tool_recall": (
        "Search the messages that have left this conversation for words; gives handles and lines.",
        "在已移出对话的消息中按词检索,返回句柄与所在行"),
    "arg_handle": ("The number of the message: 12 for #12", "消息编号:#12 即 12"),
    "arg_first": ("First line or character, from 1", "起始行或字符,从 1 计"),
    "arg_last": ("Last one, included", "结束位置,包含在内"),
    "arg_unit": ("lines (default) or chars", "lines(默认,按行)或 chars(按字符)"),
    "arg_query": ("Words to look for, the rarer the better", "要检索的词,越少见越好"),
    "unit_lines": ("lines", "行"),
    "unit_chars": ("characters", "个字符"),
    "read_part": ("[#{handle} {what}: {unit} {start} to {stop} of {total}; {rest}]",
                  "[#{handle} {what}: 第 {start} 到 {stop} {unit},共 {total};{rest}]"),
    "read_next": ("next: start={next}, unit={unit}", "下一段: start={next}, unit={unit}"),
    "read_end": ("this is the end", "到此为止"),
    "no_such_handle": ("there is no message #{handle}: they go from #0 to #{last}",
                       "没有消息 #{handle}: 范围为 #0 到 #{last}"),
    "no_such_part": ("#{handle} has no {unit} {start} to {end}: it has {total}",
                     "#{handle} 没有第 {start} 到 {end} {unit}: 共 {total}"),
    "store_error": ("the store cannot be searched: {reason}", "存储无法检索: {reason}"),
    "empty_query": ("the query has no words to look for", "query 中没有可检索的词"),
    "arg_hit": ("Number of the first hit to show, from 1", "从第几条命中开始显示,从 1 计"),
    "no_such_hit": ("there is no hit {start}: there are {total}", "没有第 {start} 条命中: 共 {total} 条"),
    "recall_head": ("[hits {start} to {stop} of {total:message} with any of these words, best "
                    "first; read_result(handle=N, start=LINE) reads on; {rest}]",
                    "[含有这些词的消息共 {total} 条,显示第 {start} 到 {stop} 条,最相关的在前;"
                    "可用 read_result(handle=N, start=LINE) 继续读取;{rest}]"),
    "recall_next": ("next: start={next}", "下一段: start={next}"),
    "recall_hit": ("#{index} {what}, line {line} of {lines}: {text}",
                   "#{index} {what},第 {line} 行,共 {lines} 行: {text}"),
    # compression/inputs.py
    "tool_describe_tool": (
        "Give the whole declaration of a tool that is described here only in short, or not at all.",
        "给出某个工具的完整声明(此处只有简短说明或未列出的工具)"),
    "arg_tool_name": ("The name of the tool", "工具名"),
    "tools_left_out": ("There are more tools: {names}.", "另有这些工具: {names}。"),
}
