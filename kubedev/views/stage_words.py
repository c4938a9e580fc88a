"""What the stage says, by the names that its script uses."""

from kubedev.views.catalogue import register

__all__ = ["STAGE_WORDS"]

_WORDS = {
    "name": "Stage: arrow keys step, space plays",
    "start": "To the start",
    "back": "Step back",
    "play": "Play",
    "pause": "Pause",
    "forward": "Step forward",
    "end": "To the end",
    "replay": "Replay",
    "history": "History",
    "speed": "Speed",
    "table": "as a table",
    "code": "as code",
    "keys": "← → one message · space plays · Home, End",
    "of": "{at} of {last}",
    "live": "live",
    "live.about": "real processes, real gRPC",
    "memory": "in memory",
    "memory.about": "no real process",
    "fork": "fork, in memory",
    "fork.about": "no real process, left the run at {at}",
    "closed": "closed",
    "closed.about": "its history stays; run its cell again to go on",
    "plain": "",
    "plain.about": "",
    "looking": "looking back",
    "looking.about": "acting here begins a fork",
    "playing": "playing",
    "waiting": "waits until it is seen",
    "to-live": "to live",
    "to-end": "to the end",
    "go-live": "go live from here",
    "back-to-live": "back to the live run",
    "recording": "This is a recording: run its cell to go on with it.",
    "still": "What came later was not saved here: open the notebook and run its cell to see it.",
    "dropped": "Older frames were not saved.",
    "close": "Close",
    "note": "Note",
    "refused": "Refused, nothing changed",
}

register({"stage.clock": "t = {now} s"})
register({f"stage.{name}": text for name, text in _WORDS.items()})

STAGE_WORDS = {name: f"stage.{name}" for name in _WORDS}
"""The script's names of the stage's words -> their keys in the catalogue."""
