{{/*
How pods with empty volumes begin (docs/operations/cluster.md, "Found a cluster"): all of them get the same list, each by
its own name, so that exactly one of them founds a cluster. The variables are in a ConfigMap and not in the pod template,
so that another number of replicas restarts nothing.
*/}}
{{- define "cairn.founding" -}}
CAIRN_BOOTSTRAP: {{ .Values.cluster.bootstrap }}
CAIRN_JOIN: {{ join "," .Values.cluster.join | default (include "cairn.peers" .) | quote }}
{{- end }}

{{- define "cairn.peers" -}}
{{- $peers := list -}}
{{- range until (int .Values.replicas) -}}
{{- $peers = append $peers (printf "%s-%d.%s:%d" (include "cairn.fullname" $) . (include "cairn.domain" $) (int $.Values.ports.peer)) -}}
{{- end -}}
{{- join "," $peers -}}
{{- end }}
