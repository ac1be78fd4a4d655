{{/* The image of all programs. KAI's registries do not have it. */}}
{{- define "kai.image" -}}
{{- $ofKai := list "registry/local/kai-scheduler" "nvcr.io/nvidia/k8s" "ghcr.io/nvidia/kai-scheduler" "ghcr.io/kai-scheduler/kai-scheduler" -}}
{{- $registry := .Values.global.registry | trimSuffix "/" -}}
{{- if and $registry (not (has $registry $ofKai)) }}{{ $registry }}/{{ end -}}
{{- .Values.image.name -}}
{{- with .Values.image.digest }}@{{ . }}{{ else }}:{{ .Values.global.tag | default .Chart.AppVersion }}{{ end -}}
{{- end -}}

{{/* Takes (dict "root" $ "file" NAME). Gives the objects of a file in generated/, as a YAML list, with the names of the
release instead of the placeholders. */}}
{{- define "kai.objects" -}}
{{- $reservations := .root.Values.global.resourceReservation -}}
{{- .root.Files.Get (printf "generated/%s.yaml" .file)
  | replace "RELEASE-NAMESPACE" .root.Release.Namespace
  | replace "RELEASE-NAME" .root.Release.Name
  | replace "RELEASE-IMAGE" (include "kai.image" .root)
  | replace "RESERVATION-NAMESPACE" $reservations.namespace
  | replace "RESERVATION-ACCOUNT" $reservations.serviceAccount
  | replace "CONFIGURATION-DIGEST" (include "kai.configuration" .root | sha256sum) -}}
{{- end -}}

{{/* Takes (dict "to" MAP "from" MAP): sets the members of one map in the other. `merge` would skip false and 0. */}}
{{- define "kai.overlay" -}}
{{- range $name, $value := .from }}{{ $_ := set $.to $name $value }}{{ end -}}
{{- end -}}

{{/* Takes (dict "root" $ "object" MAP). Gives the object as a YAML document with the labels of the release. */}}
{{- define "kai.object" -}}
{{- $metadata := .object.metadata -}}
{{- $labels := dict
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version)
  "app.kubernetes.io/instance" .root.Release.Name
  "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- include "kai.overlay" (dict "to" $labels "from" ($metadata.labels | default dict)) -}}
{{- $_ := set $metadata "labels" $labels }}
---
{{ toYaml .object }}
{{ end -}}

{{/* Takes (dict "root" $ "object" MAP). Gives text if the cluster does not have the object, or has it from this release.
Objects of others keep their owner. An object that will be gone in a moment ends the command: it would be missing later. */}}
{{- define "kai.isFree" -}}
{{- $metadata := .object.metadata -}}
{{- $found := lookup .object.apiVersion .object.kind ($metadata.namespace | default "") $metadata.name -}}
{{- if and $found (include "kai.isEnding" $found) -}}
{{-   fail (printf "%s %s is being deleted: run this command again in a few seconds" .object.kind $metadata.name) -}}
{{- end -}}
{{- if or (not $found) (include "kai.isOfRelease" (dict "root" .root "object" $found)) }}free{{ end -}}
{{- end -}}

{{/* Takes (dict "root" $ "object" MAP), with an object of the cluster. Gives text if Helm has created it for this release. */}}
{{- define "kai.isOfRelease" -}}
{{- $annotations := .object.metadata.annotations | default dict -}}
{{- $owner := list (get $annotations "meta.helm.sh/release-name") (get $annotations "meta.helm.sh/release-namespace") -}}
{{- if deepEqual $owner (list .root.Release.Name .root.Release.Namespace) }}yes{{ end -}}
{{- end -}}

{{/* Takes an object of the cluster. Gives text if it is being deleted. What KAI's operator has created belongs to a Config or a
SchedulingShard, and is deleted some time after it. */}}
{{- define "kai.isEnding" -}}
{{- if .metadata.deletionTimestamp }}yes{{ end -}}
{{- range .metadata.ownerReferences -}}
{{-   if and (hasPrefix "kai.scheduler/" .apiVersion) (not (lookup .apiVersion .kind "" .name)) }}yes{{ end -}}
{{- end -}}
{{- end -}}
