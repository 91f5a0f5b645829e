{{/* Labels and annotations of a definition. */}}
{{- define "cairn-crds.metadata" -}}
labels:
  app.kubernetes.io/name: {{ .Chart.Name }}
  app.kubernetes.io/instance: {{ .Release.Name }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/component: definition
  app.kubernetes.io/part-of: cairn
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
  {{- with .Values.crds.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $keep := .Values.crds.keep | ternary (dict "helm.sh/resource-policy" "keep") (dict) }}
{{- with mergeOverwrite $keep .Values.crds.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
