{{/* The names of Secrets, and where the pods see what is in them. */}}

{{- define "cairn.authSecret" -}}
{{ .Values.auth.existingSecret | default (printf "%s-auth" (include "cairn.fullname" .)) }}
{{- end }}

{{- define "cairn.peerSecret" -}}
{{ .Values.peer.existingSecret | default (printf "%s-peer" (include "cairn.fullname" .)) }}
{{- end }}

{{- define "cairn.tlsSecret" -}}
{{ .Values.tls.existingSecret | default (printf "%s-tls" (include "cairn.fullname" .)) }}
{{- end }}

{{/* A volume of a Secret that only the node reads. Given: name, secret. */}}
{{- define "cairn.secretVolume" -}}
- name: {{ .name }}
  secret:
    secretName: {{ .secret }}
    defaultMode: 0440
{{- end }}

{{/* Everything that is mounted, by its name; the place of each is /etc/cairn/NAME. */}}
{{- define "cairn.secretVolumes" -}}
{{- if .Values.auth.enabled }}
{{ include "cairn.secretVolume" (dict "name" "auth" "secret" (include "cairn.authSecret" .)) }}
{{- end }}
{{- if ne .Values.peer.security "none" }}
{{ include "cairn.secretVolume" (dict "name" "peer" "secret" (include "cairn.peerSecret" .)) }}
{{- with .Values.peer.caConfigMap }}
- {name: peer-ca, configMap: {name: {{ . }}}}
{{- end }}
{{- end }}
{{- if ne .Values.tls.security "none" }}
{{ include "cairn.secretVolume" (dict "name" "tls" "secret" (include "cairn.tlsSecret" .)) }}
{{- with .Values.tls.caConfigMap }}
- {name: tls-ca, configMap: {name: {{ . }}}}
{{- end }}
{{- if ne .Values.tls.clientAuth "none" }}
{{ include "cairn.secretVolume" (dict "name" "client-ca" "secret" .Values.tls.clientCaSecret) }}
{{- end }}
{{- end }}
{{- end }}
