"""The texts of what digest.py, card.py and admission.py put into a window."""

from __future__ import annotations

DIGEST: dict[str, tuple[str, str]] = {
    "digest_header": (
        "[digest of {count:message}, #{first} to #{last}] Lines copied word for word, not all of "
        "them; [#N ...] says which message those under it are from; {way_back}",
        "[{count} 条消息的摘录,#{first} 至 #{last}] 逐字摘抄的行,并非全部;[#N ...] 表示其下各行出自哪条消息;{way_back}"),
    "digest_users": ("What the user said, the newest first:", "用户说过的话,最近的在前:"),
    "digest_earlier": ("What the user said before that:", "用户更早说过的话:"),
    "digest_files": ("Files, the one touched last first:", "文件,最近用到的在前:"),
    "digest_changed": ("changed {where}", "改于 {where}"),
    "digest_read": ("read {where}", "读于 {where}"),
    "digest_said": ("What the assistant said last:", "助手最近说的话:"),
    "digest_errors": ("What failed last:", "最近的失败:"),
    "admitted_gap": ("[... {count:character} left out ...]", "[……略去 {count} 个字符……]"),
    "admitted": (
        "[cut on arrival #{index}: {kept} of {lines:line}, {kept_chars} of {chars:character}"
        "{code}; {way_back}]",
        "[到达时裁剪 #{index}: 保留 {lines} 行中的 {kept} 行、{chars} 字符中的 {kept_chars} 字符{code};{way_back}]"),
}
