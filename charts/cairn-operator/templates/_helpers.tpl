{{- define "cairn-operator.component" -}}
operator
{{- end }}

{{/* How Prometheus reads the metrics of an operator. Given: context, monitor. */}}
{{- define "cairn-operator.scrape" -}}
- port: metrics
  path: /metrics
  interval: {{ .monitor.interval }}
  scrapeTimeout: {{ .monitor.scrapeTimeout }}
  {{- with .monitor.relabelings }}
  relabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .monitor.metricRelabelings }}
  metricRelabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* The template of the pods, before .Values.podTemplate is merged into it. */}}
{{- define "cairn-operator.pod" -}}
metadata:
  labels:
    {{- include "cairn-operator.podLabels" . | nindent 4 }}
spec:
  serviceAccountName: {{ include "cairn-operator.serviceAccount" . | quote }}
  automountServiceAccountToken: true
  enableServiceLinks: false
  {{- range $key := list "affinity" "nodeSelector" "tolerations" "priorityClassName" }}
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
  containers:
    - name: operator
      image: {{ include "cairn-operator.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      command: [cairn-operator]
      args:
        - --image={{ .Values.nodeImage | default (include "cairn-operator.repository" .) }}
        {{- with .Values.watchNamespace }}
        - --watch-namespace={{ . }}
        {{- end }}
        - --pod-name=$(POD_NAME)
        - --pod-namespace=$(POD_NAMESPACE)
      env:
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
      ports:
        - {name: metrics, containerPort: 8080}
      # A process with little CPU starts slowly; to end it would only make it start again.
      startupProbe:
        httpGet: {path: /healthz, port: metrics}
        periodSeconds: 1
        timeoutSeconds: 5
        failureThreshold: 300
      livenessProbe:
        httpGet: {path: /healthz, port: metrics}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      # An operator that stands by is ready, too: it has all objects.
      readinessProbe:
        httpGet: {path: /readyz, port: metrics}
        periodSeconds: 2
        timeoutSeconds: 5
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
{{- end }}
