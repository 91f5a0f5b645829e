{{/* The container of a node, before .Values.container is merged into it. */}}
{{- define "cairn.container" -}}
name: cairn
image: {{ include "cairn.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- with .Values.extraArgs }}
args:
  {{- toYaml . | nindent 2 }}
{{- end }}
env:
  {{- include "cairn.environment" . | nindent 2 }}
envFrom:
  - configMapRef: {name: {{ include "cairn.fullname" . }}-founding}
  {{- with .Values.extraEnvFrom }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
ports:
  {{- range $name, $port := .Values.ports }}
  {{- if or (ne $name "mcp") $.Values.mcp.enabled }}
  - {name: {{ $name }}, containerPort: {{ $port }}}
  {{- end }}
  {{- end }}
startupProbe:
  {{- include "cairn.probe" (dict "context" . "path" "/startupz" "numbers" .Values.probes.startup) | nindent 2 }}
livenessProbe:
  {{- include "cairn.probe" (dict "context" . "path" "/livez" "numbers" .Values.probes.liveness) | nindent 2 }}
readinessProbe:
  {{- include "cairn.probe" (dict "context" . "path" "/readyz" "numbers" .Values.probes.readiness) | nindent 2 }}
{{- if .Values.drain.enabled }}
lifecycle:
  preStop:
    exec:
      command:
        - cairn
        - cluster
        - drain
        - --stay
        - --timeout={{ .Values.drain.timeoutSeconds }}
        - --linger={{ .Values.drain.lingerSeconds }}
{{- end }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
volumeMounts:
  - {name: data, mountPath: /var/lib/cairn}
  - {name: tmp, mountPath: /tmp}
  {{- range include "cairn.secretVolumes" . | fromYamlArray }}
  - {name: {{ .name }}, mountPath: /etc/cairn/{{ .name }}, readOnly: true}
  {{- end }}
  {{- if .Values.auth.grants }}
  - {name: grants, mountPath: /etc/cairn/grants, readOnly: true}
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* A probe at the port of the metrics, which needs no credential. Given: context, path, numbers. */}}
{{- define "cairn.probe" -}}
httpGet:
  path: {{ .path }}
  port: metrics
  scheme: {{ eq .context.Values.tls.security "none" | ternary "HTTP" "HTTPS" }}
{{ toYaml .numbers }}
{{- end }}
