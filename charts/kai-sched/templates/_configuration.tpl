{{/* The scheduler's configuration: a SchedulingShard, as KAI's chart creates it (docs/reference/config.md). */}}
{{- define "kai.configuration" -}}
{{- $values := .Values.scheduler -}}
{{- $strategy := $values.placementStrategy -}}
{{- $spec := dict "placementStrategy" (dict "gpu" $strategy "cpu" $strategy) -}}
{{- range list "plugins" "actions" "scenarioSearchBudgets" "queueDepthPerAction" "minRuntime" "usageDBConfig" "extras" "compat" -}}
{{-   if index $values . }}{{ $_ := set $spec . (index $values .) }}{{ end -}}
{{- end -}}
{{- if hasKey $values "kValue" }}{{ $_ := set $spec "kValue" $values.kValue }}{{ end -}}
{{- with $spec.usageDBConfig -}}
{{-   if and $.Values.prometheus.externalPrometheusUrl (not .connectionString) (not .connectionStringEnvVar) -}}
{{-     $_ := set $spec "usageDBConfig" (set (deepCopy .) "connectionString" $.Values.prometheus.externalPrometheusUrl) -}}
{{-   end -}}
{{- end -}}
{{- $metadata := dict "name" "default" -}}
{{- toYaml (dict "apiVersion" "kai.scheduler/v1" "kind" "SchedulingShard" "metadata" $metadata "spec" $spec) -}}
{{- end -}}
