"""Which engine answers at an address: by the name that its list of models carries."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from autoparser.analysis.constraining.decode import ServerEngine
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import one_line

from .engine_server import EngineServer
from .llama_server import LlamaProbe
from .probe_client import SHOWN, ProbeClient, ProbeError
from .sglang_server import SglangProbe
from .vllm_server import VllmProbe

__all__ = ["server_at"]

MODELS = "/v1/models"
ITSELF = f"give the address of the engine itself, not of a proxy: {', '.join(ServerEngine)}"


def server_at(client: ProbeClient, model: str = "") -> EngineServer:
    """Ask which engine it is; `model` chooses one of several. Raises ProbeError."""
    reply = client.get(MODELS)
    if reply.status == HTTPStatus.FORBIDDEN:
        raise client.locked(reply.status)
    listed = reply.object.get("data")
    models = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    if not reply.ok or not models:
        said = one_line(reply.text, SHOWN)
        raise ProbeError(
            f"{MODELS} answers with no list of models ({reply.status}): {said}",
            file=client.url,
            hint=ITSELF,
        )
    chosen = _chosen(client, models, model)
    name, owner, root = (_text(chosen.get(key)) for key in ("id", "owned_by", "root"))
    match owner:
        case "vllm":
            return VllmProbe.found(client, name, root or None)
        case "sglang":
            return SglangProbe.found(client, name)
        case "llamacpp":
            return LlamaProbe.found(client, name)
        case _:
            raise ProbeError(
                f"is none of the engines that a probe knows: its models are owned by {owner!r}",
                file=client.url,
                hint=ITSELF,
            )


def _chosen(client: ProbeClient, models: list[dict[str, Json]], model: str) -> Mapping[str, Json]:
    if not model:
        return models[0]
    found = next((each for each in models if each.get("id") == model), None)
    if found is None:
        names = ", ".join(_text(each.get("id")) for each in models)
        raise ProbeError(f"serves no model {model!r}", file=client.url, hint=f"it serves {names}")
    return found


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
