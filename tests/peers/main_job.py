#!/usr/bin/env python3
"""The main job by a client built from server reflection alone: `pip install grpcio grpcio-reflection`, then `main_job.py --help`."""

import argparse
import pathlib
import time
import tomllib
import uuid

import grpc
from google.protobuf import descriptor_pool, json_format, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

CHUNK_BYTES = 256 * 1024
JUDGED_WITHIN_SECONDS = 600

# What the user says, turn by turn; the sample script has an answer to each.
MESSAGES = (
    "I climb to the lamp, two stairs at a time. Is the old bell still in the harbour?",
    "Show me where it went down. The bell, I mean.",
    "And in fog, what will they ring when there is a bell no more?",
)


class Bearer(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Shows the token with every call; reflection lists only what its owner may see."""

    def __init__(self, token):
        self.metadata = [("authorization", f"Bearer {token}")]

    def _call(self, continuation, details, request):
        return continuation(details._replace(metadata=self.metadata), request)

    intercept_unary_unary = intercept_unary_stream = _call
    intercept_stream_unary = intercept_stream_stream = _call


class Client:
    """The methods of one server or of several, by name; messages are dicts in the JSON form of their proto."""

    def __init__(self, targets, token=None):
        self.methods = {}
        for target in targets:
            channel = grpc.insecure_channel(target)
            if token:
                channel = grpc.intercept_channel(channel, Bearer(token))
            database = ProtoReflectionDescriptorDatabase(channel)
            pool = descriptor_pool.DescriptorPool(database)
            for name in database.get_services():
                if name.startswith("skald."):
                    for method in pool.FindServiceByName(name).methods:
                        key = f"{method.containing_service.name}/{method.name}"
                        self.methods.setdefault(key, (channel, method))

    def call(self, name, request):
        """A unary call."""
        return as_dict(self._open(name)(as_message(self._input(name), request)))

    def stream(self, name, request):
        """A call that is answered by a stream."""
        for response in self._open(name)(as_message(self._input(name), request)):
            yield as_dict(response)

    def upload(self, name, path):
        """An import: a header, then the file in chunks."""
        part = message_factory.GetMessageClass(self._input(name))
        data = path.read_bytes()
        header = part(header={"request_id": str(uuid.uuid4()), "file_name": path.name})
        chunks = (part(chunk=data[at : at + CHUNK_BYTES]) for at in range(0, len(data), CHUNK_BYTES))
        return as_dict(self._open(name)(iter([header, *chunks])))

    def _input(self, name):
        return self.methods[name][1].input_type

    def _open(self, name):
        channel, method = self.methods[name]
        kinds = (method.client_streaming, method.server_streaming)
        multicallable = {
            (False, False): channel.unary_unary,
            (False, True): channel.unary_stream,
            (True, False): channel.stream_unary,
        }[kinds]
        return multicallable(
            f"/{method.containing_service.full_name}/{method.name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
        )


def as_message(descriptor, fields):
    return json_format.ParseDict(fields, message_factory.GetMessageClass(descriptor)())


def as_dict(message):
    return json_format.MessageToDict(message, always_print_fields_with_no_presence=True)


def import_all(client, samples):
    """Step 1: a card, a world and a preset are imported, a user is created, the world is opted in."""
    preset = client.upload("PresetService/ImportPreset", samples / "preset.json")["preset"]
    character = client.upload("CharacterService/ImportCharacter", samples / "card.png")["character"]
    character = client.call("CharacterService/GetCharacter", {"characterId": character["characterId"]})["character"]
    world = client.upload("WorldService/ImportWorld", samples / "world.json")["world"]
    user = tomllib.loads((samples / "user.toml").read_text())
    user = client.call("UserService/CreateUser", {"requestId": str(uuid.uuid4()), **user})["user"]
    client.call(
        "WorldService/UpdateWorld",
        {"world": {"worldId": world["worldId"], "dynamicEnabled": True}, "updateMask": "dynamicEnabled"},
    )
    selection = {
        "presetId": preset["presetId"],
        "characterId": character["characterId"],
        "userId": user["userId"],
        "worldIds": [world["worldId"]],
    }
    print("1. imported", *(f"{kind}={thing['name']!r}" for kind, thing in
          {"preset": preset, "character": character, "world": world, "user": user}.items()))
    return selection, as_said(character["greetings"][0], character, user), world["worldId"]


def as_said(greeting, character, user):
    """A card's greeting is a template; what goes into history is what was said."""
    return greeting.replace("{{char}}", character["name"]).replace("{{user}}", user["name"])


def open_session(client, selection, greeting, model):
    """Step 2: a session with an authored opening; without the grant for that, a plain session."""
    request = {
        "requestId": str(uuid.uuid4()),
        "title": "An evening at the lighthouse",
        "settings": {"model": model},
        "selection": selection,
    }
    if "AuthoredHistoryService/CreateSessionWithOpening" in client.methods:
        opening = {"author": "AUTHOR_ASSISTANT", "content": greeting, "origin": "the card's first message"}
        opened = client.call(
            "AuthoredHistoryService/CreateSessionWithOpening", {**request, "opening": opening}
        )
        turn = opened["opening"]
        assert (turn["seq"], turn["phase"]) == ("0", "PHASE_SEEDED"), turn
        assert "{{" not in turn["content"], turn
        print("2. opened with", turn["phase"], "written by", turn["provenance"]["writeActor"])
    else:
        opened = client.call("SessionService/CreateSession", request)
        print("2. opened plainly: authored history is not here")
    return opened["session"]["sessionId"]


def submit(client, session, content, request_id):
    """Step 3: one turn; answers its frames by name, deltas and proposals as lists."""
    told = {"delta": [], "worldChangeProposed": [], "order": []}
    request = {"sessionId": session, "requestId": request_id, "content": content}
    for response in client.stream("TurnService/SubmitTurn", request):
        ((name, frame),) = response["frame"].items()
        if name in ("failed", "aborted"):
            raise SystemExit(f"the turn ended: {frame['reason']}: {frame['message']}")
        told["order"].append(name)
        told[name] = told[name] + [frame] if name in ("delta", "worldChangeProposed") else frame
    text = "".join(delta["text"] for delta in told["delta"])
    assert text == told["turnCompleted"]["turn"]["content"], "the deltas are the reply"
    assert told["order"][-1] == "done", told["order"]
    prefix = told["requestSent"]["sharedPrefix"]
    print(f"   request @{told['requestSent']['offset']}: {prefix['bytes']} of {prefix['totalBytes']} bytes as before")
    print(f"   reply: {text}")
    return told


def read_request(client, session, told):
    """Step 6: a request as it was sent; its record, and its blocks with their texts put together."""
    record, blocks = None, []
    request = {"sessionId": session, "offset": told["requestSent"]["offset"]}
    for part in client.stream("ContextService/GetRequest", request):
        record = part.get("record", record)
        if "block" in part:
            block = part["block"]
            if block["index"] == len(blocks):
                blocks.append({"role": block["role"], "text": "", "origins": []})
            blocks[-1]["text"] += block["text"]
            blocks[-1]["origins"] += block["origins"]
    assert record["replay"] == "REPLAY_STATE_EXACT", record["replay"]
    return record, blocks


def judged(client, session, told):
    """The turn's evaluation; a slow model is still at it when the turn is done."""
    turn = {"sessionId": session, "turnSeq": told["turnStarted"]["replySeq"]}
    deadline = time.monotonic() + JUDGED_WITHIN_SECONDS
    while True:
        try:
            return client.call("EvaluationService/GetEvaluation", turn)["evaluation"]
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.NOT_FOUND or time.monotonic() > deadline:
                raise
            time.sleep(2)


def review(client, session, told):
    """Steps 4 and 5: the proposal is read beside what it would replace, edited and applied."""
    if not told["worldChangeProposed"]:
        evaluation = judged(client, session, told)
        print("4. no proposal:", evaluation["outcome"], evaluation["reason"])
        return None
    changeset_id = told["worldChangeProposed"][0]["changesetId"]
    listed = client.call("ChangesetService/ListChangesets", {"sessionId": session})["changesets"]
    assert [each["changesetId"] for each in listed] == [changeset_id], listed
    changeset = client.call("ChangesetService/GetChangeset", {"changesetId": changeset_id})["changeset"]
    print("4. proposed:", changeset["summary"])
    for proposed in changeset["operations"]:
        print("   ", proposed["operation"]["kind"], "—", proposed["operation"]["rationale"])
        print("   ", *proposed["diff"].splitlines(), sep="\n      ")
    operations = [proposed["operation"] for proposed in changeset["operations"]]
    operations[-1]["content"] = operations[-1].get("content", "").replace("spring", "the thaw")
    edit = {"changesetId": changeset_id, "operations": operations, "etag": changeset["etag"]}
    changeset = client.call("ChangesetService/UpdateChangeset", edit)["changeset"]
    decide = {"changesetId": changeset_id, "requestId": str(uuid.uuid4()), "etag": changeset["etag"]}
    applied = client.call("ChangesetService/ApplyChangeset", decide)
    again = client.call("ChangesetService/ApplyChangeset", decide)
    assert applied == again, "the same request id has the same answer"
    change = applied["change"]
    print(f"5. applied: revision {change['baseRevision']} → {change['appliedRevision']}")
    return changeset_id


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("samples", type=pathlib.Path, help="folder with card.png, world.json, preset.json, user.toml")
    parser.add_argument("--target", action="append", help="HOST:PORT of a server; one for each service process")
    parser.add_argument("--token", help="bearer token, where the servers ask for one")
    parser.add_argument("--provider", default="scripted", help="a provider of the ledger's providers file")
    parser.add_argument("--model", default="sample")
    args = parser.parse_args()

    client = Client(args.target or ["127.0.0.1:50051"], args.token)
    selection, greeting, world = import_all(client, args.samples)
    session = open_session(client, selection, greeting, {"provider": args.provider, "name": args.model})

    print("3. a turn")
    first = submit(client, session, MESSAGES[0], request_id := str(uuid.uuid4()))
    again = submit(client, session, MESSAGES[0], request_id)
    assert again["turnCompleted"] == first["turnCompleted"], "a retry reattaches"
    changeset_id = review(client, session, first)

    second = submit(client, session, MESSAGES[1], str(uuid.uuid4()))
    _, before = read_request(client, session, first)
    record, blocks = read_request(client, session, second)
    assert blocks[: len(before)] == before, "the first request begins the second"
    if changeset_id:
        assert any("Dynamic World State" in block["text"] for block in blocks[len(before) :])
        client.call("ChangesetService/UndoChangeset", {"changesetId": changeset_id, "requestId": str(uuid.uuid4())})
        effective = client.stream("WorldService/GetWorld", {"worldId": world, "view": "WORLD_VIEW_EFFECTIVE"})
        layers = [part["entry"]["layer"] for part in effective if "entry" in part]
        assert "LAYER_DYNAMIC" not in layers, layers
        print("   undone")
    submit(client, session, MESSAGES[2], str(uuid.uuid4()))

    verified = client.call("EventService/VerifySession", {"sessionId": session})
    assert verified["firstBadOffset"] == "0" and not verified["driftedRequests"], verified
    print(f"6. {record['blockCount']} blocks, hash {record['contentHash']}, {verified['head']} events verified")
    for block in blocks:
        print(f"   [{block['role']}]", ", ".join(sorted({o["kind"] for o in block["origins"]})))


if __name__ == "__main__":
    main()
