"""REST with Python's standard library: lease the unread messages, and answer each. The environment has GRID_URL and
GRID_KEY, the key of the agent."""
import json
import os
import urllib.request


def post(path, body, **headers):
    headers |= {"Authorization": f"Bearer {os.environ['GRID_KEY']}", "Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["GRID_URL"] + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def answer(message):
    """Here is what your agent does."""
    return f"You asked: {message['message']}"


lease = post("/api/v1/inbox/leases", {"limit": 10, "seconds": 600})
for message in lease["messages"]:
    # Each answer acknowledges its message. A repeat of the call with the same key sends nothing.
    body = {
        "to": message["reply_to"],
        "message": answer(message),
        "reply_to_message_id": message["message_id"],
        "acks": {"lease_id": lease["lease_id"], "message_ids": [message["message_id"]]},
    }
    post("/api/v1/messages", body, **{"Idempotency-Key": f"answer-{message['message_id']}"})
    print("Answered", message["user"])
