{{- define "kai.isOpenShift" -}}
{{- if or .Values.openshift (.Capabilities.APIVersions.Has "security.openshift.io/v1") }}true{{ end -}}
{{- end -}}

{{/* The pull secrets as a JSON list: KAI's chart has had names, and maps with a name. */}}
{{- define "kai.pullSecrets" -}}
{{- $secrets := list -}}
{{- range .Values.global.imagePullSecrets -}}
{{-   $secrets = append $secrets (ternary (dict "name" .) . (kindIs "string" .)) -}}
{{- end -}}
{{- toJson $secrets -}}
{{- end -}}

{{/* Takes (dict "root" $ "pod" SPEC "place" MAP). Sets in the pod what global values change. `place` has nodeSelector,
tolerations and affinity. */}}
{{- define "kai.pod" -}}
{{- $global := .root.Values.global -}}
{{- $pod := .pod -}}
{{- $container := first $pod.containers -}}
{{- $_ := set $container "imagePullPolicy" $global.imagePullPolicy -}}
{{- with include "kai.pullSecrets" .root | fromJsonArray }}{{ $_ := set $pod "imagePullSecrets" . }}{{ end -}}
{{- with $global.priorityClassName }}{{ $_ := set $pod "priorityClassName" . }}{{ end -}}
{{- with .place.nodeSelector }}{{ $_ := set $pod "nodeSelector" . }}{{ end -}}
{{- with .place.tolerations }}{{ $_ := set $pod "tolerations" (concat ($pod.tolerations | default list) .) }}{{ end -}}
{{- $affinity := $pod.affinity | default dict -}}
{{- include "kai.overlay" (dict "to" $affinity "from" (.place.affinity | default dict)) -}}
{{- if $affinity }}{{ $_ := set $pod "affinity" $affinity }}{{ end -}}
{{- include "kai.overlay" (dict "to" $pod.securityContext "from" $global.podSecurityContext) -}}
{{- include "kai.overlay" (dict "to" $container.securityContext "from" $global.securityContext) -}}
{{- if include "kai.isOpenShift" .root -}}
{{-   $_ := unset $pod.securityContext "runAsUser" -}}
{{-   $args := list -}}
{{-   range $container.args }}{{ $args = append $args (regexReplaceAll `"runAsUser": [0-9]+, ` . "") }}{{ end -}}
{{-   $_ := set $container "args" $args -}}
{{- end -}}
{{- end -}}

{{/* The block of values of each role; with `topology: together` there is one program, with the values of the scheduler. */}}
{{- define "kai.blocks" -}}
all: scheduler
scheduler: scheduler
binder: binder
pod-grouper: podgrouper
pod-group-controller: podgroupcontroller
queue-controller: queuecontroller
admission: admission
{{- end -}}

{{/* The roles of `kai run` that run, as a JSON list. */}}
{{- define "kai.roles" -}}
{{- $roles := list -}}
{{- range $role, $block := include "kai.blocks" . | fromYaml -}}
{{-   if and (not (has $role (list "all" "admission"))) (index $.Values $block).enabled }}{{ $roles = append $roles $role }}{{ end -}}
{{- end -}}
{{- toJson $roles -}}
{{- end -}}

{{/* Gives text if the program that plans answers /explain. */}}
{{- define "kai.explains" -}}
{{- if and .Values.explain.enabled .Values.scheduler.enabled }}yes{{ end -}}
{{- end -}}

{{/* The files in generated/ with the programs that run, as a JSON list. Without a role there is no program for roles. */}}
{{- define "kai.files" -}}
{{- $files := include "kai.roles" . | fromJsonArray -}}
{{- if and $files (eq .Values.topology "together") }}{{ $files = list "all" }}{{ end -}}
{{- if .Values.admission.enabled }}{{ $files = append $files "admission" }}{{ end -}}
{{- toJson $files -}}
{{- end -}}

{{/* The Deployments for the hooks, as a JSON list of NAME=ARGUMENTS. A hook has no ConfigMap, so the configuration is an
argument: Kubernetes makes $ of $$ in it, and replaces $(NAMESPACE) as in the Deployment. */}}
{{- define "kai.programs" -}}
{{- $configuration := include "kai.configuration" . | replace "$" "$$" -}}
{{- $programs := list -}}
{{- range $role := include "kai.files" . | fromJsonArray -}}
{{-   range $object := include "kai.objects" (dict "root" $ "file" $role) | fromYamlArray -}}
{{-     if eq $object.kind "Deployment" -}}
{{-       include "kai.deployment" (dict "root" $ "role" $role "object" $object) -}}
{{-       $args := list -}}
{{-       range (first $object.spec.template.spec.containers).args -}}
{{-         $args = append $args (ternary $configuration . (eq . "/etc/kai/config.yaml")) -}}
{{-       end -}}
{{-       $programs = append $programs (printf "%s=%s" $object.metadata.name (toJson $args)) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- toJson $programs -}}
{{- end -}}

{{/* Takes (dict "root" $ "role" ROLE). Gives the options that values set, as a JSON list. */}}
{{- define "kai.options" -}}
{{- $values := .root.Values -}}
{{- $options := list -}}
{{- range $row := include "kai.rows" .root | fromYamlArray -}}
{{-   if and $row.flag (has $.role ($row.roles | default (list $.role))) (ne $.role (ternary "" "numa-exporter" (hasKey $row "roles"))) -}}
{{-     $given := include "kai.value" (dict "values" $values "key" $row.key) -}}
{{-     $value := printf "[%s]" $given | fromJsonArray | first -}}
{{-     if and $given (ne $given (toJson $row.default)) (not (kindIs "bool" $value)) -}}
{{-       $options = append $options (printf "--%s=%s" $row.flag (ternary $value $given (kindIs "string" $value))) -}}
{{-     else if and $value (kindIs "bool" $value) -}}
{{-       $options = append $options (printf "--%s" $row.flag) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- range $role, $block := include "kai.blocks" . | fromYaml -}}
{{-   if and (ne $role "all") (or (eq $.role $role) (and (eq $.role "all") (ne $role "admission"))) -}}
{{-     $options = concat $options (index $values $block).additionalArgs -}}
{{-   end -}}
{{- end -}}
{{- if eq .role "admission" -}}
{{-   $plugin := dig "hamicore" (dict "enabled" false) $values.binder.plugins -}}
{{-   if dig "enabled" true $plugin }}{{ $options = append $options "--hami-core-enabled" }}{{ end -}}
{{-   if or $values.admission.guardShares $values.admission.guardChosen }}{{ $options = append $options (printf "--guard-image=%s" (include "kai.image" .root)) }}{{ end -}}
{{-   if and $values.admission.guardChosen (not $values.admission.guardShares) }}{{ $options = append $options "--no-guard-shares" }}{{ end -}}
{{- end -}}
{{- if has .role (list "all" "scheduler") -}}
{{-   range $name, $value := $values.scheduler.args }}{{ $options = append $options (printf "--%s=%s" $name (toString $value)) }}{{ end -}}
{{- end -}}
{{- toJson $options -}}
{{- end -}}

{{/* Takes (dict "root" $ "role" ROLE "object" DEPLOYMENT). Sets what values change. */}}
{{- define "kai.deployment" -}}
{{- $global := .root.Values.global -}}
{{- $block := index .root.Values (index (include "kai.blocks" . | fromYaml) .role) -}}
{{- $pod := .object.spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- $_ := set .object.spec "replicas" (int .root.Values.operator.replicaCount) -}}
{{- $roles := include "kai.roles" .root | fromJsonArray -}}
{{- if and (eq .role "all") (lt (len $roles) 5) -}}
{{-   $_ := set $container "args" (concat (list "run") $roles (slice $container.args 2)) -}}
{{- end -}}
{{- if and (has .role (list "all" "scheduler")) (not (include "kai.explains" .root)) -}}
{{-   $_ := set $container "args" (without $container.args "--explain-address" ":8082") -}}
{{-   $_ := set $container "ports" (list (first $container.ports)) -}}
{{- end -}}
{{- $_ := set $container "args" (concat $container.args (include "kai.options" . | fromJsonArray)) -}}
{{- with $block.resources }}{{ $_ := set $container "resources" . }}{{ end -}}
{{- if $global.requireDefaultPodAntiAffinityTerm -}}
{{-   $term := (first $pod.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution).podAffinityTerm -}}
{{-   $_ := set $pod.affinity.podAntiAffinity "requiredDuringSchedulingIgnoredDuringExecution" (list $term) -}}
{{- end -}}
{{- $affinity := dict -}}
{{- include "kai.overlay" (dict "to" $affinity "from" $global.affinity) -}}
{{- include "kai.overlay" (dict "to" $affinity "from" $block.affinity) -}}
{{- $place := dict "nodeSelector" $global.nodeSelector "tolerations" $global.tolerations "affinity" $affinity -}}
{{- include "kai.pod" (dict "root" .root "pod" $pod "place" $place) -}}
{{- end -}}
