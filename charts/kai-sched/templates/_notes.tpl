{{/* The text after an installation. */}}
{{- define "kai.notes" -}}
{{- include "kai.prepare" . -}}
kai-sched {{ .Chart.AppVersion }} is installed in namespace {{ .Release.Namespace }}.

  helm test {{ .Release.Name }} -n {{ .Release.Namespace }}      checks that it runs
  kubectl get queues.scheduling.run.ai                 lists the queues

A first pod: docs/howto/first-pod.md. All values: docs/reference/chart.md.
{{- $silent := dict -}}
{{- range $row := include "kai.rows" . | fromYamlArray -}}
{{-   $given := include "kai.value" (dict "values" $.Values "key" $row.key) -}}
{{-   $isChanged := and $given (ne $given (toJson $row.kai)) (ne $given (toJson $row.default)) -}}
{{-   $isMissing := false -}}
{{-   range $key, $value := $row.needs -}}
{{-     $other := include "kai.value" (dict "values" $.Values "key" $key) -}}
{{-     if or (not $other) (has $other (list "false" "{}" "\"\"")) (and (eq $key "topology") (ne $other (toJson $value))) }}{{ $isMissing = true }}{{ end -}}
{{-   end -}}
{{-   if and $isChanged (eq $row.does "accepted") -}}
{{-     $_ := set $silent $row.text (append (get $silent $row.text | default list) $row.key) -}}
{{-   else if and $isChanged $isMissing -}}
{{-     $text := printf "It needs %s." (keys $row.needs | sortAlpha | join ", ") -}}
{{-     if hasKey $row.needs "topology" }}{{ $text = "It needs topology=split: there is one Deployment, with the values of the scheduler." }}{{ end -}}
{{-     $_ := set $silent $text (append (get $silent $text | default list) $row.key) -}}
{{-   end -}}
{{- end -}}
{{- if $silent }}

These values have no effect:
{{- range $text, $keys := $silent }}
  {{ join ", " $keys }}
    {{ $text }}
{{- end }}
{{- end }}
{{- range include "kai.namespacesOfKai" . | fromJsonArray }}

KAI's programs run in namespace {{ . }}: both schedulers place the same pods. Stop KAI's, or give each its own node
pool (docs/howto/install.md, "Beside KAI").
{{- end }}
{{- end -}}

{{/* The namespaces in which KAI's operator or scheduler runs, as a JSON list. An operator of this release is removed now. */}}
{{- define "kai.namespacesOfKai" -}}
{{- $found := list -}}
{{- range (lookup "apps/v1" "Deployment" "" "").items -}}
{{-   $isOfKai := and (eq .metadata.name "kai-operator") (not (include "kai.isOfRelease" (dict "root" $ "object" .))) -}}
{{-   range .metadata.ownerReferences }}{{ if eq .kind "SchedulingShard" }}{{ $isOfKai = true }}{{ end }}{{ end -}}
{{-   if and $isOfKai (gt (int .spec.replicas) 0) }}{{ $found = append $found .metadata.namespace }}{{ end -}}
{{- end -}}
{{- uniq $found | toJson -}}
{{- end -}}
