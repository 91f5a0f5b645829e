{{/* What routes of the Gateway API have in common. Given: context, route. */}}
{{- define "cairn.routeSpec" -}}
parentRefs:
  {{- toYaml .context.Values.gateway.parentRefs | nindent 2 }}
{{- with .route.hostnames }}
hostnames:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
