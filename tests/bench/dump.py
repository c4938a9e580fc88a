"""A dump of a large cluster, as `kubectl get nodes,pods -A -o json` prints one: `python -m tests.bench.dump FILE`.

Objects have the size that real ones have (5 to 8 kB), most of which nobody needs who only asks about scheduling. A
sixteenth of the nodes have eight GPUs, and all of those are in use; `pending/trainer` asks for two.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

__all__ = ["objects", "write"]

GPU = "nvidia.com/gpu"
WHEN = "2026-03-01T08:00:00Z"


def objects(nodes: int, pods: int) -> Iterator[dict[str, Any]]:
    """The nodes, the pods that run on them, and the pod that does not."""
    for number in range(nodes):
        yield node(number)
    for number in range(pods):
        yield pod(number, f"node-{number % nodes:05d}", gpu=8 if number < nodes and number % 16 == 0 else 0)
    yield pod(pods, "", gpu=2)


def write(path: str, nodes: int, pods: int) -> None:
    """Write them as kubectl does: one List, four spaces a level."""
    with open(path, "w", encoding="utf-8") as file:
        file.write('{\n    "apiVersion": "v1",\n    "items": [\n')
        for number, found in enumerate(objects(nodes, pods)):
            lines = json.dumps(found, indent=4).replace("\n", "\n        ")
            file.write(f"{',' * (number > 0)}\n        {lines}".removeprefix("\n"))
        file.write(
            '\n    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n'
        )


def uid(kind: int, number: int) -> str:
    return f"{kind:08x}-5a1e-4c0d-9f00-{number:012x}"


def node(number: int) -> dict[str, Any]:
    name, gpu = f"node-{number:05d}", number % 16 == 0
    amounts = {"cpu": "64", "memory": "263843596Ki", "ephemeral-storage": "1888110228Ki", "pods": "110",
               "hugepages-1Gi": "0", "hugepages-2Mi": "0", **({GPU: "8"} if gpu else {})}  # fmt: skip
    kinds = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "annotations": {"csi.volume.kubernetes.io/nodeid": f'{{"ebs.csi.example.com":"i-{number:017x}"}}',
                            "node.alpha.kubernetes.io/ttl": "0",
                            "volumes.kubernetes.io/controller-managed-attach-detach": "true"},
            "creationTimestamp": WHEN,
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "g8.metal" if gpu else "c64.metal",
                "topology.kubernetes.io/region": "north",
                "topology.kubernetes.io/zone": f"north-{'abc'[number % 3]}",
            },
            "name": name,
            "resourceVersion": str(1_000_000 + number),
            "uid": uid(1, number),
        },
        "spec": {
            "podCIDR": f"10.{number // 256}.{number % 256}.0/24",
            "providerID": f"example:///north/i-{number:017x}",
            **({"taints": [{"effect": "NoSchedule", "key": GPU, "value": "present"}]} if number % 32 == 0 else {}),
        },
        "status": {
            "addresses": [{"address": f"10.0.{number // 256}.{number % 256}", "type": "InternalIP"},
                          {"address": name, "type": "Hostname"}],
            "allocatable": {**amounts, "cpu": "63500m"},
            "capacity": amounts,
            "conditions": [
                {"lastHeartbeatTime": WHEN, "lastTransitionTime": WHEN, "message": f"kubelet has sufficient {kind}",
                 "reason": f"KubeletHas{kind}", "status": "True" if kind == "Ready" else "False", "type": kind}
                for kind in kinds
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "images": [
                {"names": [f"registry.example.com/team-{image}/service@sha256:{image * 7919:064x}",
                           f"registry.example.com/team-{image}/service:v1.{image}"],
                 "sizeBytes": 100_000_000 + image}
                for image in range(number % 7, 8 + number % 7)
            ],
            "nodeInfo": {"architecture": "amd64", "bootID": uid(2, number), "containerRuntimeVersion": "containerd://2.0",
                         "kernelVersion": "6.1.0", "kubeletVersion": "v1.32.10", "machineID": f"{number:032x}",
                         "operatingSystem": "linux", "osImage": "Debian GNU/Linux 12", "systemUUID": uid(3, number)},
        },
    }  # fmt: skip


def pod(number: int, node_name: str, gpu: int = 0) -> dict[str, Any]:
    app = f"service-{number % 400}"
    name = f"{app}-7c9f8d6b54-{number:05x}" if node_name else "trainer"
    requests = {"cpu": "250m", "memory": "512Mi"}
    if gpu:
        requests = {"cpu": "4", "memory": "32Gi", GPU: str(gpu)}
    image = f"registry.example.com/team-{number % 40}/service:v1.{number % 40}"
    token = f"kube-api-access-{number:05x}"
    mounts = [{"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": token, "readOnly": True},
              {"mountPath": "/etc/config", "name": "config"}]  # fmt: skip
    environment: list[dict[str, Any]] = [
        {"name": f"SETTING_{key}", "value": f"https://{app}.example.internal:8443/api/v{key}"}
        for key in range(3)
    ]
    environment.append(
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}
    )
    probe = {"failureThreshold": 3, "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
             "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1}  # fmt: skip

    def container(of: str) -> dict[str, Any]:
        return {
            "args": ["--listen=:8080", f"--name={app}"],
            "env": environment,
            "image": image,
            "imagePullPolicy": "IfNotPresent",
            "name": of,
            "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
            "readinessProbe": probe,
            "resources": {"limits": requests if gpu else {"memory": "1Gi"}, "requests": requests},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "volumeMounts": mounts,
        }

    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    running = {
        "conditions": [{"lastProbeTime": None, "lastTransitionTime": WHEN, "status": "True", "type": kind}
                       for kind in kinds],
        "containerStatuses": [
            {"containerID": f"containerd://{number:064x}", "image": image, "imageID": f"{image}@sha256:{number:064x}",
             "lastState": {}, "name": "app", "ready": True, "restartCount": 0, "started": True,
             "state": {"running": {"startedAt": WHEN}}}
        ],
        "hostIP": "10.0.0.1",
        "phase": "Running",
        "podIP": f"10.{number // 65536}.{number // 256 % 256}.{number % 256}",
        "qosClass": "Burstable",
        "startTime": WHEN,
    }  # fmt: skip
    pending = {
        "conditions": [{"lastProbeTime": None, "lastTransitionTime": WHEN, "message": "not tried yet",
                        "reason": "Unschedulable", "status": "False", "type": "PodScheduled"}],
        "phase": "Pending",
        "qosClass": "Guaranteed",
    }  # fmt: skip
    tolerations = [
        {
            "effect": "NoExecute",
            "key": f"node.kubernetes.io/{what}",
            "operator": "Exists",
            "tolerationSeconds": 300,
        }
        for what in ("not-ready", "unreachable")
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {"checksum/config": f"{number % 400:064x}", "prometheus.io/scrape": "true"},
            "creationTimestamp": WHEN,
            "generateName": f"{app}-7c9f8d6b54-",
            "labels": {"app.kubernetes.io/name": app, "pod-template-hash": "7c9f8d6b54", "team": f"team-{number % 40}"},
            "name": name,
            "namespace": f"team-{number % 40}" if node_name else "pending",
            "ownerReferences": [{"apiVersion": "apps/v1", "blockOwnerDeletion": True, "controller": True,
                                 "kind": "ReplicaSet", "name": f"{app}-7c9f8d6b54", "uid": uid(4, number % 400)}],
            "resourceVersion": str(2_000_000 + number),
            "uid": uid(5, number),
        },
        "spec": {
            "containers": [container("app")],
            "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": True,
            **({"nodeName": node_name} if node_name else {}),
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "serviceAccount": "default",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            "tolerations": tolerations,
            "volumes": [{"configMap": {"defaultMode": 420, "name": app}, "name": "config"},
                        {"name": token, "projected": {"defaultMode": 420, "sources": [
                            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                            {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}],
                                           "name": "kube-root-ca.crt"}}]}}],
        },
        "status": running if node_name else pending,
    }  # fmt: skip


if __name__ == "__main__":
    write(sys.argv[1], 5_000, 50_000)
