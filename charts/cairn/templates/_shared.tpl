{{/* The name of the release and the chart, or what replaces it. Short enough for "-headless-0" and a hash behind it. */}}
{{- define "cairn.fullname" -}}
{{- $chart := .Values.nameOverride | default .Chart.Name -}}
{{- $name := contains $chart .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $chart) -}}
{{- .Values.fullnameOverride | default $name | trunc 48 | trimSuffix "-" -}}
{{- end }}

{{/* What selectors match. It never changes: selectors of a StatefulSet cannot. */}}
{{- define "cairn.selectorLabels" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: {{ include "cairn.component" . }}
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
  app.kubernetes.io/component: {{ .component | default (include "cairn.component" .context) }}
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

{{- define "cairn.repository" -}}
{{- with .Values.image.registry }}{{ trimSuffix "/" . }}/{{ end -}}
{{- .Values.image.repository -}}
{{- end }}

{{- define "cairn.image" -}}
{{- include "cairn.repository" . -}}
{{- with .Values.image.digest }}@{{ . }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end -}}
{{- end }}

{{/* Whether an object is wanted: true, or auto and the cluster serves its API. Given: context, enabled, api. */}}
{{- define "cairn.isWanted" -}}
{{- if kindIs "bool" .enabled -}}
{{ ternary "yes" "" .enabled }}
{{- else if .context.Capabilities.APIVersions.Has .api -}}
yes
{{- end -}}
{{- end }}
