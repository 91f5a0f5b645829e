{{/* The template of the pods, before .Values.podTemplate is merged into it. Whatever is in it restarts them. */}}
{{- define "cairn.pod" -}}
{{- $container := include "cairn.container" . | fromYaml -}}
metadata:
  labels:
    {{- include "cairn.podLabels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: cairn
    {{- with .Values.auth.grants }}
    # A node reads the grants at its start.
    checksum/grants: {{ toJson . | sha256sum }}
    {{- end }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "cairn.serviceAccount" . | quote }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- if not (kindIs "invalid" .Values.hostUsers) }}
  hostUsers: {{ .Values.hostUsers }}
  {{- end }}
  {{- range $key := list "affinity" "nodeSelector" "tolerations" "priorityClassName" "initContainers" }}
  {{- with get $.Values $key }}
  {{ $key }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: {{ .Values.spread.node }}
      labelSelector:
        matchLabels:
          {{- include "cairn.selectorLabels" . | nindent 10 }}
    - maxSkew: 1
      topologyKey: topology.kubernetes.io/zone
      whenUnsatisfiable: {{ .Values.spread.zone }}
      labelSelector:
        matchLabels:
          {{- include "cairn.selectorLabels" . | nindent 10 }}
    {{- with .Values.topologySpreadConstraints }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  containers:
    - {{- mergeOverwrite $container (deepCopy .Values.container) | toYaml | nindent 6 }}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    - {name: tmp, emptyDir: {}}
    {{- if not .Values.persistence.enabled }}
    - {name: data, emptyDir: {}}
    {{- end }}
    {{- include "cairn.secretVolumes" . | nindent 4 }}
    {{- if .Values.auth.grants }}
    - {name: grants, configMap: {name: {{ include "cairn.fullname" . }}-grants}}
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
