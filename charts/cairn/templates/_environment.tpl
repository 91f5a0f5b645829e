{{/* The variables of a node. What is not in the values of the chart comes from .Values.config. */}}
{{- define "cairn.environment" -}}
- name: CAIRN_NODE_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: CAIRN_ADVERTISE_HOST
  value: $(CAIRN_NODE_NAME).{{ include "cairn.domain" . }}
# From Kubernetes 1.35 on pods have the zone of their Kubernetes node as a label; otherwise the variable is empty.
- name: CAIRN_ZONE
  valueFrom: {fieldRef: {fieldPath: "metadata.labels['topology.kubernetes.io/zone']"}}
{{- range $name, $text := include "cairn.variables" . | fromYaml }}
- name: {{ $name }}
  value: {{ $text | quote }}
{{- end }}
{{- range $key, $setting := .Values.config }}
- name: CAIRN_{{ snakecase $key | upper }}
  value: {{ include "cairn.text" $setting | quote }}
{{- end }}
{{- with .Values.nodeOptions }}
- name: NODE_OPTIONS
  value: {{ . | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "cairn.variables" -}}
CAIRN_DATA_DIR: /var/lib/cairn
CAIRN_HOST: {{ .Values.listenHost | quote }}
CAIRN_GRPC_PORT: "{{ .Values.ports.grpc }}"
CAIRN_HTTP_PORT: "{{ .Values.ports.http }}"
CAIRN_MCP_PORT: "{{ .Values.mcp.enabled | ternary .Values.ports.mcp "off" }}"
CAIRN_METRICS_PORT: "{{ .Values.ports.metrics }}"
CAIRN_PEER_PORT: "{{ .Values.ports.peer }}"
{{- with .Values.perPod.domain }}
CAIRN_ADVERTISE_OUTSIDE: "*.{{ . }}:{{ $.Values.perPod.port | default $.Values.ports.grpc }}"
{{- end }}
{{- if .Values.auth.enabled }}
CAIRN_AUTH: "on"
CAIRN_AUTH_BOOTSTRAP_KEY_FILE: /etc/cairn/auth/{{ .Values.auth.secretKey }}
{{- if .Values.auth.grants }}
CAIRN_AUTH_GRANTS_FILE: /etc/cairn/grants/grants.json
{{- end }}
{{- end }}
{{- if eq .Values.peer.security "none" }}
CAIRN_PEER_TLS: "off"
{{- else }}
{{- if .Values.peer.prefer }}
CAIRN_PEER_TLS: prefer
{{- end }}
{{- if eq .Values.peer.security "secret" }}
CAIRN_PEER_SECRET_FILE: /etc/cairn/peer/{{ .Values.peer.secretKey }}
{{- else }}
CAIRN_PEER_TLS_CERT_FILE: /etc/cairn/peer/tls.crt
CAIRN_PEER_TLS_KEY_FILE: /etc/cairn/peer/tls.key
CAIRN_PEER_TLS_CA_FILE: /etc/cairn/{{ empty .Values.peer.caConfigMap | ternary "peer" "peer-ca" }}/ca.crt
{{- end }}
{{- end }}
{{- if ne .Values.tls.security "none" }}
CAIRN_TLS_CERT_FILE: /etc/cairn/tls/tls.crt
CAIRN_TLS_KEY_FILE: /etc/cairn/tls/tls.key
{{- with .Values.tls.caKey }}
CAIRN_TLS_CA_FILE: /etc/cairn/{{ empty $.Values.tls.caConfigMap | ternary "tls" "tls-ca" }}/{{ . }}
{{- end }}
{{- if ne .Values.tls.clientAuth "none" }}
CAIRN_TLS_CLIENT_AUTH: {{ .Values.tls.clientAuth }}
CAIRN_TLS_CLIENT_CA_FILE: /etc/cairn/client-ca/{{ .Values.tls.clientCaKey }}
{{- end }}
{{- end }}
{{- end }}
