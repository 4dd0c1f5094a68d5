"""The chat template inside a GGUF file: conversations as the text that the model knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.clients.chat import as_sent
from helmsite.errors import ClientError
from helmsite.schema import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.clients.llamacpp_server import Server

FALLBACK_MARK = "<|im_start|>"


class ChatTemplate:
    """Renders messages with the model's own template."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._template = str(server.props.get("chat_template") or "")

    @property
    def is_own(self) -> bool:
        """Whether the model has a template.

        llama.cpp gives ChatML to models without one, which only a model that knows its
        marks as tokens can read.
        """
        if FALLBACK_MARK not in self._template:
            return bool(self._template)
        return len(self._server.tokenize(FALLBACK_MARK, parse_special=True)) == 1

    def render(self, messages: Sequence[Message]) -> str:
        """Return the text of a conversation, up to where the model's answer begins.

        Raises:
            ClientError: the model has no template, or its template refuses the messages.
        """
        if not self.is_own:
            raise ClientError(
                "The model has no chat template, so it cannot answer a conversation.",
                "Run chat scenarios with an instruction-tuned model, or remove the "
                "setting 'chat' of this one.",
            )
        body = {"messages": as_sent(messages)}
        return str(self._server.call("POST", "/apply-template", body)["prompt"])

    def of_prompt(self, prompt: str) -> str:
        """Return the text of a conversation of one message, the user's."""
        return self.render([Message("user", prompt)])
