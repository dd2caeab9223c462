"""The texts of the two policies that only the lab has. See the package."""

from __future__ import annotations

LAB: dict[str, tuple[str, str]] = {
    "oracle_header": ("[of {count:older message}: what will be used]",
                      "[取自 {count} 条旧消息:之后会用到的内容]"),
    "bag_of_words_header": ("[of {count:older message}: their words]",
                            "[取自 {count} 条旧消息:其中的词]"),
}
