{{/*
The values: rows of generated/rows.yaml, defaults for those that are absent, and refusals.

Defaults are set here and not only in values.yaml, because `helm upgrade --reuse-values` takes the values of the release
before, which lack what is new.
*/}}

{{- define "kai.rows" -}}
{{- .Files.Get "generated/rows.yaml" -}}
{{- end -}}

{{/* Takes (dict "values" MAP "key" "a.b"). Gives the value as JSON; nothing if it is absent. */}}
{{- define "kai.value" -}}
{{- $at := .values -}}
{{- $exists := true -}}
{{- range splitList "." .key -}}
{{-   if and $exists (kindIs "map" $at) (hasKey $at .) -}}
{{-     $at = index $at . -}}
{{-   else -}}
{{-     $exists = false -}}
{{-   end -}}
{{- end -}}
{{- if and $exists (not (kindIs "invalid" $at)) -}}{{ toJson $at }}{{- end -}}
{{- end -}}

{{/* Every template starts with it: absent values get their defaults, and wrong ones end the command. */}}
{{- define "kai.prepare" -}}
{{- $root := . -}}
{{- $known := list -}}
{{- range $row := include "kai.rows" . | fromYamlArray -}}
{{-   $path := splitList "." $row.key -}}
{{-   if eq (first $path) "global" }}{{ $known = append $known (index $path 1) }}{{ end -}}
{{-   $given := include "kai.value" (dict "values" $root.Values "key" $row.key) -}}
{{-   range $row.refuses -}}
{{-     if eq $given (toJson .) }}{{ fail (printf "value %s: %s is not possible: %s" $row.key $given $row.why) }}{{ end -}}
{{-   end -}}
{{-   if and (hasKey $row "default") (eq $given "") -}}
{{-     $at := $root.Values -}}
{{-     range initial $path -}}
{{-       if not (kindIs "map" (index $at .)) }}{{ $_ := set $at . dict }}{{ end -}}
{{-       $at = index $at . -}}
{{-     end -}}
{{-     $_ := set $at (last $path) $row.default -}}
{{-   end -}}
{{- end -}}
{{- $unknown := list -}}
{{- range $name, $_ := .Values.global }}{{ if not (has $name $known) }}{{ $unknown = append $unknown $name }}{{ end }}{{ end -}}
{{- if and .Chart.IsRoot $unknown -}}
{{-   fail (printf "global does not have the values %s: it has %s" (join ", " $unknown) (uniq $known | sortAlpha | join ", ")) -}}
{{- end -}}
{{- with .Values.global.gpuSharingMode -}}
{{-   $_ := set $.Values.global "gpuSharing" (ne . "Disabled") -}}
{{-   if eq . "HamiCore" -}}
{{-     $plugins := $.Values.binder.plugins -}}
{{-     $_ := set $plugins "hamicore" (set (deepCopy ($plugins.hamicore | default dict)) "enabled" true) -}}
{{-   end -}}
{{- end -}}
{{- if not (hasKey .Values.numaPlacementExporter "enabled") -}}
{{-   $plugin := dig "numa" (dict "enabled" false) .Values.scheduler.plugins -}}
{{-   $_ := set .Values.numaPlacementExporter "enabled" (dig "enabled" true $plugin) -}}
{{- end -}}
{{- end -}}
