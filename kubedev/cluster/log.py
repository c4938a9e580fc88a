"""Which message an event is: from whom, to whom, and what it says. The log and the picture are made of these."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kubedev.api.defaults import default_pod
from kubedev.api.messages import (
    HEALTHY,
    AllocateRequest,
    AllocateResponse,
    Answer,
    Call,
    Device,
    DevicePluginOptions,
    PreferredAllocationRequest,
    PreferredAllocationResponse,
    PreStartContainerRequest,
    RpcError,
)
from kubedev.api.names import is_extended_resource_name
from kubedev.api.objects import Pod
from kubedev.api.quantity import Format, Quantity
from kubedev.api.requests import pod_requests
from kubedev.api.selectors import Taint
from kubedev.cluster import events as e
from kubedev.cluster.controllers import effects as c
from kubedev.deviceplugin.driver import driver_name
from kubedev.kubelet import events as k
from kubedev.kubelet.devices.registration import resource_of
from kubedev.scheduler import events as s

if TYPE_CHECKING:
    from kubedev.cluster.state import ClusterState, Message, PluginState

__all__ = ["describe", "plugin_party"]

TO_API_SERVER = (k.NodeStatus, k.PodStatus, k.PodTerminated)

YOU, STORE, SCHEDULER = "you", "store", "scheduler"
Line = tuple[str, str, str, str, dict[str, Any]]  # kind, source, target, key of the text, its values


def plugin_party(node: str, resource: str) -> str:
    """A plugin's name as a party of a message."""
    return f"plugin/{node}/{resource}"


def describe(before: "ClusterState", event: e.Event, after: "ClusterState") -> Iterator["Message"]:
    """The messages of one event: usually one, none for what only keeps the books."""
    from kubedev.cluster.state import Message

    number = len(before.messages)
    for kind, source, target, key, values in _lines(before, event, after):
        number += 1
        pairs = tuple((name, str(value)) for name, value in values.items())
        node = getattr(event, "node", "")
        yield Message(
            number, after.now, kind, source, target, key, pairs, node if isinstance(node, str) else ""
        )


def _lines(before: "ClusterState", event: e.Event, after: "ClusterState") -> Iterator[Line]:
    match event:
        case e.NodeCreated(node):
            yield "api", YOU, STORE, "node-created", {"node": node.name}
        case e.ObjectApplied(obj):
            yield "api", YOU, STORE, "object-applied", {"kind": type(obj).__name__, "name": obj.name}
        case e.SchedulerConfigured(profiles):
            names = ", ".join(profile.scheduler_name for profile in profiles)
            yield "local", YOU, SCHEDULER, "scheduler-configured", {"profiles": names}
        case e.PodCreated(pod):
            yield "api", YOU, STORE, "pod-created", {"pod": pod.name, "asks": _asks(pod)}
        case e.PodDeletionAsked(uid, grace):
            key = "pod-deleted-at-once" if grace == 0 else "pod-deleted"
            yield "api", YOU, STORE, key, {"pod": before.store.pods[uid].name}
        case e.PodUngated(uid, gate):
            yield "api", YOU, STORE, "pod-ungated", {"pod": before.store.pods[uid].name, "gate": gate}
        case e.NodePatched(node):
            yield from _patched(event)
        case e.NodeDeleted(node):
            yield "api", YOU, STORE, "node-deleted", {"node": node}
        case e.KubeletSilenced(node, silent):
            key = "kubelet-silent" if silent else "kubelet-heard"
            yield "local", YOU, f"kubelet/{node}", key, {"node": node}
        case e.ControllerWants(_, effect):
            yield from _from_controller(before, effect)
        case e.PluginLaunched(node, resource, devices):
            values = {"resource": resource, "count": len(devices)}
            yield "local", YOU, plugin_party(node, resource), "plugin-launched", values
        case e.DriverLaunched(node, resource, devices):
            values = {"driver": driver_name(resource), "count": len(devices), "node": node}
            yield "api", plugin_party(node, resource), STORE, "driver-launched", values
        case e.PluginServing(node, resource, socket):
            party = plugin_party(node, resource)
            yield "local", party, party, "plugin-serving", {"socket": socket}
        case e.PluginKilled(node, resource):
            yield "local", YOU, plugin_party(node, resource), "plugin-killed", {"resource": resource}
        case e.HealthSet(node, resource, device, health):
            values = {"device": device, "health": health}
            yield "local", YOU, plugin_party(node, resource), "health-set", values
        case e.DeviceListed(node, resource, device, listed):
            key = "device-listed" if listed else "device-left-out"
            yield "local", YOU, plugin_party(node, resource), key, {"device": device}
        case e.KubeletStopped(node, reboot):
            key = "node-rebooted" if reboot else "kubelet-restarted"
            yield "local", YOU, f"kubelet/{node}", key, {"node": node}
        case e.ContainerStarted(uid, name, pid):
            key = "container-started" if pid else "container-runs"
            yield from _of_container(uid, name, key, {"pid": pid} if pid else {})
        case e.ContainerEnded(uid, name, code):
            yield from _of_container(uid, name, "container-ended", {"code": code})
        case e.ContainerKilled(uid, name):
            yield "local", YOU, f"container/{uid}/{name}", "container-killed", {"container": name}
        case e.UsageSet(uid, name, usage):
            values = {"container": name, "memory": _bytes(usage.memory), "disk": _bytes(usage.disk)}
            yield "local", YOU, f"container/{uid}/{name}", "usage-set", values
        case e.MachineUsageSet(node, machine):
            disk = machine.disk + machine.images + machine.dead_containers
            values = {"memory": _bytes(machine.memory), "disk": _bytes(disk)}
            yield "local", YOU, f"kubelet/{node}", "machine-usage-set", values
        case e.ClockAdvanced(seconds, asked):
            if asked != 0:
                yield "local", YOU, YOU, "clock-advanced", {"seconds": f"{asked or seconds:g}"}
        case e.WentLive():
            yield "local", YOU, YOU, "went-live", {}
        case e.OnKubelet(node, what):
            yield from _on_kubelet(before, node, what)
        case e.FromKubelet(node, effect) if node not in before.silent or not isinstance(
            effect, TO_API_SERVER
        ):
            yield from _from_kubelet(before, node, effect)
        case e.Watched("scheduler", change):
            new = change.object
            if isinstance(new, Pod) and change.type == "ADDED" and not new.node_name:
                yield "api", STORE, SCHEDULER, "pod-pending", {"pod": new.name}
        case e.Watched("volume-controllers", _):
            old = before.store.storage.claims
            for key, claim in after.store.storage.claims.items():
                if claim.phase == "Bound" and (key not in old or old[key].phase != "Bound"):
                    values = {"claim": claim.name, "volume": claim.volume_name}
                    yield "local", STORE, STORE, "claim-bound", values
        case e.Watched("resource-claim-controller", _):
            yield from _of_claims(before, after)
        case e.Watched(node, change) if node in before.kubelets and node not in before.silent:
            new = change.object
            if isinstance(new, Pod):
                going = new.deletion_timestamp is not None or change.type == "DELETED"
                key = "pod-to-go" if going else "pod-bound-here"
                yield "api", STORE, f"kubelet/{node}", key, {"pod": new.name}
        case e.SchedulerTurn():
            yield from _decided(after)
        case e.SchedulerWants(effect):
            yield from _from_scheduler(before, effect)


def _of_claims(before: "ClusterState", after: "ClusterState") -> Iterator[Line]:
    """What the controller of claims did: made one, gave one's devices back, or removed one."""
    old, new = before.store.resource_claims, after.store.resource_claims
    for key in dict.fromkeys((*old, *new)):
        was, now = old.get(key), new.get(key)
        claim = now or was
        assert claim is not None
        if was is None:
            yield "local", STORE, STORE, "device-claim-made", {"claim": claim.name}
        elif now is None:
            yield "local", STORE, STORE, "device-claim-gone", {"claim": claim.name}
        elif was.allocation is not None and now.allocation is None:
            yield "local", STORE, STORE, "device-claim-free", {"claim": claim.name}


def _of_container(uid: str, name: str, key: str, values: dict[str, Any]) -> Iterator[Line]:
    party = f"container/{uid}/{name}"
    yield "local", party, party, key, {"container": name, **values}


def _bytes(number: int) -> Quantity:
    return Quantity(number, format=Format.BINARY_SI)


def _asks(pod: Pod) -> str:
    """The extended resources that a pod requests as a whole, in short: `nvidia.com/gpu: 2`."""
    asked = {name: quantity.value() for name, quantity in pod_requests(default_pod(pod)).items()}
    extended = (name for name in sorted(asked) if is_extended_resource_name(name))
    return ", ".join(f"{name}: {asked[name]}" for name in extended)


def _party(state: "ClusterState", node: str, resource: str, socket: str) -> str:
    """The plugin of a resource that serves on a socket, as a party."""
    there = [p for p in state.plugins.values() if (p.node, p.resource) == (node, resource) and p.socket]
    name = next((p.name for p in there if f"/{socket}".endswith(f"/{p.socket}")), resource)
    return plugin_party(node, name)


def _party_of(state: "ClusterState", node: str, client: int) -> str:
    endpoint = state.kubelets[node].devices.connections[client]
    return _party(state, node, endpoint.resource, endpoint.socket)


def _registers(plugin: "PluginState", node: str, register_id: int) -> bool:
    return (plugin.node, plugin.register_id) == (node, register_id)


def _on_kubelet(before: "ClusterState", node: str, event: k.KubeletEvent) -> Iterator[Line]:
    agent, kubelet = before.kubelets[node], f"kubelet/{node}"
    match event:
        case k.PluginRegistering(_, request):
            party = _party(before, node, request.resource_name, request.endpoint)
            values = {"resource": request.resource_name, "version": request.version}
            yield "rpc", party, kubelet, "register", values
        case k.Answered(call_id, answer) if call_id in agent.talks:
            call = agent.talks[call_id].call
            key, values = _answer(call, answer)
            yield "rpc", _party(before, node, call.resource, call.socket), kubelet, key, values
        case k.ListReceived(client, devices):
            resource = resource_of(agent.devices, client)
            if resource:
                key, values = _list(agent.devices.all_devices.get(resource, {}), devices)
                yield "stream", _party_of(before, node, client), kubelet, key, values
        case k.StreamEnded(client, error):
            resource = resource_of(agent.devices, client)
            if resource:
                yield "stream", _party_of(before, node, client), kubelet, "stream-ended", {"error": error}


def _answer(call: Call, answer: Answer) -> tuple[str, dict[str, Any]]:
    match answer:
        case RpcError():
            return "answer-error", {"method": call.method, "error": str(answer)}
        case DevicePluginOptions(pre_start, preferred):
            wishes = [w for w, on in (("preferred allocation", preferred), ("pre-start", pre_start)) if on]
            return "answer-options", {"options": ", ".join(wishes) or "none"}
        case PreferredAllocationResponse(containers):
            return "answer-preferred", {"devices": ", ".join(",".join(ids) for ids in containers)}
        case AllocateResponse(containers):
            envs = [name for c in containers for name, _ in c.envs]
            counts = [sum(len(c.mounts) for c in containers), sum(len(c.devices) for c in containers)]
            return "answer-allocate", {"envs": ", ".join(envs), "mounts": counts[0], "nodes": counts[1]}
    return "answer-ok", {"method": call.method}


def _list(known: Mapping[str, Device], devices: tuple[Device, ...]) -> tuple[str, dict[str, Any]]:
    twice = sorted(id for id, times in Counter(d.id for d in devices).items() if times > 1)
    if twice:
        return "list-twice", {"count": len(devices), "ids": ", ".join(twice)}
    changed = [d for d in devices if d.id in known and known[d.id].health != d.health]
    if changed and len(known) == len(devices) and len(changed) <= 3:
        words = ", ".join(f"{d.id} {d.health}" for d in changed)
        unhealthy = sum(d.health != HEALTHY for d in devices)
        return "list-changed", {"count": len(devices), "unhealthy": unhealthy, "devices": words}
    return "list", {"count": len(devices)}


def _from_kubelet(before: "ClusterState", node: str, effect: k.Effect) -> Iterator[Line]:
    kubelet = f"kubelet/{node}"
    match effect:
        case k.Ask(_, call):
            key, values = _request(call)
            yield "rpc", kubelet, _party(before, node, call.resource, call.socket), key, values
        case k.Reply(number, resource, error):
            name = next((p.name for p in before.plugins.values() if _registers(p, node, number)), resource)
            key = "registered" if error is None else "refused"
            yield (
                "rpc",
                kubelet,
                plugin_party(node, name),
                key,
                {"resource": resource, "error": error or ""},
            )
        case k.OpenStream(_, resource, socket):
            yield "stream", kubelet, _party(before, node, resource, socket), "list-and-watch", {}
        case k.NodeStatus() if node in before.store.nodes:
            old = before.store.nodes[node]
            for name in sorted({*effect.capacity, *effect.allocatable}):
                counts = effect.capacity.get(name), effect.allocatable.get(name)
                if counts != (old.capacity.get(name), old.allocatable.get(name)):
                    values = {"resource": name, "capacity": counts[0], "allocatable": counts[1]}
                    yield "api", kubelet, STORE, "node-status", values
        case k.NodeConditions(conditions):
            known = {c.type: c.status for c in before.store.nodes[node].conditions}
            for c in conditions:
                if c.status != known.get(c.type, "False"):
                    yield "api", kubelet, STORE, "node-condition", {"condition": c.type, "status": c.status}
        case k.Reclaimed(collectors):
            yield "local", kubelet, kubelet, "reclaimed", {"what": ", ".join(collectors)}
        case k.PodStatus(uid, phase, reason, message):
            pod = before.store.pods.get(uid)
            values = {"pod": pod.name if pod else uid, "phase": phase, "reason": reason, "message": message}
            if pod is None or not _conditions_alone(pod, effect):
                yield "api", kubelet, STORE, "pod-status-why" if reason else "pod-status", values
        case k.PodTerminated(uid):
            pod = before.store.pods.get(uid)
            yield "api", kubelet, STORE, "pod-gone", {"pod": pod.name if pod else uid}
        case k.StartContainer(uid, name):
            envs = ", ".join(f"{n}={v}" for n, v in effect.envs)
            yield (
                "local",
                kubelet,
                f"container/{uid}/{name}",
                "container-start",
                {"container": name, "envs": envs},
            )
        case k.StopContainer(uid, name):
            yield "local", kubelet, f"container/{uid}/{name}", "container-stop", {"container": name}


def _conditions_alone(pod: Pod, status: k.PodStatus) -> bool:
    """Whether a pod's status says nothing new but conditions."""
    there = {c.type: replace(c, last_transition_time=None) for c in pod.conditions}
    same = (pod.phase or "Pending", pod.reason, pod.message) == (status.phase, status.reason, status.message)
    return same and any(there.get(condition.type) != condition for condition in status.conditions)


def _request(call: Call) -> tuple[str, dict[str, Any]]:
    match call.request:
        case AllocateRequest(containers):
            return "ask-allocate", {"devices": ", ".join(",".join(ids) for ids in containers)}
        case PreferredAllocationRequest(containers):
            first = containers[0]
            return "ask-preferred", {"size": first.allocation_size, "of": len(first.available_device_ids)}
        case PreStartContainerRequest(ids):
            return "ask-pre-start", {"devices": ",".join(ids)}
    return ("dial", {}) if call.method == "Dial" else ("ask", {"method": call.method})


def _patched(event: e.NodePatched) -> Iterator[Line]:
    node = event.node
    if event.unschedulable is not None:
        yield "api", YOU, STORE, "node-cordoned" if event.unschedulable else "node-uncordoned", {"node": node}
    for key, taints in (("node-tainted", event.add), ("node-untainted", event.remove)):
        if taints:
            yield "api", YOU, STORE, key, {"node": node, "taints": _taints(taints)}


def _taints(taints: Iterable[Taint]) -> str:
    """Taints as kubectl writes them."""
    return ", ".join(f"{t.key}{f'={t.value}' if t.value else ''}:{t.effect}" for t in taints)


def _from_controller(before: "ClusterState", effect: object) -> Iterator[Line]:
    def name(uid: str) -> str:
        pod = before.store.pods.get(uid)
        return pod.name if pod else uid

    match effect:
        case c.SwapTaints(node, add, remove):
            for key, taints in (("controller-tainted", add), ("controller-untainted", remove)):
                if taints:
                    yield "api", STORE, STORE, key, {"node": node, "taints": _taints(taints)}
        case c.MarkNode(node):
            yield "api", STORE, STORE, "node-unknown", {"node": node}
        case c.EvictPod(uid, reason, message):
            values = {"pod": name(uid), "reason": reason, "message": message}
            yield "api", STORE, STORE, "pod-evicted", values
        case c.CreatePod(pod):
            yield "api", STORE, STORE, "daemon-pod-created", {"pod": pod.name}
        case c.DeletePod(uid):
            yield "api", STORE, STORE, "daemon-pod-deleted", {"pod": name(uid)}


def _decided(after: "ClusterState") -> Iterator[Line]:
    decision = after.decision
    if decision is None:
        return
    pod = decision.pod.name
    if decision.node_name:
        fits = len(decision.found.feasible) if decision.found else 0
        values = {"pod": pod, "fits": fits, "nodes": decision.num_all_nodes, "node": decision.node_name}
        yield "local", SCHEDULER, SCHEDULER, "scheduled", values
    else:
        yield "local", SCHEDULER, SCHEDULER, "unschedulable", {"pod": pod, "message": decision.message}


def _from_scheduler(before: "ClusterState", effect: Any) -> Iterator[Line]:
    match effect:
        case s.Bind(pod, node):
            yield "api", SCHEDULER, STORE, "bind", {"pod": pod.name, "node": node}
        case s.BindVolumes(pod, volumes, claims):
            kept = ", ".join([one.name for one in volumes] + [one.name for one in claims])
            yield "api", SCHEDULER, STORE, "bind-volumes", {"pod": pod.name, "names": kept}
        case s.BindClaims(pod, reservations):
            values = {"pod": pod.name, "names": ", ".join(one.claim.name for one in reservations)}
            yield "api", SCHEDULER, STORE, "bind-claims", values
        case s.UnreserveClaims(pod):
            yield "api", SCHEDULER, STORE, "unreserve-claims", {"pod": pod.name}
        case s.DeallocateClaim(claim):
            yield "api", SCHEDULER, STORE, "deallocate-claim", {"claim": claim.name}
        case s.PatchPodStatus(pod, reason):
            yield "api", SCHEDULER, STORE, "pod-condition", {"pod": pod.name, "reason": reason}
        case s.DeleteVictim(pod):
            yield "api", SCHEDULER, STORE, "victim", {"pod": pod.name}
