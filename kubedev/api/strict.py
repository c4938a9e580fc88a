"""Fields that nobody knows: a typo such as `limit:` must not pass for "no limits".

kubectl refuses them too (`--validate=strict`, its default). Checked is what bears on devices and scheduling;
whatever stands below a field without a type here (`status`, `volumes`, probes) is not looked at.
Go source: `k8s.io/api/core/v1/types.go`.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from kubedev.api.problems import Problem

__all__ = ["unknown_fields"]

# Type: its fields, each with the type that is looked at below it, if any.
TYPES = {
    "Pod": "apiVersion kind metadata spec:PodSpec status",
    "PodTemplate": "metadata spec:PodSpec",
    "PodSpec": "volumes initContainers:Container containers:Container ephemeralContainers restartPolicy "
    "terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy nodeSelector serviceAccountName "
    "serviceAccount automountServiceAccountToken nodeName hostNetwork hostPID hostIPC shareProcessNamespace "
    "securityContext imagePullSecrets hostname subdomain affinity:Affinity schedulerName "
    "tolerations:Toleration hostAliases priorityClassName priority dnsConfig readinessGates "
    "runtimeClassName enableServiceLinks preemptionPolicy overhead "
    "topologySpreadConstraints:TopologySpreadConstraint setHostnameAsFQDN os hostUsers "
    "schedulingGates:SchedulingGate resourceClaims:PodResourceClaim resources:Resources",
    "Container": "name image command args workingDir ports:ContainerPort envFrom env:EnvVar "
    "resources:Resources resizePolicy restartPolicy volumeMounts volumeDevices livenessProbe readinessProbe "
    "startupProbe lifecycle terminationMessagePath terminationMessagePolicy imagePullPolicy "
    "securityContext stdin stdinOnce tty",
    "Resources": "limits requests claims:NamedClaim",
    "NamedClaim": "name request",
    "PodResourceClaim": "name resourceClaimName resourceClaimTemplateName",
    "ContainerPort": "name hostPort containerPort protocol hostIP",
    "EnvVar": "name value valueFrom",
    "SchedulingGate": "name",
    "Affinity": "nodeAffinity:NodeAffinity podAffinity:PodAffinity podAntiAffinity:PodAffinity",
    "NodeAffinity": "requiredDuringSchedulingIgnoredDuringExecution:NodeSelector "
    "preferredDuringSchedulingIgnoredDuringExecution:PreferredSchedulingTerm",
    "PodAffinity": "requiredDuringSchedulingIgnoredDuringExecution:PodAffinityTerm "
    "preferredDuringSchedulingIgnoredDuringExecution:WeightedPodAffinityTerm",
    "NodeSelector": "nodeSelectorTerms:NodeSelectorTerm",
    "NodeSelectorTerm": "matchExpressions:Requirement matchFields:Requirement",
    "Requirement": "key operator values",
    "PreferredSchedulingTerm": "weight preference:NodeSelectorTerm",
    "PodAffinityTerm": "labelSelector:LabelSelector namespaces topologyKey namespaceSelector:LabelSelector "
    "matchLabelKeys mismatchLabelKeys",
    "WeightedPodAffinityTerm": "weight podAffinityTerm:PodAffinityTerm",
    "LabelSelector": "matchLabels matchExpressions:Requirement",
    "Toleration": "key operator value effect tolerationSeconds",
    "TopologySpreadConstraint": "maxSkew topologyKey whenUnsatisfiable labelSelector:LabelSelector minDomains "
    "nodeAffinityPolicy nodeTaintsPolicy matchLabelKeys",
    "Node": "apiVersion kind metadata spec:NodeSpec status:NodeStatus",
    "NodeSpec": "podCIDR podCIDRs providerID unschedulable taints:Taint configSource externalID",
    "NodeStatus": "capacity allocatable phase conditions addresses daemonEndpoints nodeInfo images "
    "volumesInUse volumesAttached config runtimeHandlers features",
    "Taint": "key value effect timeAdded",
    "PersistentVolumeClaim": "apiVersion kind metadata spec:PersistentVolumeClaimSpec status",
    "PersistentVolumeClaimSpec": "accessModes selector:LabelSelector resources:VolumeResources volumeName "
    "storageClassName volumeMode dataSource dataSourceRef volumeAttributesClassName",
    "VolumeResources": "limits requests",
    "PersistentVolume": "apiVersion kind metadata spec:PersistentVolumeSpec status",
    "PersistentVolumeSpec": "capacity gcePersistentDisk awsElasticBlockStore hostPath glusterfs nfs rbd iscsi "
    "cinder cephfs fc flocker flexVolume azureFile vsphereVolume quobyte azureDisk photonPersistentDisk "
    "portworxVolume scaleIO local storageos csi accessModes claimRef persistentVolumeReclaimPolicy "
    "storageClassName mountOptions volumeMode nodeAffinity:VolumeNodeAffinity volumeAttributesClassName",
    "VolumeNodeAffinity": "required:NodeSelector",
    "StorageClass": "apiVersion kind metadata provisioner parameters reclaimPolicy mountOptions "
    "allowVolumeExpansion volumeBindingMode allowedTopologies:TopologySelectorTerm",
    "TopologySelectorTerm": "matchLabelExpressions:TopologyRequirement",
    "TopologyRequirement": "key values",
    "CSINode": "apiVersion kind metadata spec:CSINodeSpec",
    "CSINodeSpec": "drivers:CSINodeDriver",
    "CSINodeDriver": "name nodeID topologyKeys allocatable:VolumeNodeResources",
    "VolumeNodeResources": "count",
    "CSIDriver": "apiVersion kind metadata spec:CSIDriverSpec",
    "CSIDriverSpec": "attachRequired podInfoOnMount volumeLifecycleModes storageCapacity fsGroupPolicy "
    "tokenRequests requiresRepublish seLinuxMount",
    "CSIStorageCapacity": "apiVersion kind metadata nodeTopology:LabelSelector storageClassName capacity "
    "maximumVolumeSize",
    "VolumeAttachment": "apiVersion kind metadata spec:VolumeAttachmentSpec status",
    "VolumeAttachmentSpec": "attacher source:VolumeAttachmentSource nodeName",
    "VolumeAttachmentSource": "persistentVolumeName inlineVolumeSpec",
    "ResourceClaim": "apiVersion kind metadata spec:ResourceClaimSpec status",
    "ResourceClaimTemplate": "apiVersion kind metadata spec:ResourceClaimTemplateSpec",
    "ResourceClaimTemplateSpec": "metadata spec:ResourceClaimSpec",
    "ResourceClaimSpec": "devices:DeviceClaim",
    "DeviceClaim": "requests:DeviceRequest constraints:DeviceConstraint config:DeviceConfiguration",
    "DeviceRequest": "name deviceClassName selectors:DeviceSelector allocationMode count adminAccess",
    "DeviceSelector": "cel:CELDeviceSelector",
    "CELDeviceSelector": "expression",
    "DeviceConstraint": "requests matchAttribute",
    "DeviceConfiguration": "requests opaque:OpaqueDeviceConfiguration",
    "OpaqueDeviceConfiguration": "driver parameters",
    "DeviceClass": "apiVersion kind metadata spec:DeviceClassSpec",
    "DeviceClassSpec": "selectors:DeviceSelector config:DeviceClassConfiguration",
    "DeviceClassConfiguration": "opaque:OpaqueDeviceConfiguration",
    "ResourceSlice": "apiVersion kind metadata spec:ResourceSliceSpec",
    "ResourceSliceSpec": "driver pool:ResourcePool nodeName nodeSelector:NodeSelector allNodes devices:Device",
    "ResourcePool": "name generation resourceSliceCount",
    "Device": "name basic:BasicDevice",
    "BasicDevice": "attributes capacity",
}

FIELDS = {name: dict(field.partition(":")[::2] for field in fields.split()) for name, fields in TYPES.items()}


def unknown_fields(value: Any, type_name: str, path: str = "") -> Iterator[Problem]:
    """The fields of a manifest that its type does not have, with what may have been meant."""
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from unknown_fields(item, type_name, f"{path}[{i}]")
    if not isinstance(value, Mapping):
        return
    fields = FIELDS[type_name]
    for key, below in value.items():
        at = f"{path}.{key}" if path else str(key)
        if key not in fields:
            meant = get_close_matches(str(key), fields, 1)
            advice = f"did you mean {meant[0]}?" if meant else f"known are {', '.join(fields)}"
            yield Problem(at, "unknown field", advice)
        elif fields[key]:
            yield from unknown_fields(below, fields[key], at)
