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
{{- $deployments := (lookup "apps/v1" "Deployment" "" "").items | default list -}}
{{- range include "kai.namespacesOfKai" (dict "root" . "deployments" $deployments) | fromJsonArray }}

KAI's programs run in namespace {{ . }}: both schedulers place the same pods. Stop KAI's, or give each its own node
pool (docs/howto/install.md, "Beside KAI").
{{- end }}
{{- range include "kai.rivals" (dict "root" . "deployments" $deployments) | fromJsonArray }}

Another kai-sched runs in namespace {{ . }}: both place the same pods. Remove one, or give each its own node pool
(docs/howto/install.md, "Beside KAI").
{{- end }}
{{- end -}}

{{/* Takes (dict "root" $ "deployments" LIST). Gives the namespaces in which KAI's operator or scheduler runs, as a JSON
list. An operator of this release is removed now. */}}
{{- define "kai.namespacesOfKai" -}}
{{- $root := .root -}}
{{- $found := list -}}
{{- range .deployments -}}
{{-   $isOfKai := and (eq .metadata.name "kai-operator") (not (include "kai.isOfRelease" (dict "root" $root "object" .))) -}}
{{-   range .metadata.ownerReferences }}{{ if eq .kind "SchedulingShard" }}{{ $isOfKai = true }}{{ end }}{{ end -}}
{{-   if and $isOfKai (gt (int .spec.replicas) 0) }}{{ $found = append $found .metadata.namespace }}{{ end -}}
{{- end -}}
{{- uniq $found | toJson -}}
{{- end -}}

{{/* Takes (dict "root" $ "deployments" LIST). Gives the other namespaces in which our scheduler places the pods that this
release places too, as a JSON list. In the namespace of the release both have the same lease, and one waits. */}}
{{- define "kai.rivals" -}}
{{- $found := list -}}
{{- $ours := dict -}}
{{- if .root.Values.scheduler.enabled -}}
{{-   $options := include "kai.options" (dict "root" .root "role" (ternary "all" "scheduler" (eq .root.Values.topology "together"))) | fromJsonArray -}}
{{-   $ours = include "kai.places" (concat (list "run" "scheduler") $options) | fromJson -}}
{{- end -}}
{{- range .deployments -}}
{{-   $labels := .metadata.labels | default dict -}}
{{-   if and $ours (eq (get $labels "app.kubernetes.io/name") "kai-sched") (ne .metadata.namespace $.root.Release.Namespace) (gt (int .spec.replicas) 0) -}}
{{-     $theirs := include "kai.places" ((first .spec.template.spec.containers).args | default list) | fromJson -}}
{{-     if deepEqual $ours $theirs }}{{ $found = append $found .metadata.namespace }}{{ end -}}
{{-   end -}}
{{- end -}}
{{- uniq $found | toJson -}}
{{- end -}}

{{/* Takes the arguments of a program. Gives, as a JSON map, the pods that it places: their node pool and scheduler name;
an empty map if it places none. */}}
{{- define "kai.places" -}}
{{- $options := dict -}}
{{- $roles := list -}}
{{- $last := "" -}}
{{- range . -}}
{{-   if hasPrefix "-" . -}}
{{-     $parts := splitn "=" 2 . -}}
{{-     $last = $parts._0 -}}
{{-     $_ := set $options $last ($parts._1 | default "") -}}
{{-   else if $last -}}
{{-     $_ := set $options $last . -}}
{{-   else -}}
{{-     $roles = append $roles . -}}
{{-   end -}}
{{- end -}}
{{- $places := dict -}}
{{- if or (has "all" $roles) (has "scheduler" $roles) -}}
{{-   $_ := set $places "pool" (get $options "--node-pool" | default (get $options "--partition-label-value")) -}}
{{-   $_ := set $places "name" (get $options "--scheduler-name" | default "kai-scheduler") -}}
{{- end -}}
{{- toJson $places -}}
{{- end -}}
