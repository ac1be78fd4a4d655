{{/* Takes (dict "root" $ "object" DEPLOYMENT). Gives its VerticalPodAutoscaler. */}}
{{- define "kai.scaler" -}}
{{- $vpa := .root.Values.global.vpa -}}
{{- $target := dict "apiVersion" "apps/v1" "kind" "Deployment" "name" .object.metadata.name -}}
{{- $spec := dict "targetRef" $target "updatePolicy" $vpa.updatePolicy -}}
{{- with $vpa.resourcePolicy }}{{ $_ := set $spec "resourcePolicy" . }}{{ end -}}
{{- $metadata := dict "name" .object.metadata.name "namespace" .object.metadata.namespace -}}
{{- $object := dict "apiVersion" "autoscaling.k8s.io/v1" "kind" "VerticalPodAutoscaler" "metadata" $metadata "spec" $spec -}}
{{- include "kai.object" (dict "root" .root "object" $object) -}}
{{- end -}}

{{/* Takes (dict "root" $ "webhook" MAP). Sets in a webhook of pods which of them it reviews. */}}
{{- define "kai.webhook" -}}
{{- $global := .root.Values.global -}}
{{- if .webhook.namespaceSelector -}}
{{-   with $global.namespaceLabelSelector }}{{ $_ := set $.webhook.namespaceSelector "matchLabels" . }}{{ end -}}
{{-   with $global.podLabelSelector }}{{ $_ := set $.webhook "objectSelector" (dict "matchLabels" .) }}{{ end -}}
{{- end -}}
{{- end -}}
