"""Claims for devices in a lab: drivers that offer a plugin's devices, and why a claim gets none of them."""

from collections.abc import Iterator, Mapping, Sequence

from kubedev.api.device_names import attribute_name_problems, label_problems
from kubedev.api.resource_slices import Device, DeviceAttribute
from kubedev.api.switches import CLAIMS_GATE
from kubedev.cluster import events as e
from kubedev.deviceplugin.driver import Value, described
from kubedev.lab.actions import action
from kubedev.lab.lookup import find_pod, plugin_key
from kubedev.lab.nodes import Nodes
from kubedev.lab.rows import Rows
from kubedev.scheduler.claims.steps import AllocationError, ConstraintSaysNo, Look, SelectorSaysNo, Step
from kubedev.scheduler.context import Context
from kubedev.scheduler.plugins.dynamic_resources import DynamicResources
from kubedev.views.catalogue import say

__all__ = ["Claims"]


class Claims(Nodes):
    """A run whose nodes may have drivers of claims beside their plugins."""

    @action
    def driver(
        self,
        resource: str = "",
        node: str = "",
        attributes: Mapping[str, Value | Sequence[Value]] | None = None,
        capacity: Mapping[str, str | Sequence[str]] | None = None,
    ) -> None:
        """Start a driver of claims, which offers the devices that the plugin of `resource` on a node lists.

        `attributes` and `capacity` say what is known of them: one value for all devices, or a list with one for each.
        The driver of `example.com/gpu` is `gpu.example.com`; it offers what is healthy, and its slice follows the
        plugin's list. A device plugin's count and the claims know nothing of each other: give pods one or the other.
        Raises ValueError where the feature gate DynamicResourceAllocation is off, no such plugin runs, or a name is
        none that Kubernetes takes.
        """
        where, name = plugin_key(self.state, resource, node)
        if CLAIMS_GATE not in self.state.kubelets[where].config.all_switches:
            raise ValueError(say("claims.gate", gate=CLAIMS_GATE))
        devices = described(self.state.plugins[where, name].devices, attributes or {}, capacity or {})
        for problem in _problems(devices):
            raise ValueError(problem)
        self.do(e.DriverLaunched(where, name, devices))

    def claims_of(self, pod: str) -> Rows:
        """What the allocator says of every device for a pod's claims as things are: node by node, in its order.

        Nothing is allocated by asking. Raises KeyError for a pod that is not there.
        """
        found = find_pod(self.state, pod)
        heads = [say(f"claims.{head}") for head in ("node", "claim", "request", "device", "said")]
        profile = self.state.scheduler.profile_of(found)
        plugin = next((one for one in profile.plugins if isinstance(one, DynamicResources)), None)
        if plugin is None:
            return Rows(heads, [("", "", "", "", say("claims.gate", gate=CLAIMS_GATE))])
        state, status, _ = plugin.pre_filter(found, (), Context())
        if state.allocator is None:
            text = status.message or say("claims.nothing")
            return Rows(heads, [("", "", "", "", text)])
        rows: list[tuple[str, ...]] = []
        for node in self.state.store.nodes.values():
            try:
                allocation = state.allocator.allocate(node)
            except AllocationError as error:
                return Rows(heads, [*rows, (node.name, "", "", "", str(error))])
            rows += [_row(node.name, step) for step in allocation.looks()]
            if not allocation.steps:
                rows.append((node.name, "", "", "", say("claims.no-devices")))
            if allocation.left_out:
                rows.append((node.name, "", "", "", say("claims.left-out", count=allocation.left_out)))
        return Rows(heads, rows)


def _problems(devices: Sequence[Device]) -> Iterator[str]:
    """What Kubernetes would say of the names of devices and attributes."""
    for device in devices:
        yield from map(str, label_problems(device.name, f"devices[{device.name}]"))
        basic = device.basic
        for name in (*basic.attributes, *basic.capacity) if basic is not None else ():
            yield from map(str, attribute_name_problems(name, name))


def _row(node: str, step: Step) -> tuple[str, ...]:
    return node, step.claim, step.request, f"{step.device.pool}/{step.device.device}", _said(step)


def _said(step: Step) -> str:
    """What came of a look at a device, in a sentence."""
    match step.look, step.why:
        case Look.NOT_SELECTED, SelectorSaysNo(name, number, expression) if expression:
            key = "claims.class-says-no" if name else "claims.request-says-no"
            return say(key, name=name, number=number, expression=expression)
        case Look.NOT_SELECTED, _:
            return say("claims.unknown-kind")
        case Look.CONSTRAINED, ConstraintSaysNo(_, attribute, _, None):
            return say("claims.no-attribute", attribute=attribute)
        case Look.CONSTRAINED, ConstraintSaysNo(_, attribute, so_far, found):
            values = {"so_far": _value(so_far), "found": _value(found)}
            return say("claims.not-shared", attribute=attribute, **values)
    return say(f"claims.{step.look.name.lower().replace('_', '-')}")


def _value(attribute: DeviceAttribute | None) -> str:
    """A value as CEL has it."""
    value = attribute.value if attribute is not None else None
    return str(value).lower() if isinstance(value, bool) else str(value)
