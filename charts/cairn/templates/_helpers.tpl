{{/* The name of the release and the chart, or what replaces it. Short enough for "-headless-0" and a hash behind it. */}}
{{- define "cairn.fullname" -}}
{{- $chart := .Values.nameOverride | default .Chart.Name -}}
{{- $name := contains $chart .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $chart) -}}
{{- .Values.fullnameOverride | default $name | trunc 48 | trimSuffix "-" -}}
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

{{/* What selectors match. It never changes: selectors of a StatefulSet cannot. */}}
{{- define "cairn.selectorLabels" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: node
{{- end }}

{{/* Of pods: they do not change with the release of the chart alone, which would restart them. */}}
{{- define "cairn.podLabels" -}}
{{ include "cairn.selectorLabels" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | trunc 63 | trimAll "-_." | quote }}
app.kubernetes.io/part-of: cairn
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* All labels of an object but its component. */}}
{{- define "cairn.commonLabels" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | trunc 63 | trimAll "-_." | quote }}
app.kubernetes.io/part-of: cairn
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The metadata of an object. Given: context; name; and where they differ component, labels and annotations. */}}
{{- define "cairn.metadata" -}}
name: {{ .name | quote }}
namespace: {{ .context.Release.Namespace | quote }}
labels:
  {{- include "cairn.commonLabels" .context | nindent 2 }}
  app.kubernetes.io/component: {{ .component | default "node" }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with mergeOverwrite (deepCopy .context.Values.commonAnnotations) (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "cairn.serviceAccount" -}}
{{- $own := .Values.serviceAccount.create | ternary (include "cairn.fullname" .) "default" -}}
{{- .Values.serviceAccount.name | default $own -}}
{{- end }}

{{- define "cairn.image" -}}
{{- with .Values.image.registry }}{{ trimSuffix "/" . }}/{{ end -}}
{{- .Values.image.repository -}}
{{- with .Values.image.digest }}@{{ . }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end -}}
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

{{/* Whether an object is wanted: true, or auto and the cluster serves its API. Given: context, enabled, api. */}}
{{- define "cairn.isWanted" -}}
{{- if kindIs "bool" .enabled -}}
{{ ternary "yes" "" .enabled }}
{{- else if .context.Capabilities.APIVersions.Has .api -}}
yes
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
