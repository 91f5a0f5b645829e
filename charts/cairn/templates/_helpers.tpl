{{- define "cairn.component" -}}
node
{{- end }}

{{- define "cairn.headless" -}}
{{ include "cairn.fullname" . }}-headless
{{- end }}

{{/* The domain below which each pod has a name. */}}
{{- define "cairn.domain" -}}
{{ include "cairn.headless" . }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end }}

{{/* The name of the Service for clients. */}}
{{- define "cairn.host" -}}
{{ include "cairn.fullname" . }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end }}

{{/* A number, word or boolean of the values as a node reads it: no 5e+10, and no true for on. */}}
{{- define "cairn.text" -}}
{{- if kindIs "bool" . -}}
{{ ternary "on" "off" . }}
{{- else if and (kindIs "float64" .) (eq . (floor .)) -}}
{{ int64 . }}
{{- else -}}
{{ . }}
{{- end -}}
{{- end }}

{{/* The ports of clients, as those of a Service. */}}
{{- define "cairn.clientPorts" -}}
{{- $tls := ne .Values.tls.security "none" -}}
- name: grpc
  port: {{ .Values.ports.grpc }}
  targetPort: grpc
  appProtocol: {{ $tls | ternary "https" "kubernetes.io/h2c" }}
- name: http
  port: {{ .Values.ports.http }}
  targetPort: http
  appProtocol: {{ $tls | ternary "https" "http" }}
{{- if .Values.mcp.enabled }}
- name: mcp
  port: {{ .Values.ports.mcp }}
  targetPort: mcp
  appProtocol: {{ $tls | ternary "https" "http" }}
{{- end }}
{{- end }}

{{/* The value that a Secret of the cluster has, or a new random one. Given: context, name, key. */}}
{{- define "cairn.keptOrRandom" -}}
{{- $found := (lookup "v1" "Secret" .context.Release.Namespace .name).data | default dict -}}
{{- get $found .key | default (randAlphaNum 64 | b64enc) -}}
{{- end }}
