"""News that comes late: what a thread or a process told before its plugin, container or pod was replaced."""

from dataclasses import replace

from kubedev.api.manifests import load
from kubedev.cluster import events as e
from kubedev.deviceplugin.plugin import make_devices
from kubedev.kubelet.config import KubeletConfig
from tests.property.cluster_run import Run, a_run

GPU = "example.com/gpu"
POD = f"""
apiVersion: v1
kind: Pod
metadata: {{name: web}}
spec:
  initContainers: [{{name: side, image: i, restartPolicy: Always}}]
  containers: [{{name: main, image: i, resources: {{limits: {{{GPU}: 1}}}}}}]
"""
WEB = load(POD).pods[0]


def running() -> Run:
    run = a_run(1, KubeletConfig())
    run.post(e.PluginLaunched("n1", GPU, make_devices(2)))
    run.settle()
    run.post(e.PodCreated(WEB))
    run.settle()
    assert run.state.store.pods[WEB.uid].phase == "Running"
    return run


def test_the_end_of_a_plugin_that_has_been_replaced() -> None:
    run = running()
    run.post(e.PluginLaunched("n1", GPU, make_devices(3)))
    run.settle()
    before = run.state
    run.post(e.PluginExited("n1", GPU, launch=0))
    run.post(e.PluginServing("n1", GPU, "old.sock", launch=0))
    run.settle()
    assert run.state == before
    assert (before.plugins["n1", GPU].phase, before.plugins["n1", GPU].launch) == ("registered", 1)


def test_a_plugin_that_tells_of_its_server_after_it_has_registered() -> None:
    run = running()
    run.post(e.PluginServing("n1", GPU, "gpu.sock", 7))
    run.settle()
    plugin = run.state.plugins["n1", GPU]
    assert (plugin.phase, plugin.pid, run.state.idle) == ("registered", 7, True)


def test_a_kill_that_cuts_into_a_registration() -> None:
    run = a_run(1, KubeletConfig())
    run.post(e.PluginLaunched("n1", GPU, make_devices(2)))
    while "n1" not in run.state.kubelets or not run.state.kubelets["n1"].talks:
        run.step()
    run.post(e.PluginKilled("n1", GPU))
    run.settle()
    assert (run.state.plugins["n1", GPU].phase, run.state.idle) == ("dead", True)


def test_the_end_of_a_container_of_before_a_reboot() -> None:
    run = running()
    plain = replace(load(POD.replace("web", "plain").replace(f"{GPU}: 1", "cpu: 1")).pods[0])
    run.post(e.PodCreated(plain))
    run.settle()
    run.post(e.KubeletStopped("n1", reboot=True))
    run.settle()
    before = run.state
    assert before.containers[plain.uid, "main"].attempt == 1
    run.post(e.ContainerEnded(plain.uid, "main", 0, attempt=0))
    run.post(e.ContainerPrinted(plain.uid, "main", "a last word", attempt=0))
    run.settle()
    assert run.state == before


def test_a_reboot_ends_processes() -> None:
    run = running()
    assert run.running() == {(WEB.uid, "main"), (WEB.uid, "side")}
    run.post(e.KubeletStopped("n1", reboot=True))
    run.settle()
    assert run.running() == set(), "the pod is refused, since its plugin is not there"


def test_a_fork_ends_what_was_asked_to_end() -> None:
    run = running()
    run.post(e.PodDeletionAsked(WEB.uid))
    for _ in range(3):  # until the containers have been asked to end
        run.step()
    index = len(run.history) - 1
    run.settle()
    for step in range(index, len(run.history)):
        branch = run.fork(step)
        branch.settle()
        assert branch.state.idle, step
        assert not branch.state.store.pods
        assert branch.running() == set()


def test_a_variable_that_no_process_can_have_holds_nothing_up() -> None:
    run = running()
    container = run.state.containers[WEB.uid, "main"]
    odd = (*container.envs, ("", "x"), ("LC_CTYPE", "C"), ("A=B", "x"), ("N", "a\0b"))
    changed = replace(container, envs=odd)
    state = replace(run.state, containers={**run.state.containers, (WEB.uid, "main"): changed})
    assert state.idle
