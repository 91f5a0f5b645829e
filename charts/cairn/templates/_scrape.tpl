{{/* How Prometheus reads the metrics of a node. Given: context, monitor. */}}
{{- define "cairn.scrape" -}}
- port: metrics
  path: /metrics
  interval: {{ .monitor.interval }}
  scrapeTimeout: {{ .monitor.scrapeTimeout }}
  {{- if ne .context.Values.tls.security "none" }}
  scheme: https
  tlsConfig:
    # Prometheus asks by the address of a pod; the certificate is of names.
    serverName: {{ include "cairn.host" .context }}
    {{- with .context.Values.tls.caKey }}
    {{- if $.context.Values.tls.caConfigMap }}
    ca: {configMap: {name: {{ $.context.Values.tls.caConfigMap }}, key: {{ . }}}}
    {{- else }}
    ca: {secret: {name: {{ include "cairn.tlsSecret" $.context }}, key: {{ . }}}}
    {{- end }}
    {{- end }}
  {{- end }}
  {{- with .monitor.relabelings }}
  relabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .monitor.metricRelabelings }}
  metricRelabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
